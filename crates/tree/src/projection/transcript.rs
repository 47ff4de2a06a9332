//! The transcript: what a person reads along a path, all of it, also what a compaction hides from the model.
//!
//! Marks, moves, system prompts and what extensions keep for themselves are left out. Texts are as they were written;
//! [`markdown`] and whoever draws on a terminal makes them inert.

mod item;
mod markdown;
mod read;

use rustc_hash::FxHashMap;

use crate::entry::{Entry, Kind, Role, flag};
use crate::fold::{Place, SessionTree};
use crate::heads::{Head, Seq};
use crate::scan::Raw;

use super::Lines;
use super::preview::{Call, calls_of, field};

pub use item::{
    Assistant, Backtrack, Bash, BranchSummary, Compaction, Part, Subagents, ToolCall, ToolResult,
    TranscriptItem,
};
pub use markdown::markdown;

/// The entries whose lines [`transcript`] needs.
pub fn transcript_entries(tree: &SessionTree, at: Place) -> Vec<Seq> {
    let mut wanted: Vec<Seq> = tree.path(at);
    wanted.retain(|seq| is_read(tree.head(*seq)));
    let updates: Vec<Seq> = wanted.iter().filter_map(|seq| update_of(tree, *seq)).collect();
    wanted.extend(updates);
    wanted
}

/// The items of the path to `at`, oldest first. Entries whose lines are missing are left out.
pub fn transcript(tree: &SessionTree, at: Place, lines: &dyn Lines) -> Vec<TranscriptItem> {
    let mut script = Script::default();
    for seq in tree.path(at) {
        if !is_read(tree.head(seq)) {
            continue;
        }
        let Some(entry) = lines.entry(seq) else { continue };
        let Some(mut item) = read::item(&entry) else { continue };
        item.label = tree.label(seq).map(|label| label.text.clone());
        if let Part::Subagents { subagents } = &mut item.part
            && let Some(update) = update_of(tree, seq).and_then(|update| lines.entry(update))
        {
            subagents.status = status_of(&update).or(subagents.status.take());
        }
        script.add(&entry, item);
    }
    script.items
}

pub(crate) fn is_read(head: &Head) -> bool {
    match head.kind {
        Kind::Message => head.role != Role::System,
        Kind::CustomMessage => !head.has(flag::NOT_SHOWN),
        Kind::Compaction
        | Kind::BranchSummary
        | Kind::Backtrack
        | Kind::SubagentBatch
        | Kind::SubagentResult => true,
        _ => false,
    }
}

fn update_of(tree: &SessionTree, seq: Seq) -> Option<Seq> {
    (tree.head(seq).kind == Kind::SubagentBatch)
        .then(|| tree.marks().update_of(tree.id(seq).as_str()))
        .flatten()
}

fn status_of(update: &Entry<'_>) -> Option<String> {
    field(update, "data")?.get("status").and_then(Raw::text).map(Into::into)
}

/// Items so far, and the calls that still wait for a result. Ids of calls may repeat along a path.
#[derive(Default)]
struct Script {
    items: Vec<TranscriptItem>,
    waiting: FxHashMap<String, (usize, usize)>,
}

impl Script {
    fn add(&mut self, entry: &Entry<'_>, mut item: TranscriptItem) {
        match &mut item.part {
            Part::Assistant(assistant) => {
                for (id, call) in calls_of(entry) {
                    self.waiting.insert(id.to_string(), (self.items.len(), assistant.tool_calls.len()));
                    assistant.tool_calls.push(tool_call(id.into(), &call));
                }
            }
            Part::ToolResult { tool_result } => {
                if let Some((at, call)) = self.waiting.remove(&tool_result.tool_call_id)
                    && let Part::Assistant(assistant) = &mut self.items[at].part
                {
                    assistant.tool_calls[call].interrupted = false;
                }
            }
            _ => {}
        }
        self.items.push(item);
    }
}

/// A call counts as interrupted until its result is found.
fn tool_call(id: String, call: &Call<'_>) -> ToolCall {
    ToolCall {
        id,
        name: call.name.to_string(),
        arguments: read::raw_value(call.arguments),
        interrupted: true,
    }
}
