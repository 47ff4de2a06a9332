//! Undo and redo of moves, like the back and forward buttons of a browser.

use crate::entry::{EntryKind, EntryReason};
use crate::fold::{Place, SessionTree};

/// The places that undo and redo return to, the nearest one last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MoveHistory {
    pub back: Vec<Place>,
    pub forward: Vec<Place>,
}

impl MoveHistory {
    /// Records that the leaf moved from `from` to another place.
    pub fn record_jump(&mut self, reason: EntryReason, from: Place) {
        match reason {
            EntryReason::Undo => {
                self.back.pop();
                self.forward.push(from);
            }
            EntryReason::Redo => {
                self.forward.pop();
                self.back.push(from);
            }
            _ => {
                self.back.push(from);
                self.forward.clear();
            }
        }
    }

    /// Records a new entry at the leaf: there is nothing left to redo.
    pub fn record_append(&mut self) {
        self.forward.clear();
    }

    /// Records the current leaf, and drops it from the ends of both lists: undo and redo must lead to another place. Entries
    /// that are not jumps can also lead to a recorded place.
    pub fn record_leaf(&mut self, is_here: impl Fn(Place) -> bool) {
        for places in [&mut self.back, &mut self.forward] {
            while places.pop_if(|position| is_here(*position)).is_some() {}
        }
    }
}

impl SessionTree {
    /// Replays the jumps of the whole log.
    pub fn move_history(&self) -> MoveHistory {
        self.move_history_of(self.len())
    }

    /// Replays the jumps of the first entries of the log.
    pub fn move_history_of(&self, entries: usize) -> MoveHistory {
        let mut history = MoveHistory::default();
        let mut leaf: Place = None;
        for (seq, head) in self.heads().iter().take(entries) {
            let jumps =
                matches!(head.kind, EntryKind::Leaf | EntryKind::BranchSummary | EntryKind::Backtrack);
            if jumps && !self.same_place(leaf, head.parent) {
                history.record_jump(head.reason, leaf);
            } else if head.kind.reaches_context() {
                history.record_append();
            }
            leaf = if head.kind == EntryKind::Leaf { head.parent } else { Some(seq) };
            history.record_leaf(|position| self.same_place(position, leaf));
        }
        history
    }
}
