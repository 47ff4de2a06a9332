//! The positions of cursors, and how entries move them. These are pure rules that the writer applies to every entry.
//!
//! A cursor advances to its own entries. An entry that no model sees, such as a mark, moves all cursors at its
//! position along. A continuation by another writer is followed only when it is complete and no turn is running here.

use std::collections::BTreeMap;
use std::sync::Arc;

use osier_tree::history::History;
use osier_tree::{Kind, Place, Seq, SessionTree, Why};
use rustc_hash::FxHashSet;

use crate::event::Event;

/// The id of a cursor of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CursorId(u32);

impl CursorId {
    /// The cursor shared by the clients of a process.
    pub const MAIN: CursorId = CursorId(0);
}

/// The position of a cursor and its history.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    pub place: Place,
    /// The jumps of this cursor; right after opening, those of the log.
    pub history: History,
    /// A continuation from here by another writer.
    pub elsewhere: Option<Elsewhere>,
    /// Whether a turn is running.
    pub busy: bool,
    /// Whether to check for deleted branches at the next `settle`.
    look_around: bool,
}

/// A continuation by another writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elsewhere {
    first: Seq,
    pub tip: Seq,
    /// This cursor has not advanced itself, so it can follow.
    ahead: bool,
    told: bool,
}

impl Elsewhere {
    /// Whether an entry with this parent belongs to the continuation.
    fn goes_on_at(&self, tree: &SessionTree, parent: Place) -> bool {
        // The first check is nearly always true and avoids a long walk.
        parent == Some(self.tip) || tree.heads().is_ancestor(self.first, parent)
    }
}

impl Standing {
    fn at(tree: &SessionTree, place: Place) -> Standing {
        let mut standing = Standing { place, ..Standing::default() };
        if place == tree.leaf() {
            standing.history = tree.history();
            standing.forget(&tree.hidden());
        }
        standing
    }

    /// Advances to an entry of this cursor.
    fn go_on(&mut self, tree: &SessionTree, seq: Seq) {
        let head = tree.head(seq);
        if head.kind.is_mark() {
            if self.hangs_here(tree, head.parent) {
                self.place = Some(seq);
            }
            return;
        }
        let may_jump = matches!(head.kind, Kind::Leaf | Kind::BranchSummary | Kind::Backtrack);
        if may_jump && !tree.same_place(self.place, head.parent) {
            self.jump(tree, head.why);
            self.elsewhere = None;
        } else if head.kind.reaches_context() {
            self.history.go_on();
            if let Some(elsewhere) = &mut self.elsewhere {
                elsewhere.ahead = false;
            }
        }
        self.place = tree.heads().leaf_after(seq);
    }

    /// Records a jump. Removes history positions equal to the current one, which an undo or redo skips.
    fn jump(&mut self, tree: &SessionTree, why: Why) {
        let passed = match why {
            Why::Undo => &mut self.history.back,
            Why::Redo => &mut self.history.forward,
            _ => &mut Vec::new(),
        };
        while passed.pop_if(|place| tree.same_place(*place, self.place)).is_some() {}
        self.history.jump(why, self.place);
    }

    /// Whether this parent is at the cursor's position, with only entries in between that no model sees.
    fn hangs_here(&self, tree: &SessionTree, parent: Place) -> bool {
        tree.same_place(self.place, parent)
            && self.place.is_none_or(|place| tree.heads().is_ancestor(place, parent))
    }

    /// The effect of an entry of another cursor (`by`) or another process on this cursor.
    fn noticed(&self, tree: &SessionTree, seq: Seq, by: Option<CursorId>) -> Option<Noticed> {
        let head = tree.head(seq);
        if let Some(elsewhere) = self.elsewhere
            && head.kind != Kind::Leaf
            && elsewhere.goes_on_at(tree, head.parent)
        {
            return Some(Noticed::Elsewhere(Elsewhere { tip: seq, ..elsewhere }));
        }
        if head.kind == Kind::Leaf {
            return None;
        }
        if !head.kind.reaches_context() {
            return self.hangs_here(tree, head.parent).then_some(Noticed::Place(Some(seq)));
        }
        let here = by.is_none() && tree.same_place(self.place, head.parent);
        here.then_some(Noticed::Elsewhere(Elsewhere { first: seq, tip: seq, ahead: true, told: false }))
    }

    /// Removes deleted branches from the history, so that undo never leads into them.
    fn forget(&mut self, hidden: &FxHashSet<Seq>) {
        let stays = |place: &Place| place.is_none_or(|seq| !hidden.contains(&seq));
        self.history.back.retain(stays);
        self.history.forward.retain(stays);
    }

    /// Leaves a deleted branch. Returns whether it was in one.
    fn retreat(&mut self, tree: &SessionTree) -> bool {
        let deleted = |seq: &Seq| tree.marks().is_deleted(tree.id(*seq).as_str());
        let Some(first) = tree.heads().up(self.place).filter(deleted).last() else { return false };
        let above = tree.head(first).parent;
        let first = tree.id(first);
        let deletion = tree.marks().deleted().find(|(id, _)| *id == first.as_str()).map(|(_, seq)| seq);
        // If the leaf of the log was inside too, the deletion entry is below the same parent.
        self.place = deletion.filter(|seq| tree.head(*seq).parent == above).or(above);
        self.elsewhere = None;
        true
    }

    fn follow(&mut self, tree: &SessionTree) -> Option<Seq> {
        let tip = self.elsewhere.take()?.tip;
        match self.place.is_none_or(|place| tree.heads().is_ancestor(place, Some(tip))) {
            true => self.history.go_on(),
            false => self.history.jump(Why::Move, self.place),
        }
        self.place = Some(tip);
        Some(tip)
    }

    /// The same cursor in a log that replaced the old one.
    fn rebased(&self, old: &SessionTree, new: &SessionTree) -> Standing {
        let found = |seq: Seq| new.find(old.id(seq).as_str());
        let kept = |place: Place| old.heads().up(place).find_map(found);
        let all = |places: &[Place]| places.iter().map(|place| kept(*place)).collect();
        let elsewhere = self.elsewhere.and_then(|elsewhere| {
            let (first, tip) = (found(elsewhere.first)?, kept(Some(elsewhere.tip))?);
            Some(Elsewhere { first, tip, ..elsewhere })
        });
        Standing {
            place: kept(self.place),
            history: History { back: all(&self.history.back), forward: all(&self.history.forward) },
            elsewhere,
            busy: self.busy,
            look_around: true,
        }
    }

    /// Updates the cursor after a batch of entries: leaves deleted branches, follows or announces continuations.
    fn settle(&mut self, tree: &SessionTree, cursor: CursorId, events: &mut Vec<Event>) {
        if self.look_around && !self.busy {
            self.look_around = false;
            let hidden = tree.hidden();
            self.forget(&hidden);
            self.elsewhere = self.elsewhere.filter(|elsewhere| !hidden.contains(&elsewhere.tip));
            if self.retreat(tree) {
                events.push(Event::CursorMoved { cursor, place: self.place });
            }
        }
        let Some(elsewhere) = &mut self.elsewhere else { return };
        if elsewhere.ahead && !self.busy && !tree.is_waiting(Some(elsewhere.tip)) {
            self.follow(tree);
            events.push(Event::CursorMoved { cursor, place: self.place });
        } else if !elsewhere.told {
            elsewhere.told = true;
            events.push(Event::ContinuedElsewhere { cursor, place: Some(elsewhere.tip) });
        }
    }

    fn is_settled(&self) -> bool {
        !self.look_around && self.elsewhere.is_none()
    }
}

enum Noticed {
    Place(Place),
    Elsewhere(Elsewhere),
}

/// All cursors of a session in this process.
#[derive(Debug)]
pub(crate) struct Cursors {
    standing: BTreeMap<CursorId, Arc<Standing>>,
    next: u32,
}

impl Cursors {
    pub(crate) fn new(tree: &SessionTree) -> Cursors {
        let main = Arc::new(Standing::at(tree, tree.leaf()));
        Cursors { standing: BTreeMap::from([(CursorId::MAIN, main)]), next: 1 }
    }

    pub(crate) fn add(&mut self, tree: &SessionTree, place: Place) -> CursorId {
        let id = CursorId(self.next);
        self.next += 1;
        self.standing.insert(id, Arc::new(Standing::at(tree, place)));
        id
    }

    pub(crate) fn remove(&mut self, id: CursorId) {
        self.standing.remove(&id);
    }

    pub(crate) fn get(&self, id: CursorId) -> Option<&Standing> {
        self.standing.get(&id).map(|standing| &**standing)
    }

    pub(crate) fn change(&mut self, id: CursorId) -> Option<&mut Standing> {
        self.standing.get_mut(&id).map(Arc::make_mut)
    }

    pub(crate) fn all(&self) -> &BTreeMap<CursorId, Arc<Standing>> {
        &self.standing
    }

    /// Applies the entry `seq`, which was just added to the tree; `by` is the cursor that advances to it.
    pub(crate) fn take_in(&mut self, tree: &SessionTree, seq: Seq, by: Option<CursorId>) {
        let deletes = tree.head(seq).kind == Kind::DeleteBranch;
        for (id, standing) in &mut self.standing {
            if deletes {
                Arc::make_mut(standing).look_around = true;
            }
            if by == Some(*id) {
                Arc::make_mut(standing).go_on(tree, seq);
                continue;
            }
            match standing.noticed(tree, seq, by) {
                Some(Noticed::Place(place)) => Arc::make_mut(standing).place = place,
                Some(Noticed::Elsewhere(elsewhere)) => Arc::make_mut(standing).elsewhere = Some(elsewhere),
                None => {}
            }
        }
    }

    /// Assigns an entry to this cursor that was applied as foreign.
    pub(crate) fn claim(&mut self, tree: &SessionTree, seq: Seq, id: CursorId) {
        let Some(standing) = self.change(id) else { return };
        if standing.elsewhere.is_some_and(|elsewhere| elsewhere.first == seq) {
            standing.elsewhere = None;
        }
        let behind = !tree.heads().is_ancestor(seq, standing.place);
        if behind && tree.same_place(standing.place, tree.head(seq).parent) {
            standing.go_on(tree, seq);
        }
    }

    /// Lets idle cursors follow continuations, and announces the others once.
    pub(crate) fn settle(&mut self, tree: &SessionTree) -> Vec<Event> {
        let mut events = Vec::new();
        for (id, standing) in &mut self.standing {
            if !standing.is_settled() {
                Arc::make_mut(standing).settle(tree, *id, &mut events);
            }
        }
        events
    }

    /// Moves to the continuation of another writer. `None` if there is none.
    pub(crate) fn follow(&mut self, tree: &SessionTree, id: CursorId) -> Option<Seq> {
        self.change(id)?.follow(tree)
    }

    /// The log was replaced: moves each cursor to the entry with the same id, or to the nearest ancestor that was
    /// kept. Entries of other writers that were not read before are applied as new.
    pub(crate) fn reset(&mut self, old: &SessionTree, new: &SessionTree) {
        for standing in self.standing.values_mut() {
            *standing = Arc::new(standing.rebased(old, new));
        }
        let is_news =
            |seq: Seq| new.head(seq).kind.reaches_context() && old.find(new.id(seq).as_str()).is_none();
        for seq in new.heads().iter().map(|(seq, _)| seq).filter(|seq| is_news(*seq)) {
            self.take_in(new, seq, None);
        }
    }
}
