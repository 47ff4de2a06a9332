//! Where a compaction cuts a path: which entries it keeps, and which entries a summary replaces.
//!
//! A cut never separates a tool call from its result and never removes an unanswered question. Only the path matters.
//! Lines are read from the leaf toward the root, and only as many as the decision needs.

mod limits;
mod search;
mod text;

use crate::fold::{Place, SessionTree};
use crate::heads::Seq;
use crate::line_consumer::{ContextEntry, LineConsumer, feed_all};
use crate::projection::Lines;
use crate::tokens::TokenCounter;
use crate::walk::ContextItem;

pub use limits::ContextLimits;
pub(crate) use search::is_conversation;
use search::{CutSearch, CutSearchResult};
pub use text::{CutText, CutTextCollector};

/// Why a compaction would change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NothingToCompact {
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
    pub history: Vec<ContextItem>,
    /// The summarized beginning of the turn whose end is kept. Empty if the cut splits no turn.
    pub turn_prefix: Vec<ContextItem>,
    /// The previous compaction. The new summary continues its summary.
    pub previous_compaction: Option<Seq>,
    /// The size of the context now.
    pub tokens_before: u64,
    /// The estimated size of the kept part.
    pub tokens_kept: u64,
}

impl Cut {
    pub fn is_split_turn(&self) -> bool {
        !self.turn_prefix.is_empty()
    }
}

/// Searches for a cut; see the module documentation.
#[derive(Debug)]
pub struct CutFinder {
    token_counter: TokenCounter,
    keep_recent: u64,
    previous: Option<Seq>,
    /// How many entries can be cut: all except the previous compaction.
    cuttable: usize,
    found: Option<CutSearchResult>,
}

impl SessionTree {
    /// Searches for a cut in the path to `at` that keeps about `keep_recent` tokens.
    pub fn cut_finder(&self, at: Place, keep_recent: u64) -> CutFinder {
        let token_counter = self.token_counter(at);
        let previous = at.and_then(|seq| self.head(seq).compaction);
        let range = token_counter.context_entries().len() - usize::from(previous.is_some());
        CutFinder { token_counter, keep_recent, previous, cuttable: range, found: None }
    }

    /// Searches for a cut when all lines are available.
    pub fn find_cut(&self, at: Place, keep_recent: u64, lines: &dyn Lines) -> Result<Cut, NothingToCompact> {
        let mut cutting = self.cut_finder(at, keep_recent);
        feed_all(&mut cutting, lines);
        cutting.finish(self)
    }
}

impl CutFinder {
    fn search(&self) -> CutSearch<'_> {
        let weights = self.token_counter.tokens_per_entry();
        CutSearch {
            entries: &self.token_counter.context_entries()[..self.cuttable],
            token_counts: &weights[..weights.len().min(self.cuttable)],
            keep_recent: self.keep_recent,
        }
    }

    pub fn finish(self, tree: &SessionTree) -> Result<Cut, NothingToCompact> {
        let search = self.search();
        let before = |context_entry: &ContextEntry, seq: Seq| context_entry.head.depth < tree.head(seq).depth;
        if let Some(previous) = self.previous
            && search.read_conversation().all(|context_entry| before(context_entry, previous))
        {
            return Err(NothingToCompact::AlreadyCompacted);
        }
        let Some(CutSearchResult::Cut { at, turn }) = self.found.or_else(|| search.find()) else {
            return Err(NothingToCompact::TooSmall);
        };
        let first_kept = search.first_kept(tree, at);
        let summarized = |context_entries: &[ContextEntry]| {
            let summarized = context_entries.iter().rev().filter(|context_entry| {
                before(context_entry, first_kept) && is_conversation(&context_entry.head)
            });
            summarized.map(|context_entry| context_entry.item).collect()
        };
        let turn = turn.unwrap_or(at);
        Ok(Cut {
            first_kept,
            history: summarized(&search.entries[turn + 1..]),
            turn_prefix: summarized(&search.entries[at + 1..=turn]),
            previous_compaction: self.previous,
            tokens_before: self.token_counter.tokens(),
            tokens_kept: search.token_counts[..=at].iter().flatten().sum(),
        })
    }
}

impl LineConsumer for CutFinder {
    fn needed_lines(&self) -> Vec<Seq> {
        if self.found.is_some() && self.token_counter.is_done() {
            Vec::new()
        } else {
            self.token_counter.next_lines()
        }
    }

    fn feed(&mut self, lines: &dyn Lines) {
        self.token_counter.count_next_batch(lines);
        if self.found.is_none() {
            self.found = self.search().find();
        }
    }
}
