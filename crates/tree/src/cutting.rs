//! Where a compaction cuts a path: which entries it keeps, and which entries a summary replaces.
//!
//! A cut never separates a tool call from its result and never removes an unanswered question. Only the path matters.
//! Lines are read from the leaf toward the root, and only as many as the decision needs.

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
    #[error("nothing to compact: no new messages since the last compaction")]
    AlreadyCompacted,
    #[error("nothing to compact: every message is recent or not answered yet")]
    TooSmall,
}

/// A cut through a path, found but not applied yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The first entry that is kept.
    pub first_kept: Seq,
    /// The entries that the summary replaces, oldest first. Entries omitted by a context edit are included; they have no
    /// text.
    pub history: Vec<Item>,
    /// The summarized beginning of the turn whose end is kept. Empty if the cut splits no turn.
    pub prefix: Vec<Item>,
    /// The previous compaction. The new summary continues its summary.
    pub previous: Option<Seq>,
    /// The size of the context now.
    pub tokens_before: u64,
    /// The estimated size of the kept part.
    pub tokens_kept: u64,
}

impl Cut {
    pub fn is_split_turn(&self) -> bool {
        !self.prefix.is_empty()
    }
}

/// Searches for a cut; see the module documentation.
#[derive(Debug)]
pub struct Cutting {
    weighing: Weighing,
    keep_recent: u64,
    previous: Option<Seq>,
    /// How many entries can be cut: all except the previous compaction.
    range: usize,
    found: Option<Found>,
}

impl SessionTree {
    /// Searches for a cut in the path to `at` that keeps about `keep_recent` tokens.
    pub fn cutting(&self, at: Place, keep_recent: u64) -> Cutting {
        let weighing = self.weighing(at);
        let previous = at.and_then(|seq| self.head(seq).compaction);
        let range = weighing.pieces().len() - usize::from(previous.is_some());
        Cutting { weighing, keep_recent, previous, range, found: None }
    }

    /// Searches for a cut when all lines are available.
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
        let summarized = |pieces: &[Piece]| {
            let summarized =
                pieces.iter().rev().filter(|piece| before(piece, first_kept) && is_told(&piece.head));
            summarized.map(|piece| piece.item).collect()
        };
        let turn = turn.unwrap_or(at);
        Ok(Cut {
            first_kept,
            history: summarized(&choice.pieces[turn + 1..]),
            prefix: summarized(&choice.pieces[at + 1..=turn]),
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
