//! The end of a path, reduced to what the next step depends on. Marks, model and prompt changes, summaries,
//! shell commands and extension messages are skipped.

use osier_tree::entry::Entry;
use osier_tree::projection::Lines;
use osier_tree::scan::RawJson;
use osier_tree::{EntryKind, EntryReason, MessageRole, Place, Seq, SessionTree};
use serde_json::Value;

/// A tool call as an entry records it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCall {
    pub id: String,
    pub name: String,
    pub arguments: Value,
    /// Why the arguments could not be parsed. Such a call never runs.
    pub invalid: Option<String>,
}

/// How a path ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Tail {
    /// There are no messages yet.
    Empty,
    /// A user message without a reply.
    Prompted,
    /// The model returned to a checkpoint and left itself a note.
    Backtracked,
    /// Calls without a result, in call order.
    Calling(Vec<RecordedCall>),
    /// Calls without a result in a reply that broke off. They may be incomplete, so they never run.
    BrokenOff(EntryReason, Vec<RecordedCall>),
    /// Every call has its result.
    Answered,
    /// The reply is complete, or stopped for another reason.
    Replied(EntryReason),
}

/// The role of an entry at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TailPart {
    Prompt,
    Note,
    Reply,
    Result,
}

fn tail_part(tree: &SessionTree, seq: Seq) -> Option<TailPart> {
    let head = tree.head(seq);
    match (head.kind, head.role) {
        (EntryKind::Backtrack, _) => Some(TailPart::Note),
        (EntryKind::Message, MessageRole::User | MessageRole::Custom) => Some(TailPart::Prompt),
        (EntryKind::Message, MessageRole::Assistant) => Some(TailPart::Reply),
        (EntryKind::Message, MessageRole::ToolResult) => Some(TailPart::Result),
        _ => None,
    }
}

/// The entries whose lines `Tail::from_path` needs: the last reply, if it calls tools, and its results.
pub fn tail_entries(tree: &SessionTree, at: Place) -> Vec<Seq> {
    let mut entries: Vec<Seq> = Vec::new();
    for seq in tree.heads().ancestors(at) {
        match tail_part(tree, seq) {
            Some(TailPart::Result) => entries.push(seq),
            Some(TailPart::Reply) => {
                entries.extend(Some(seq).filter(|seq| tree.head(*seq).calls > 0));
                break;
            }
            Some(TailPart::Prompt | TailPart::Note) => break,
            None => {}
        }
    }
    entries.reverse();
    entries
}

/// The reply that the path ends with, not counting its tool results.
pub fn last_reply(tree: &SessionTree, at: Place) -> Option<Seq> {
    let mut parts = tree.heads().ancestors(at).filter_map(|seq| tail_part(tree, seq).map(|part| (seq, part)));
    parts
        .find(|(_, part)| *part != TailPart::Result)
        .filter(|(_, part)| *part == TailPart::Reply)
        .map(|(seq, _)| seq)
}

impl Tail {
    /// Whether the turn is unfinished, so that the path can be resumed.
    pub fn is_open(&self) -> bool {
        match self {
            Tail::Empty => false,
            Tail::Replied(reason) => matches!(reason, EntryReason::Error | EntryReason::Aborted),
            Tail::Prompted | Tail::Backtracked | Tail::Calling(_) | Tail::BrokenOff(..) | Tail::Answered => {
                true
            }
        }
    }

    /// Reads the tail of the path to `at`. `lines` must contain the lines of [`tail_entries`].
    pub fn from_path(tree: &SessionTree, at: Place, lines: &impl Lines) -> Tail {
        let mut parts = tree.heads().ancestors(at).filter_map(|seq| tail_part(tree, seq));
        let Some(last) = parts.next() else { return Tail::Empty };
        let Some(reply) = last_reply(tree, at) else {
            return match last {
                // Tool results without a reply still need an answer.
                TailPart::Result => Tail::Answered,
                TailPart::Note => Tail::Backtracked,
                TailPart::Prompt | TailPart::Reply => Tail::Prompted,
            };
        };
        let reason = tree.head(reply).reason;
        let broken = matches!(reason, EntryReason::Error | EntryReason::Aborted | EntryReason::Length);
        match calls_without_result(&tail_entries(tree, at), lines) {
            calls if calls.is_empty() && (broken || tree.head(reply).calls == 0) => Tail::Replied(reason),
            calls if calls.is_empty() => Tail::Answered,
            calls if broken => Tail::BrokenOff(reason, calls),
            calls => Tail::Calling(calls),
        }
    }
}

fn calls_without_result(entries: &[Seq], lines: &impl Lines) -> Vec<RecordedCall> {
    let mut calls: Vec<RecordedCall> = Vec::new();
    for entry in entries.iter().filter_map(|seq| lines.entry(*seq)) {
        match entry.role {
            MessageRole::Assistant => calls = tool_calls(&entry),
            _ => {
                let answered =
                    entry.message.and_then(|message| message.get("toolCallId")).and_then(RawJson::text);
                calls.retain(|call| Some(call.id.as_str()) != answered.as_deref());
            }
        }
    }
    calls
}

/// The tool calls of a reply.
pub fn tool_calls(entry: &Entry<'_>) -> Vec<RecordedCall> {
    let mut calls = Vec::new();
    let Some(content) = entry.message.and_then(|message| message.get("content")) else { return calls };
    content.each_item(|block| {
        let text = |key| block.get(key).and_then(RawJson::text).unwrap_or_default().into_owned();
        if text("type") == "toolCall" {
            let arguments = block.get("arguments").and_then(|raw| serde_json::from_slice(raw.bytes()).ok());
            calls.push(RecordedCall {
                id: text("id"),
                name: text("name"),
                arguments: arguments.unwrap_or_default(),
                invalid: block.get("invalidArguments").and_then(RawJson::text).map(String::from),
            });
        }
    });
    calls
}
