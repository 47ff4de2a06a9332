//! The positions of cursors, and how entries move them. These are pure rules that the writer applies to every entry.
//!
//! A cursor advances to its own entries. An entry that no model sees, such as a mark, moves all cursors at its
//! position along. A continuation by another writer is followed only when it is complete and no turn is running here.

use std::collections::BTreeMap;
use std::sync::Arc;

use osier_tree::move_history::MoveHistory;
use osier_tree::{EntryKind, EntryReason, Place, Seq, SessionTree};

use crate::cursor_history::CursorHistory;
use crate::event::SessionEvent;

/// The id of a cursor of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CursorId(u32);

impl CursorId {
    /// The cursor shared by the clients of a process.
    pub const MAIN: CursorId = CursorId(0);
}

/// The position of a cursor and its history.
#[derive(Debug, Clone, Default)]
pub struct CursorState {
    pub position: Place,
    pub(crate) history: CursorHistory,
    /// A continuation from here by another writer.
    pub continuation: Option<ForeignContinuation>,
    /// Whether a turn is running.
    pub busy: bool,
    /// Whether to check for deleted branches at the next `settle`.
    check_deleted: bool,
}

/// A continuation by another writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignContinuation {
    first: Seq,
    pub tip: Seq,
    /// This cursor has not advanced itself, so it can follow.
    can_follow: bool,
    announced: bool,
}

impl ForeignContinuation {
    /// Whether an entry with this parent belongs to the continuation.
    fn includes_child_of(&self, tree: &SessionTree, parent: Place) -> bool {
        // The first check is nearly always true and avoids a long walk.
        parent == Some(self.tip) || tree.heads().is_ancestor(self.first, parent)
    }
}

impl CursorState {
    fn at(tree: &SessionTree, position: Place) -> CursorState {
        let is_leaf = position == tree.leaf();
        let history = if is_leaf { CursorHistory::of_log(tree) } else { CursorHistory::default() };
        CursorState { position, history, ..CursorState::default() }
    }

    /// The places that undo and redo return to.
    pub fn history(&self, tree: &SessionTree) -> &MoveHistory {
        self.history.places(tree)
    }

    /// Advances to an entry of this cursor.
    fn advance(&mut self, tree: &SessionTree, seq: Seq) {
        let head = tree.head(seq);
        if head.kind.is_mark() {
            if self.is_at(tree, head.parent) {
                self.position = Some(seq);
            }
            return;
        }
        let may_jump = matches!(head.kind, EntryKind::Leaf | EntryKind::BranchSummary | EntryKind::Backtrack);
        if may_jump && !tree.same_place(self.position, head.parent) {
            self.history.record_jump(tree, head.reason, self.position);
            self.continuation = None;
        } else if head.kind.reaches_context() {
            self.history.record_append(tree);
            if let Some(continuation) = &mut self.continuation {
                continuation.can_follow = false;
            }
        }
        self.position = tree.heads().leaf_after(seq);
    }

    /// Whether this parent is at the cursor's position, with only entries in between that no model sees.
    fn is_at(&self, tree: &SessionTree, parent: Place) -> bool {
        tree.same_place(self.position, parent)
            && self.position.is_none_or(|position| tree.heads().is_ancestor(position, parent))
    }

    /// The effect of an entry of another cursor (`by`) or another process on this cursor.
    fn effect_of(&self, tree: &SessionTree, seq: Seq, cursor: Option<CursorId>) -> Option<CursorEffect> {
        let head = tree.head(seq);
        // Tries start at a position that all others keep.
        if head.kind == EntryKind::ExploreTry {
            return None;
        }
        if let Some(continuation) = self.continuation
            && head.kind != EntryKind::Leaf
            && continuation.includes_child_of(tree, head.parent)
        {
            return Some(CursorEffect::Continuation(ForeignContinuation { tip: seq, ..continuation }));
        }
        if head.kind == EntryKind::Leaf {
            return None;
        }
        if !head.kind.reaches_context() {
            return self.is_at(tree, head.parent).then_some(CursorEffect::MoveTo(Some(seq)));
        }
        let here = cursor.is_none() && tree.same_place(self.position, head.parent);
        here.then_some(CursorEffect::Continuation(ForeignContinuation {
            first: seq,
            tip: seq,
            can_follow: true,
            announced: false,
        }))
    }

    /// Leaves a deleted branch. Returns whether it was in one.
    fn leave_deleted_branch(&mut self, tree: &SessionTree) -> bool {
        let deleted = |seq: &Seq| tree.marks().is_deleted(tree.id(*seq).as_str());
        let Some(first) = tree.heads().ancestors(self.position).filter(deleted).last() else { return false };
        let above = tree.head(first).parent;
        let first = tree.id(first);
        let deletion = tree.marks().deleted().find(|(id, _)| *id == first.as_str()).map(|(_, seq)| seq);
        // If the leaf of the log was inside too, the deletion entry is below the same parent.
        self.position = deletion.filter(|seq| tree.head(*seq).parent == above).or(above);
        self.continuation = None;
        true
    }

    fn follow(&mut self, tree: &SessionTree) -> Option<Seq> {
        let tip = self.continuation.take()?.tip;
        match self.position.is_none_or(|position| tree.heads().is_ancestor(position, Some(tip))) {
            true => self.history.record_append(tree),
            false => self.history.record_jump(tree, EntryReason::Move, self.position),
        }
        self.position = Some(tip);
        Some(tip)
    }

    /// The same cursor in a log that replaced the old one.
    fn rebase(&self, old: &SessionTree, new: &SessionTree) -> CursorState {
        let found = |seq: Seq| new.find(old.id(seq).as_str());
        let kept = |position: Place| old.heads().ancestors(position).find_map(found);
        let continuation = self.continuation.and_then(|continuation| {
            let (first, tip) = (found(continuation.first)?, kept(Some(continuation.tip))?);
            Some(ForeignContinuation { first, tip, ..continuation })
        });
        CursorState {
            position: kept(self.position),
            history: self.history.map(old, kept),
            continuation,
            busy: self.busy,
            check_deleted: true,
        }
    }

    /// Updates the cursor after a batch of entries: leaves deleted branches, follows or announces continuations.
    fn settle(&mut self, tree: &SessionTree, cursor: CursorId, events: &mut Vec<SessionEvent>) {
        if self.check_deleted && !self.busy {
            self.check_deleted = false;
            let hidden = tree.hidden_entries();
            self.history.drop_hidden(&hidden);
            self.continuation = self.continuation.filter(|continuation| !hidden.contains(&continuation.tip));
            if self.leave_deleted_branch(tree) {
                events.push(self.moved(tree, cursor));
            }
        }
        let Some(continuation) = &mut self.continuation else { return };
        if continuation.can_follow && !self.busy && !tree.awaits_response(Some(continuation.tip)) {
            self.follow(tree);
            events.push(self.moved(tree, cursor));
        } else if !continuation.announced {
            continuation.announced = true;
            events.push(SessionEvent::ContinuedElsewhere { cursor, position: Some(continuation.tip) });
        }
    }

    fn moved(&self, tree: &SessionTree, cursor: CursorId) -> SessionEvent {
        let id = self.position.map(|seq| tree.id(seq).to_entry_id());
        SessionEvent::CursorMoved { cursor, position: self.position, id }
    }

    fn is_settled(&self) -> bool {
        !self.check_deleted && self.continuation.is_none()
    }
}

enum CursorEffect {
    MoveTo(Place),
    Continuation(ForeignContinuation),
}

/// All cursors of a session in this process.
#[derive(Debug)]
pub(crate) struct Cursors {
    states: BTreeMap<CursorId, Arc<CursorState>>,
    next: u32,
}

impl Cursors {
    pub(crate) fn new(tree: &SessionTree) -> Cursors {
        let main = Arc::new(CursorState::at(tree, tree.opening_place()));
        Cursors { states: BTreeMap::from([(CursorId::MAIN, main)]), next: 1 }
    }

    pub(crate) fn add(&mut self, tree: &SessionTree, position: Place) -> CursorId {
        let id = CursorId(self.next);
        self.next += 1;
        self.states.insert(id, Arc::new(CursorState::at(tree, position)));
        id
    }

    pub(crate) fn remove(&mut self, id: CursorId) {
        self.states.remove(&id);
    }

    pub(crate) fn get(&self, id: CursorId) -> Option<&CursorState> {
        self.states.get(&id).map(|cursor_state| &**cursor_state)
    }

    pub(crate) fn get_mut(&mut self, id: CursorId) -> Option<&mut CursorState> {
        self.states.get_mut(&id).map(Arc::make_mut)
    }

    pub(crate) fn all(&self) -> &BTreeMap<CursorId, Arc<CursorState>> {
        &self.states
    }

    /// Applies the entry `seq`, which was just added to the tree; `by` is the cursor that advances to it.
    pub(crate) fn apply_entry(&mut self, tree: &SessionTree, seq: Seq, cursor: Option<CursorId>) {
        let deletes = tree.head(seq).kind == EntryKind::DeleteBranch;
        for (id, cursor_state) in &mut self.states {
            if deletes {
                Arc::make_mut(cursor_state).check_deleted = true;
            }
            if cursor == Some(*id) {
                Arc::make_mut(cursor_state).advance(tree, seq);
                continue;
            }
            match cursor_state.effect_of(tree, seq, cursor) {
                Some(CursorEffect::MoveTo(position)) => Arc::make_mut(cursor_state).position = position,
                Some(CursorEffect::Continuation(continuation)) => {
                    Arc::make_mut(cursor_state).continuation = Some(continuation);
                }
                None => {}
            }
        }
    }

    /// Assigns an entry to this cursor that was applied as foreign.
    pub(crate) fn claim(&mut self, tree: &SessionTree, seq: Seq, id: CursorId) {
        let Some(cursor_state) = self.get_mut(id) else { return };
        if cursor_state.continuation.is_some_and(|continuation| continuation.first == seq) {
            cursor_state.continuation = None;
        }
        let behind = !tree.heads().is_ancestor(seq, cursor_state.position);
        if behind && tree.same_place(cursor_state.position, tree.head(seq).parent) {
            cursor_state.advance(tree, seq);
        }
    }

    /// Lets idle cursors follow continuations, and announces the others once.
    pub(crate) fn settle(&mut self, tree: &SessionTree) -> Vec<SessionEvent> {
        let mut events = Vec::new();
        for (id, cursor_state) in &mut self.states {
            if !cursor_state.is_settled() {
                Arc::make_mut(cursor_state).settle(tree, *id, &mut events);
            }
        }
        events
    }

    /// Moves to the continuation of another writer. `None` if there is none.
    pub(crate) fn follow(&mut self, tree: &SessionTree, id: CursorId) -> Option<Seq> {
        self.get_mut(id)?.follow(tree)
    }

    /// The log was replaced: moves each cursor to the entry with the same id, or to the nearest ancestor that was
    /// kept. Entries of other writers that were not read before are applied as new.
    pub(crate) fn rebase(&mut self, old: &SessionTree, new: &SessionTree) {
        for cursor_state in self.states.values_mut() {
            *cursor_state = Arc::new(cursor_state.rebase(old, new));
        }
        let is_new_entry =
            |seq: Seq| new.head(seq).kind.reaches_context() && old.find(new.id(seq).as_str()).is_none();
        for seq in new.heads().iter().map(|(seq, _)| seq).filter(|seq| is_new_entry(*seq)) {
            self.apply_entry(new, seq, None);
        }
    }
}
