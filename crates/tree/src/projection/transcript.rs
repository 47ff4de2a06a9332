//! The transcript: the full conversation along a path for a person to read, including what a compaction hides from the
//! model.
//!
//! Marks, moves, system prompts and internal entries of extensions are omitted. Texts are not sanitized here; [`markdown`]
//! and terminal output do that.

mod item;
mod markdown;
mod read;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::entry::{Entry, EntryKind, MessageRole, flag};
use crate::fold::{Place, SessionTree};
use crate::heads::{Head, Seq};
use crate::marks::RUNNING;
use crate::scan::RawJson;

use super::Lines;
use super::preview::{RawToolCall, field, message_field, tool_calls};

pub use item::{AssistantItem, ItemDetails, SubagentsItem, ToolCallItem, ToolResultItem, TranscriptItem};
pub use markdown::{MarkdownWriter, markdown};

/// The entries whose lines [`transcript`] needs.
pub fn transcript_entries(tree: &SessionTree, at: Place) -> Vec<Seq> {
    TranscriptReader::new(tree, at).entries()
}

/// The items of the path to `at`, oldest first. Entries with missing lines are omitted.
pub fn transcript(tree: &SessionTree, at: Place, lines: &dyn Lines) -> Vec<TranscriptItem> {
    let mut reader = TranscriptReader::new(tree, at);
    for seq in reader.call_entries() {
        if let Some(entry) = lines.entry(seq) {
            reader.match_call(seq, &entry);
        }
    }
    let entries = reader.entries();
    entries.into_iter().filter_map(|seq| reader.item(seq, &lines.entry(seq)?)).collect()
}

/// Makes the items of a path one by one, so that not all of them have to be in memory. It needs two passes over the lines:
/// first [`TranscriptReader::call_entries`], to find the calls that have a result, then [`TranscriptReader::entries`].
#[derive(Debug)]
pub struct TranscriptReader<'t> {
    tree: &'t SessionTree,
    path: Vec<Seq>,
    /// Calls without a result so far, by id: the entry, and the index of the call in it. Ids may repeat along a path.
    unanswered: FxHashMap<String, (Seq, usize)>,
    /// Calls that have a result.
    answered: FxHashSet<(Seq, usize)>,
    /// How the next sub-agent batch ended, from its update.
    status: Option<String>,
}

impl<'t> TranscriptReader<'t> {
    pub fn new(tree: &'t SessionTree, at: Place) -> TranscriptReader<'t> {
        let mut path: Vec<Seq> = tree.path(at);
        path.retain(|seq| is_in_transcript(tree.head(*seq)));
        TranscriptReader {
            tree,
            path,
            unanswered: FxHashMap::default(),
            answered: FxHashSet::default(),
            status: None,
        }
    }

    /// The entries with calls or results, in the order for [`TranscriptReader::match_call`].
    pub fn call_entries(&self) -> Vec<Seq> {
        let calls = |seq: &&Seq| {
            let head = self.tree.head(**seq);
            head.role == MessageRole::ToolResult || head.role == MessageRole::Assistant && head.calls > 0
        };
        self.path.iter().filter(calls).copied().collect()
    }

    pub fn match_call(&mut self, seq: Seq, entry: &Entry<'_>) {
        if entry.role == MessageRole::Assistant {
            let calls = tool_calls(entry).into_iter().enumerate();
            self.unanswered.extend(calls.map(|(number, (id, _))| (id.to_string(), (seq, number))));
        } else if let Some(id) = message_field(entry, "toolCallId").and_then(RawJson::text) {
            self.answered.extend(self.unanswered.remove(&*id));
        }
    }

    /// The entries of the path, each update before its target, in the order for [`TranscriptReader::item`].
    pub fn entries(&self) -> Vec<Seq> {
        self.path.iter().flat_map(|seq| batch_update(self.tree, *seq).into_iter().chain([*seq])).collect()
    }

    /// The item of an entry. `None` for an update.
    pub fn item(&mut self, seq: Seq, entry: &Entry<'_>) -> Option<TranscriptItem> {
        if self.tree.head(seq).kind == EntryKind::EntryUpdate {
            // A batch that runs may be interrupted, which its line tells.
            self.status = update_status(entry).filter(|status| status != RUNNING);
            return None;
        }
        let status = self.status.take();
        let mut item = read::item(entry)?;
        item.label = self.tree.label(seq).map(|label| label.text.clone());
        match &mut item.details {
            ItemDetails::Subagents { subagents } => subagents.status = status.or(subagents.status.take()),
            ItemDetails::Assistant(assistant) => {
                for (number, (id, call)) in tool_calls(entry).into_iter().enumerate() {
                    let interrupted = !self.answered.contains(&(seq, number));
                    assistant.tool_calls.push(tool_call(id.into(), &call, interrupted));
                }
            }
            _ => {}
        }
        Some(item)
    }
}

/// Whether people read this entry in the conversation.
pub fn is_in_transcript(head: &Head) -> bool {
    match head.kind {
        EntryKind::Message => head.role != MessageRole::System,
        EntryKind::CustomMessage => !head.has_flag(flag::NOT_SHOWN),
        EntryKind::Compaction
        | EntryKind::BranchSummary
        | EntryKind::Backtrack
        | EntryKind::SubagentBatch
        | EntryKind::SubagentResult => true,
        _ => false,
    }
}

fn batch_update(tree: &SessionTree, seq: Seq) -> Option<Seq> {
    (tree.head(seq).kind == EntryKind::SubagentBatch)
        .then(|| tree.marks().latest_update(tree.id(seq).as_str()))
        .flatten()
}

fn update_status(update: &Entry<'_>) -> Option<String> {
    field(update, "data")?.get("status").and_then(RawJson::text).map(Into::into)
}

fn tool_call(id: String, call: &RawToolCall<'_>, interrupted: bool) -> ToolCallItem {
    ToolCallItem { id, name: call.name.to_string(), arguments: read::raw_value(call.arguments), interrupted }
}
