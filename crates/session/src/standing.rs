//! Where cursors stand, and how entries move them. Pure: the writer calls these rules entry by entry.
//!
//! A cursor goes on with its own entries. A mark or other entry that no model sees takes along whoever stands there. What
//! others say in the conversation is followed only when it is complete and nobody works here.

use std::collections::BTreeMap;
use std::sync::Arc;

use osier_tree::history::History;
use osier_tree::{Kind, Place, Seq, SessionTree, Why};
use rustc_hash::FxHashSet;

use crate::event::Event;

/// Names a cursor of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CursorId(u32);

impl CursorId {
    /// The cursor that the clients of a process share.
    pub const MAIN: CursorId = CursorId(0);
}

/// Where a cursor stands and where it was.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    pub place: Place,
    /// Its own jumps; right after opening, those of the log.
    pub history: History,
    /// Where somebody else went on from here.
    pub elsewhere: Option<Elsewhere>,
    /// A turn is running.
    pub busy: bool,
    /// A branch was deleted since this cursor was last looked at.
    look_around: bool,
}

/// A continuation by somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elsewhere {
    first: Seq,
    pub tip: Seq,
    /// This cursor has not gone on itself meanwhile, so it may follow.
    ahead: bool,
    told: bool,
}

impl Elsewhere {
    /// Whether an entry with this parent belongs to the continuation.
    fn goes_on_at(&self, tree: &SessionTree, parent: Place) -> bool {
        // Nearly always it is the next one, and a long walk is spared.
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

    /// Takes in an entry of its own.
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

    /// Leaves its place by a jump. What an undo or redo passed over, because it stood there already, is passed for good.
    fn jump(&mut self, tree: &SessionTree, why: Why) {
        let passed = match why {
            Why::Undo => &mut self.history.back,
            Why::Redo => &mut self.history.forward,
            _ => &mut Vec::new(),
        };
        while passed.pop_if(|place| tree.same_place(*place, self.place)).is_some() {}
        self.history.jump(why, self.place);
    }

    /// Whether an entry with this parent hangs where the cursor stands, with at most unseen entries in between.
    fn hangs_here(&self, tree: &SessionTree, parent: Place) -> bool {
        tree.same_place(self.place, parent)
            && self.place.is_none_or(|place| tree.heads().is_ancestor(place, parent))
    }

    /// What an entry of another cursor (`by`) or of another process changes here.
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

    /// Nobody undoes his way into a deleted branch.
    fn forget(&mut self, hidden: &FxHashSet<Seq>) {
        let stays = |place: &Place| place.is_none_or(|seq| !hidden.contains(&seq));
        self.history.back.retain(stays);
        self.history.forward.retain(stays);
    }

    /// Leaves a deleted branch. Whether it did.
    fn retreat(&mut self, tree: &SessionTree) -> bool {
        let deleted = |seq: &Seq| tree.marks().is_deleted(tree.id(*seq).as_str());
        let Some(first) = tree.heads().up(self.place).filter(deleted).last() else { return false };
        let above = tree.head(first).parent;
        let first = tree.id(first);
        let deletion = tree.marks().deleted().find(|(id, _)| *id == first.as_str()).map(|(_, seq)| seq);
        // The deletion hangs there itself if the log's leaf was inside too.
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

    /// The same in a log that replaced the one it stood in.
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

    /// What can be decided once a batch of entries is in.
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

    /// Takes in the entry that the tree just took in as `seq`; `by` is the cursor that goes on with it.
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

    /// An entry that was taken in as somebody else's turns out to be this cursor's.
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

    /// Lets idle cursors follow, and tells of continuations elsewhere, each once.
    pub(crate) fn settle(&mut self, tree: &SessionTree) -> Vec<Event> {
        let mut events = Vec::new();
        for (id, standing) in &mut self.standing {
            if !standing.is_settled() {
                Arc::make_mut(standing).settle(tree, *id, &mut events);
            }
        }
        events
    }

    /// Goes where somebody else went on. `None` if nobody did.
    pub(crate) fn follow(&mut self, tree: &SessionTree, id: CursorId) -> Option<Seq> {
        self.change(id)?.follow(tree)
    }

    /// The log was replaced: each cursor stands at the entry with the same id, or at the nearest one above it that was
    /// kept. What others said that was not read before counts as if it came now.
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
