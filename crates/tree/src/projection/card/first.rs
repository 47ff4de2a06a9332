//! Tracks the first user message of a session that is not in a deleted branch.

use rustc_hash::FxHashSet;

use crate::heads::{Heads, Seq};

/// The maximum number of candidates. More than one is needed only if branches are deleted.
const MOST: usize = 8;

/// Tracks the candidates for the first message. The cost per entry does not depend on its depth or on deletions.
#[derive(Debug, Clone, Default)]
pub(super) struct First {
    beginnings: Vec<Beginning>,
    /// For each entry, whether a candidate is at or above it.
    below: Vec<bool>,
    deleted: FxHashSet<Seq>,
}

/// A user message with no other user message above it.
#[derive(Debug, Clone)]
struct Beginning {
    words: String,
    path: FxHashSet<Seq>,
    /// The number of deleted branches that contain it.
    hidden: usize,
}

impl First {
    /// Adds an entry. `words` returns its text if it is a user message.
    pub(super) fn take(&mut self, seq: Seq, heads: &Heads, words: Option<impl FnOnce() -> String>) {
        let above = heads.get(seq).parent;
        let mut below = above.is_some_and(|seq| self.below.get(seq.index()).copied().unwrap_or(false));
        if let Some(words) = words.filter(|_| !below && self.beginnings.len() < MOST) {
            let words = words();
            below = !words.is_empty();
            if below {
                let path = path_of(seq, heads);
                let hidden = path.iter().filter(|seq| self.deleted.contains(seq)).count();
                self.beginnings.push(Beginning { words, path, hidden });
            }
        }
        if self.below.len() <= seq.index() {
            self.below.resize(seq.index() + 1, false);
        }
        self.below[seq.index()] = below;
    }

    pub(super) fn delete(&mut self, branch: Seq) {
        if self.deleted.insert(branch) {
            self.on_path(branch).for_each(|beginning| beginning.hidden += 1);
        }
    }

    pub(super) fn restore(&mut self, branch: Seq) {
        if self.deleted.remove(&branch) {
            self.on_path(branch).for_each(|beginning| beginning.hidden -= 1);
        }
    }

    fn on_path(&mut self, seq: Seq) -> impl Iterator<Item = &mut Beginning> {
        self.beginnings.iter_mut().filter(move |beginning| beginning.path.contains(&seq))
    }

    pub(super) fn words(&self) -> &str {
        self.beginnings
            .iter()
            .find(|beginning| beginning.hidden == 0)
            .map_or("", |beginning| &beginning.words)
    }
}

/// An entry and all its ancestors. While a log is being read, the parents may still form a cycle.
fn path_of(seq: Seq, heads: &Heads) -> FxHashSet<Seq> {
    let mut path = FxHashSet::default();
    heads.up(Some(seq)).take_while(|seq| path.insert(*seq)).for_each(drop);
    path
}
