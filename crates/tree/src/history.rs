//! Undo and redo of moves, like the back and forward buttons of a browser.

use crate::entry::{Kind, Why};
use crate::fold::{Place, SessionTree};

/// The places that undo and redo return to, the nearest one last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    pub back: Vec<Place>,
    pub forward: Vec<Place>,
}

impl History {
    /// Records that the leaf moved from `from` to another place.
    pub fn jump(&mut self, why: Why, from: Place) {
        match why {
            Why::Undo => {
                self.back.pop();
                self.forward.push(from);
            }
            Why::Redo => {
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
    pub fn go_on(&mut self) {
        self.forward.clear();
    }

    /// Records the current leaf, and drops it from the ends of both lists: undo and redo must lead to another place. Entries
    /// that are not jumps can also lead to a recorded place.
    pub fn stand(&mut self, is_here: impl Fn(Place) -> bool) {
        for places in [&mut self.back, &mut self.forward] {
            while places.pop_if(|place| is_here(*place)).is_some() {}
        }
    }
}

impl SessionTree {
    /// Replays the jumps of the whole log.
    pub fn history(&self) -> History {
        let mut history = History::default();
        let mut leaf: Place = None;
        for (seq, head) in self.heads().iter() {
            let jumps = matches!(head.kind, Kind::Leaf | Kind::BranchSummary | Kind::Backtrack);
            if jumps && !self.same_place(leaf, head.parent) {
                history.jump(head.why, leaf);
            } else if head.kind.reaches_context() {
                history.go_on();
            }
            leaf = if head.kind == Kind::Leaf { head.parent } else { Some(seq) };
            history.stand(|place| self.same_place(place, leaf));
        }
        history
    }
}
