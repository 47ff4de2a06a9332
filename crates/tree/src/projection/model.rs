//! The model in force at a place: the nearest one that a `model_change` or a reply above it names.

use crate::asking::Asks;
use crate::entry::Entry;
use crate::fold::{Place, SessionTree};
use crate::heads::Seq;
use crate::projection::Lines;
use crate::projection::context::model_of;
use crate::scan::Raw;

/// The provider of messages that no model wrote, such as those of `osier sessions append --role assistant`.
pub const NO_PROVIDER: &str = "none";

/// Candidates requested at once, after the first.
const BATCH: usize = 64;

/// A search for the model in force. Entries that name no real model are skipped.
#[derive(Debug)]
pub struct ModelInForce<'t> {
    tree: &'t SessionTree,
    /// Entries that may name the model, nearest first.
    candidates: Vec<Seq>,
    found: Option<(String, String)>,
}

impl SessionTree {
    /// Starts the search for the model in force at a place.
    pub fn model_in_force(&self, at: Place) -> ModelInForce<'_> {
        let candidates = at.and_then(|seq| self.head(seq).model).into_iter().collect();
        ModelInForce { tree: self, candidates, found: None }
    }
}

impl ModelInForce<'_> {
    /// Provider and model id, once nothing more is wanted.
    pub fn finish(self) -> Option<(String, String)> {
        self.found
    }

    fn above(&self, seq: Seq) -> Option<Seq> {
        let parent = self.tree.head(seq).parent?;
        self.tree.head(parent).model
    }
}

impl Asks for ModelInForce<'_> {
    fn wants(&self) -> Vec<Seq> {
        self.candidates.clone()
    }

    fn give(&mut self, lines: &dyn Lines) {
        let named = |seq: &Seq| real_model(&lines.entry(*seq)?);
        self.found = self.candidates.iter().find_map(named);
        let next = self.candidates.last().filter(|_| self.found.is_none()).and_then(|seq| self.above(*seq));
        self.candidates = std::iter::successors(next, |seq| self.above(*seq)).take(BATCH).collect();
    }
}

fn real_model(entry: &Entry<'_>) -> Option<(String, String)> {
    let (provider, id) = model_of(entry)?;
    let text = |raw: Raw<'_>| raw.text().filter(|text| !text.trim().is_empty()).map(String::from);
    Some((text(provider)?, text(id)?)).filter(|(provider, _)| provider != NO_PROVIDER)
}
