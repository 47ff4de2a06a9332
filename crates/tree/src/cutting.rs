//! Where a compaction cuts: what it keeps as it is, and what a summary will stand for.
//!
//! A cut never separates a tool call from its result and never takes in a question that nobody answered. The path alone
//! decides; lines are asked for from the leaf upwards, and only as far as the decision needs them.

mod choice;
mod limits;
mod prepared;

use crate::asking::{Asks, Piece, answer};
use crate::fold::{Place, SessionTree};
use crate::heads::Seq;
use crate::projection::Lines;
use crate::tokens::Weighing;
use crate::walk::Item;

pub(crate) use choice::is_told;
use choice::{Choice, Found};
pub use limits::Limits;
pub use prepared::{CutText, Preparing};

/// Why a compaction would change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NothingToCut {
    #[error("already compacted: nothing was said since")]
    AlreadyCompacted,
    #[error("nothing to compact: all of it is recent, or not answered yet")]
    TooSmall,
}

/// A cut through a path, chosen and not made yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The first entry that stays as it is.
    pub first_kept: Seq,
    /// What the summary will stand for, oldest first. What an edit took away is among it, and says nothing.
    pub history: Vec<Item>,
    /// The beginning of the turn whose end is kept. Empty if no turn is split.
    pub prefix: Vec<Item>,
    /// The compaction before this one. Its summary is carried on.
    pub previous: Option<Seq>,
    /// What the context takes now, and a guess at what is kept of it.
    pub tokens_before: u64,
    pub tokens_kept: u64,
}

impl Cut {
    pub fn is_split_turn(&self) -> bool {
        !self.prefix.is_empty()
    }
}

/// Looks for a cut; see the module.
#[derive(Debug)]
pub struct Cutting {
    weighing: Weighing,
    keep_recent: u64,
    previous: Option<Seq>,
    /// The pieces that can be cut: all but the compaction before.
    range: usize,
    found: Option<Found>,
}

impl SessionTree {
    /// Looks for a cut in the path to `at` that keeps about `keep_recent` tokens as they are.
    pub fn cutting(&self, at: Place, keep_recent: u64) -> Cutting {
        let weighing = self.weighing(at);
        let previous = at.and_then(|seq| self.head(seq).compaction);
        let range = weighing.pieces().len() - usize::from(previous.is_some());
        Cutting { weighing, keep_recent, previous, range, found: None }
    }

    /// Looks for a cut with all lines at hand.
    pub fn cut(&self, at: Place, keep_recent: u64, lines: &dyn Lines) -> Result<Cut, NothingToCut> {
        let mut cutting = self.cutting(at, keep_recent);
        answer(&mut cutting, lines);
        cutting.finish(self)
    }
}

impl Cutting {
    fn choice(&self) -> Choice<'_> {
        let weights = self.weighing.weights();
        Choice {
            pieces: &self.weighing.pieces()[..self.range],
            weights: &weights[..weights.len().min(self.range)],
            keep_recent: self.keep_recent,
        }
    }

    pub fn finish(self, tree: &SessionTree) -> Result<Cut, NothingToCut> {
        let choice = self.choice();
        let before = |piece: &Piece, seq: Seq| piece.head.depth < tree.head(seq).depth;
        if let Some(previous) = self.previous
            && choice.known().all(|piece| before(piece, previous))
        {
            return Err(NothingToCut::AlreadyCompacted);
        }
        let Some(Found::Cut { at, turn }) = self.found.or_else(|| choice.find()) else {
            return Err(NothingToCut::TooSmall);
        };
        let first_kept = choice.first_kept(tree, at);
        let told = |pieces: &[Piece]| {
            let told = pieces.iter().rev().filter(|piece| before(piece, first_kept) && is_told(&piece.head));
            told.map(|piece| piece.item).collect()
        };
        let turn = turn.unwrap_or(at);
        Ok(Cut {
            first_kept,
            history: told(&choice.pieces[turn + 1..]),
            prefix: told(&choice.pieces[at + 1..=turn]),
            previous: self.previous,
            tokens_before: self.weighing.tokens(),
            tokens_kept: choice.weights[..=at].iter().flatten().sum(),
        })
    }
}

impl Asks for Cutting {
    fn wants(&self) -> Vec<Seq> {
        if self.found.is_some() && self.weighing.is_done() { Vec::new() } else { self.weighing.next_lines() }
    }

    fn give(&mut self, lines: &dyn Lines) {
        self.weighing.weigh_next(lines);
        if self.found.is_none() {
            self.found = self.choice().find();
        }
    }
}
