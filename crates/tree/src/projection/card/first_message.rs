//! Tracks the first user message of a session that is not in a deleted branch.

use rustc_hash::FxHashSet;

use crate::heads::{Heads, Seq};

/// The maximum number of candidates. More than one is needed only if branches are deleted.
const MAX_CANDIDATES: usize = 8;

/// Tracks the candidates for the first message. The cost per entry does not depend on its depth or on deletions.
#[derive(Debug, Clone, Default)]
pub(super) struct FirstMessageTracker {
    candidates: Vec<FirstMessage>,
    /// For each entry, whether a candidate is at or above it.
    is_below_candidate: Vec<bool>,
    deleted: FxHashSet<Seq>,
}

/// A user message with no other user message above it.
#[derive(Debug, Clone)]
struct FirstMessage {
    text: String,
    path: FxHashSet<Seq>,
    /// The number of deleted branches that contain it.
    deleted_branches: usize,
}

impl FirstMessageTracker {
    /// Adds an entry. `words` returns its text if it is a user message.
    pub(super) fn add_entry(&mut self, seq: Seq, heads: &Heads, words: Option<impl FnOnce() -> String>) {
        let above = heads.get(seq).parent;
        let mut below =
            above.is_some_and(|seq| self.is_below_candidate.get(seq.index()).copied().unwrap_or(false));
        if let Some(words) = words.filter(|_| !below && self.candidates.len() < MAX_CANDIDATES) {
            let words = words();
            below = !words.is_empty();
            if below {
                let path = path_to(seq, heads);
                let hidden = path.iter().filter(|seq| self.deleted.contains(seq)).count();
                self.candidates.push(FirstMessage { text: words, path, deleted_branches: hidden });
            }
        }
        if self.is_below_candidate.len() <= seq.index() {
            self.is_below_candidate.resize(seq.index() + 1, false);
        }
        self.is_below_candidate[seq.index()] = below;
    }

    pub(super) fn delete(&mut self, branch: Seq) {
        if self.deleted.insert(branch) {
            self.candidates_below(branch).for_each(|candidate| candidate.deleted_branches += 1);
        }
    }

    pub(super) fn restore(&mut self, branch: Seq) {
        if self.deleted.remove(&branch) {
            self.candidates_below(branch).for_each(|candidate| candidate.deleted_branches -= 1);
        }
    }

    fn candidates_below(&mut self, seq: Seq) -> impl Iterator<Item = &mut FirstMessage> {
        self.candidates.iter_mut().filter(move |candidate| candidate.path.contains(&seq))
    }

    pub(super) fn text(&self) -> &str {
        self.candidates
            .iter()
            .find(|candidate| candidate.deleted_branches == 0)
            .map_or("", |candidate| &candidate.text)
    }
}

/// An entry and all its ancestors. While a log is being read, the parents may still form a cycle.
fn path_to(seq: Seq, heads: &Heads) -> FxHashSet<Seq> {
    let mut path = FxHashSet::default();
    heads.ancestors(Some(seq)).take_while(|seq| path.insert(*seq)).for_each(drop);
    path
}
