//! Compares two branches: their messages after the common ancestor, the files they touched, and their usage.
//!
//! A long branch shows its first message and its last ones. Lines are read in batches and not kept.

mod draw;

use std::collections::VecDeque;

use serde::Serialize;

use crate::asking::{Asks, answer};
use crate::entry::{Entry, Role, flag};
use crate::files::Files;
use crate::fold::{Place, SessionTree};
use crate::heads::{Head, Seq};

use super::Lines;
use super::preview::{Previews, one_line};
use super::transcript::is_read;
use super::usage::{Usage, may_cost, spent_by};

/// The maximum number of messages, and of files of each kind, per side.
const SAID: usize = 100;
const FILES: usize = 100;

/// The result of comparing two branches.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The deepest entry on both paths.
    pub common_id: Option<String>,
    pub left: Side,
    pub right: Side,
    /// Files that both branches changed.
    pub modified_by_both: Vec<String>,
}

/// One of the two branches, after the common ancestor.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    /// The end of the branch.
    pub tip_id: Option<String>,
    /// The first entry that is not on the other branch.
    pub first_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub messages: usize,
    /// The first message, then the last ones.
    pub said: Vec<Said>,
    /// The number of messages omitted after the first one.
    pub left_out: usize,
    /// Files read but not changed.
    pub read_files: Vec<String>,
    pub modified_files: Vec<String>,
    pub files_left_out: usize,
    pub usage: Usage,
}

/// One message of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Said {
    pub id: String,
    pub kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub role: &'static str,
    /// One sanitized line.
    pub text: String,
}

/// Compares two branches when all lines are available.
pub fn compare(tree: &SessionTree, left: Place, right: Place, lines: &dyn Lines) -> Comparison {
    let mut comparing = Comparing::new(tree, left, right);
    answer(&mut comparing, lines);
    comparing.finish()
}

/// Builds a [`Comparison`], requesting the lines of both branches.
#[derive(Debug)]
pub struct Comparing<'t> {
    tree: &'t SessionTree,
    common: Place,
    left: Reader<'t>,
    right: Reader<'t>,
}

impl<'t> Comparing<'t> {
    pub fn new(tree: &'t SessionTree, left: Place, right: Place) -> Comparing<'t> {
        let common = tree.common_ancestor(left, right);
        let reader = |tip| Reader::new(tree, common, tip);
        Comparing { tree, common, left: reader(left), right: reader(right) }
    }

    pub fn finish(self) -> Comparison {
        let both =
            self.left.files.modified().filter(|path| self.right.files.modified().any(|other| other == *path));
        Comparison {
            common_id: self.tree.heads().anchor(self.common).map(|seq| self.tree.id(seq).to_string()),
            modified_by_both: both.map(plain).take(FILES).collect(),
            left: self.left.finish(),
            right: self.right.finish(),
        }
    }
}

impl Asks for Comparing<'_> {
    fn wants(&self) -> Vec<Seq> {
        let left = self.left.stretch.batch(self.tree);
        if left.is_empty() { self.right.stretch.batch(self.tree).to_vec() } else { left.to_vec() }
    }

    fn give(&mut self, lines: &dyn Lines) {
        let reader = if self.left.stretch.is_read() { &mut self.right } else { &mut self.left };
        for seq in reader.stretch.take(self.tree) {
            if let Some(entry) = lines.entry(seq) {
                reader.read(seq, &entry);
            }
        }
    }
}

/// Entries to read in order, in batches.
#[derive(Debug)]
pub(crate) struct Stretch {
    entries: Vec<Seq>,
    next: usize,
}

impl Stretch {
    const BYTES: usize = 1 << 20;

    pub(crate) fn new(entries: Vec<Seq>) -> Stretch {
        Stretch { entries, next: 0 }
    }

    fn is_read(&self) -> bool {
        self.next == self.entries.len()
    }

    /// The next batch: about 1 MiB, at least one entry.
    pub(crate) fn batch(&self, tree: &SessionTree) -> &[Seq] {
        let rest = &self.entries[self.next..];
        let mut bytes = 0;
        let enough = rest.iter().position(|seq| {
            bytes += tree.head(*seq).len as usize;
            bytes >= Stretch::BYTES
        });
        &rest[..enough.map_or(rest.len(), |last| last + 1)]
    }

    /// Removes and returns the next batch.
    pub(crate) fn take(&mut self, tree: &SessionTree) -> Vec<Seq> {
        let taken = self.batch(tree).to_vec();
        self.next += taken.len();
        taken
    }
}

/// The entries on the path to `tip` below `above`, oldest first.
pub(crate) fn below(tree: &SessionTree, above: Place, tip: Place) -> Vec<Seq> {
    let mut entries: Vec<Seq> = tree.heads().up(tip).take_while(|seq| Some(*seq) != above).collect();
    entries.reverse();
    entries
}

#[derive(Debug)]
struct Reader<'t> {
    tree: &'t SessionTree,
    stretch: Stretch,
    side: Side,
    last: VecDeque<Said>,
    files: Files,
    previews: Previews,
}

impl<'t> Reader<'t> {
    fn new(tree: &'t SessionTree, common: Place, tip: Place) -> Reader<'t> {
        let mut entries = below(tree, common, tip);
        let id = |seq: Seq| tree.id(seq).to_string();
        let first = entries.iter().copied().find(|seq| tree.head(*seq).kind.reaches_context());
        let end = tree.heads().anchor(tip);
        let side = Side {
            tip_id: end.map(id),
            first_id: first.map(id),
            label: end.and_then(|seq| tree.label(seq)).map(|label| one_line(&label.text, 80)),
            messages: entries.iter().filter(|seq| tree.head(**seq).is_message()).count(),
            ..Side::default()
        };
        entries.retain(|seq| is_read(tree.head(*seq)) || may_cost(tree.head(*seq)));
        let (last, files, previews) = Default::default();
        Reader { tree, stretch: Stretch::new(entries), side, last, files, previews }
    }

    fn read(&mut self, seq: Seq, entry: &Entry<'_>) {
        if let Some(spent) = spent_by(entry) {
            self.side.usage.add(&spent.usage);
        }
        // Files listed in a summary belong to another branch, or to calls that are on this one anyway.
        if let Some(message) = entry.message {
            self.files.add_message(message);
        }
        let text = self.previews.preview(entry);
        let head = self.tree.head(seq);
        if is_read(head) && !only_calls(head) {
            self.say(Said {
                id: entry.id.to_string(),
                kind: entry.kind.name(),
                role: entry.role.name(),
                text,
            });
        }
    }

    fn say(&mut self, message: Said) {
        if self.side.said.is_empty() {
            self.side.said.push(message);
            return;
        }
        self.last.push_back(message);
        if self.last.len() == SAID {
            self.last.pop_front();
            self.side.left_out += 1;
        }
    }

    fn finish(mut self) -> Side {
        self.side.said.extend(self.last);
        let named = self.files.read().count().min(FILES) + self.files.modified().count().min(FILES);
        self.side.files_left_out = self.files.read().count() + self.files.modified().count() - named;
        self.side.read_files = self.files.read().map(plain).take(FILES).collect();
        self.side.modified_files = self.files.modified().map(plain).take(FILES).collect();
        self.side
    }
}

/// A file path that is safe to print.
fn plain(path: &str) -> String {
    one_line(path, 300)
}

/// A reply with only tool calls. The results show the calls.
fn only_calls(head: &Head) -> bool {
    head.role == Role::Assistant && head.calls > 0 && !head.has(flag::HAS_TEXT)
}
