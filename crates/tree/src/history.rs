//! Undo and redo of moves, as the back and forward buttons of a browser.

use crate::entry::{Kind, Why};
use crate::fold::{Place, SessionTree};

/// The places one can go back and forward to, the nearest last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    pub back: Vec<Place>,
    pub forward: Vec<Place>,
}

impl History {
    /// Records that an entry of `kind` took the leaf from `from` to another place.
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

    /// Records an entry that went on where the leaf stood: there is nothing to redo any more.
    pub fn go_on(&mut self) {
        self.forward.clear();
    }

    /// Records where the leaf stands now. An entry that is no jump may have taken it there, and to go back to where one
    /// is would lead nowhere.
    pub fn stand(&mut self, is_here: impl Fn(Place) -> bool) {
        for places in [&mut self.back, &mut self.forward] {
            while places.pop_if(|place| is_here(*place)).is_some() {}
        }
    }
}

impl SessionTree {
    /// The jumps of the whole log, replayed.
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
