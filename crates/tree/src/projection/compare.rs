//! Compares two branches: their messages after the common ancestor, the files they touched, and their usage.
//!
//! A long branch shows its first message and its last ones. Lines are read in batches and not kept.

mod draw;

use std::borrow::Cow;
use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entry::{Entry, MessageRole, flag};
use crate::files::TouchedFiles;
use crate::fold::{Place, SessionTree};
use crate::heads::{Head, Seq};
use crate::line_consumer::{LineConsumer, feed_all};

use super::Lines;
use super::preview::{Previews, one_line};
use super::transcript::is_in_transcript;
use super::usage::{UsageTotals, entry_usage, may_have_usage};

/// The maximum number of messages, and of files of each kind, per side.
const MAX_MESSAGES: usize = 100;
const MAX_FILES: usize = 100;

/// The result of comparing two branches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The deepest entry on both paths.
    pub common_id: Option<String>,
    pub left: ComparisonSide,
    pub right: ComparisonSide,
    /// Files that both branches changed.
    pub modified_by_both: Vec<String>,
}

impl Comparison {
    /// Whether one entry is an ancestor of the other: they are not the ends of two branches.
    pub fn is_on_one_path(&self) -> bool {
        [&self.left, &self.right].iter().any(|side| side.tip_id == self.common_id)
    }
}

/// One of the two branches, after the common ancestor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparisonSide {
    /// The end of the branch.
    pub tip_id: Option<String>,
    /// The first entry that is not on the other branch.
    pub first_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub messages: usize,
    /// The first message, then the last ones.
    pub said: Vec<ComparedMessage>,
    /// The number of messages omitted after the first one.
    pub left_out: usize,
    /// Files read but not changed.
    pub read_files: Vec<String>,
    pub modified_files: Vec<String>,
    pub files_left_out: usize,
    pub usage: UsageTotals,
}

impl ComparisonSide {
    /// The label of the branch, or the first thing that the user said on it.
    pub fn title(&self) -> String {
        let first = self.said.iter().find(|said| said.role == "user").or(self.said.first());
        let text = first.map(|said| match said.text.strip_prefix("user: ") {
            // The quotes are those of the preview; the prompt may end with one of its own.
            Some(prompt) => {
                let inside = prompt.strip_prefix('"').and_then(|prompt| prompt.strip_suffix('"'));
                inside.unwrap_or(prompt).to_owned()
            }
            None => said.text.to_string(),
        });
        self.label
            .as_ref()
            .map(|label| format!("[{label}]"))
            .or(text)
            .unwrap_or_else(|| "no messages".to_owned())
    }
}

/// One message of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparedMessage {
    pub id: String,
    pub kind: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub role: Cow<'static, str>,
    /// One sanitized line.
    pub text: String,
}

/// Compares two branches when all lines are available.
pub fn compare(tree: &SessionTree, left: Place, right: Place, lines: &dyn Lines) -> Comparison {
    let mut builder = ComparisonBuilder::new(tree, left, right);
    feed_all(&mut builder, lines);
    builder.finish()
}

/// Builds a [`Comparison`], requesting the lines of both branches.
#[derive(Debug)]
pub struct ComparisonBuilder<'t> {
    tree: &'t SessionTree,
    common: Place,
    left: SideReader<'t>,
    right: SideReader<'t>,
}

impl<'t> ComparisonBuilder<'t> {
    pub fn new(tree: &'t SessionTree, left: Place, right: Place) -> ComparisonBuilder<'t> {
        let common = tree.common_ancestor(left, right);
        let reader = |tip| SideReader::new(tree, common, tip);
        ComparisonBuilder { tree, common, left: reader(left), right: reader(right) }
    }

    pub fn finish(self) -> Comparison {
        let both =
            self.left.files.modified().filter(|path| self.right.files.modified().any(|other| other == *path));
        Comparison {
            common_id: self.tree.heads().anchor(self.common).map(|seq| self.tree.id(seq).to_string()),
            modified_by_both: both.map(path_text).take(MAX_FILES).collect(),
            left: self.left.finish(),
            right: self.right.finish(),
        }
    }
}

impl LineConsumer for ComparisonBuilder<'_> {
    fn needed_lines(&self) -> Vec<Seq> {
        let left = self.left.batches.peek_batch(self.tree);
        if left.is_empty() { self.right.batches.peek_batch(self.tree).to_vec() } else { left.to_vec() }
    }

    fn feed(&mut self, lines: &dyn Lines) {
        let reader = if self.left.batches.is_finished() { &mut self.right } else { &mut self.left };
        for seq in reader.batches.next_batch(self.tree) {
            if let Some(entry) = lines.entry(seq) {
                reader.read(seq, &entry);
            }
        }
    }
}

/// Entries to read in order, in batches.
#[derive(Debug)]
pub(crate) struct EntryBatches {
    entries: Vec<Seq>,
    next: usize,
}

impl EntryBatches {
    const BYTES: usize = 1 << 20;

    pub(crate) fn new(entries: Vec<Seq>) -> EntryBatches {
        EntryBatches { entries, next: 0 }
    }

    fn is_finished(&self) -> bool {
        self.next == self.entries.len()
    }

    /// The next batch: about 1 MiB, at least one entry.
    pub(crate) fn peek_batch(&self, tree: &SessionTree) -> &[Seq] {
        let rest = &self.entries[self.next..];
        let mut bytes = 0;
        let enough = rest.iter().position(|seq| {
            bytes += tree.head(*seq).len as usize;
            bytes >= EntryBatches::BYTES
        });
        &rest[..enough.map_or(rest.len(), |last| last + 1)]
    }

    /// Removes and returns the next batch.
    pub(crate) fn next_batch(&mut self, tree: &SessionTree) -> Vec<Seq> {
        let taken = self.peek_batch(tree).to_vec();
        self.next += taken.len();
        taken
    }
}

/// The entries on the path to `tip` below `above`, oldest first.
pub(crate) fn entries_below(tree: &SessionTree, above: Place, tip: Place) -> Vec<Seq> {
    let mut entries: Vec<Seq> = tree.heads().ancestors(tip).take_while(|seq| Some(*seq) != above).collect();
    entries.reverse();
    entries
}

#[derive(Debug)]
struct SideReader<'t> {
    tree: &'t SessionTree,
    batches: EntryBatches,
    side: ComparisonSide,
    last: VecDeque<ComparedMessage>,
    files: TouchedFiles,
    previews: Previews,
}

impl<'t> SideReader<'t> {
    fn new(tree: &'t SessionTree, common: Place, tip: Place) -> SideReader<'t> {
        let mut entries = entries_below(tree, common, tip);
        let id = |seq: Seq| tree.id(seq).to_string();
        let first = entries.iter().copied().find(|seq| tree.head(*seq).kind.reaches_context());
        let end = tree.heads().anchor(tip);
        let side = ComparisonSide {
            tip_id: end.map(id),
            first_id: first.map(id),
            label: end.and_then(|seq| tree.label(seq)).map(|label| one_line(&label.text, 80)),
            messages: entries.iter().filter(|seq| tree.head(**seq).is_message()).count(),
            ..ComparisonSide::default()
        };
        entries.retain(|seq| is_in_transcript(tree.head(*seq)) || may_have_usage(tree.head(*seq)));
        let (last, files, previews) = Default::default();
        SideReader { tree, batches: EntryBatches::new(entries), side, last, files, previews }
    }

    fn read(&mut self, seq: Seq, entry: &Entry<'_>) {
        if let Some(spent) = entry_usage(entry) {
            self.side.usage.add(&spent.usage);
        }
        // Files listed in a summary belong to another branch, or to calls that are on this one anyway.
        if let Some(message) = entry.message {
            self.files.add_message(message);
        }
        let text = self.previews.preview(entry);
        let head = self.tree.head(seq);
        if is_in_transcript(head) && !has_only_calls(head) {
            self.push_message(ComparedMessage {
                id: entry.id.to_string(),
                kind: entry.kind.name().into(),
                role: entry.role.name().into(),
                text,
            });
        }
    }

    fn push_message(&mut self, message: ComparedMessage) {
        if self.side.said.is_empty() {
            self.side.said.push(message);
            return;
        }
        self.last.push_back(message);
        if self.last.len() == MAX_MESSAGES {
            self.last.pop_front();
            self.side.left_out += 1;
        }
    }

    fn finish(mut self) -> ComparisonSide {
        self.side.said.extend(self.last);
        let named = self.files.read().count().min(MAX_FILES) + self.files.modified().count().min(MAX_FILES);
        self.side.files_left_out = self.files.read().count() + self.files.modified().count() - named;
        self.side.read_files = self.files.read().map(path_text).take(MAX_FILES).collect();
        self.side.modified_files = self.files.modified().map(path_text).take(MAX_FILES).collect();
        self.side
    }
}

/// A file path that is safe to print.
fn path_text(path: &str) -> String {
    one_line(path, 300)
}

/// A reply with only tool calls. The results show the calls.
fn has_only_calls(head: &Head) -> bool {
    head.role == MessageRole::Assistant && head.calls > 0 && !head.has_flag(flag::HAS_TEXT)
}
