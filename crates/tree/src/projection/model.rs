//! The active model at a place: the one named by the nearest `model_change` or reply at or above it.

use crate::entry::Entry;
use crate::fold::{Place, SessionTree};
use crate::heads::Seq;
use crate::line_consumer::LineConsumer;
use crate::projection::Lines;
use crate::projection::context::model_fields;
use crate::scan::RawJson;

/// The provider of messages not written by a model, such as those of `osier sessions append --role assistant`.
pub const NO_PROVIDER: &str = "none";

/// The number of candidates per request, after the first.
const BATCH: usize = 64;

/// Searches for the active model. Skips entries without a real model.
#[derive(Debug)]
pub struct ActiveModelSearch<'t> {
    tree: &'t SessionTree,
    /// Entries that may name a model, nearest first.
    candidates: Vec<Seq>,
    found: Option<(String, String)>,
}

impl SessionTree {
    /// Starts a search for the active model at a place.
    pub fn active_model_search(&self, at: Place) -> ActiveModelSearch<'_> {
        let candidates = at.and_then(|seq| self.head(seq).model).into_iter().collect();
        ActiveModelSearch { tree: self, candidates, found: None }
    }
}

impl ActiveModelSearch<'_> {
    /// The provider and model id, after all requested lines are given.
    pub fn finish(self) -> Option<(String, String)> {
        self.found
    }

    fn above(&self, seq: Seq) -> Option<Seq> {
        let parent = self.tree.head(seq).parent?;
        self.tree.head(parent).model
    }
}

impl LineConsumer for ActiveModelSearch<'_> {
    fn needed_lines(&self) -> Vec<Seq> {
        self.candidates.clone()
    }

    fn feed(&mut self, lines: &dyn Lines) {
        let named = |seq: &Seq| real_model(&lines.entry(*seq)?);
        self.found = self.candidates.iter().find_map(named);
        let next = self.candidates.last().filter(|_| self.found.is_none()).and_then(|seq| self.above(*seq));
        self.candidates = std::iter::successors(next, |seq| self.above(*seq)).take(BATCH).collect();
    }
}

fn real_model(entry: &Entry<'_>) -> Option<(String, String)> {
    let (provider, id) = model_fields(entry)?;
    let text = |raw: RawJson<'_>| raw.text().filter(|text| !text.trim().is_empty()).map(String::from);
    Some((text(provider)?, text(id)?)).filter(|(provider, _)| provider != NO_PROVIDER)
}
