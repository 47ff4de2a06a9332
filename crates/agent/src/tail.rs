//! The end of a path, reduced to what the next step depends on. Marks, model and prompt changes, summaries,
//! shell commands and extension messages are skipped.

use osier_tree::entry::Entry;
use osier_tree::projection::Lines;
use osier_tree::scan::Raw;
use osier_tree::{Kind, Place, Role, Seq, SessionTree, Why};
use serde_json::Value;

/// A tool call as an entry records it.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
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
    Nothing,
    /// A user message without a reply.
    Asked,
    /// The model returned to a checkpoint and left itself a note.
    Returned,
    /// Calls without a result, in call order.
    Calling(Vec<Call>),
    /// Calls without a result in a reply that broke off. They may be incomplete, so they never run.
    Broken(Why, Vec<Call>),
    /// Every call has its result.
    Answered,
    /// The reply is complete, or stopped for another reason.
    Said(Why),
}

/// The role of an entry at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Ask,
    Note,
    Reply,
    Result,
}

fn part(tree: &SessionTree, seq: Seq) -> Option<Part> {
    let head = tree.head(seq);
    match (head.kind, head.role) {
        (Kind::Backtrack, _) => Some(Part::Note),
        (Kind::Message, Role::User) => Some(Part::Ask),
        (Kind::Message, Role::Assistant) => Some(Part::Reply),
        (Kind::Message, Role::ToolResult) => Some(Part::Result),
        _ => None,
    }
}

/// The entries whose lines `Tail::from_path` needs: the last reply, if it calls tools, and its results.
pub fn tail_entries(tree: &SessionTree, at: Place) -> Vec<Seq> {
    let mut entries: Vec<Seq> = Vec::new();
    for seq in tree.heads().up(at) {
        match part(tree, seq) {
            Some(Part::Result) => entries.push(seq),
            Some(Part::Reply) => {
                entries.extend(Some(seq).filter(|seq| tree.head(*seq).calls > 0));
                break;
            }
            Some(Part::Ask | Part::Note) => break,
            None => {}
        }
    }
    entries.reverse();
    entries
}

/// The reply that the path ends with, not counting its tool results.
pub fn last_reply(tree: &SessionTree, at: Place) -> Option<Seq> {
    let mut parts = tree.heads().up(at).filter_map(|seq| part(tree, seq).map(|part| (seq, part)));
    parts.find(|(_, part)| *part != Part::Result).filter(|(_, part)| *part == Part::Reply).map(|(seq, _)| seq)
}

impl Tail {
    /// Whether the turn is unfinished, so that the path can be resumed.
    pub fn is_open(&self) -> bool {
        match self {
            Tail::Nothing => false,
            Tail::Said(why) => matches!(why, Why::Error | Why::Aborted),
            Tail::Asked | Tail::Returned | Tail::Calling(_) | Tail::Broken(..) | Tail::Answered => true,
        }
    }

    /// Reads the tail of the path to `at`. `lines` must contain the lines of [`tail_entries`].
    pub fn of(tree: &SessionTree, at: Place, lines: &impl Lines) -> Tail {
        let mut parts = tree.heads().up(at).filter_map(|seq| part(tree, seq));
        let Some(last) = parts.next() else { return Tail::Nothing };
        let Some(reply) = last_reply(tree, at) else {
            return match last {
                // Tool results without a reply still need an answer.
                Part::Result => Tail::Answered,
                Part::Note => Tail::Returned,
                Part::Ask | Part::Reply => Tail::Asked,
            };
        };
        let why = tree.head(reply).why;
        let broken = matches!(why, Why::Error | Why::Aborted | Why::Length);
        match unanswered(&tail_entries(tree, at), lines) {
            calls if calls.is_empty() && (broken || tree.head(reply).calls == 0) => Tail::Said(why),
            calls if calls.is_empty() => Tail::Answered,
            calls if broken => Tail::Broken(why, calls),
            calls => Tail::Calling(calls),
        }
    }
}

fn unanswered(entries: &[Seq], lines: &impl Lines) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for entry in entries.iter().filter_map(|seq| lines.entry(*seq)) {
        match entry.role {
            Role::Assistant => calls = calls_of(&entry),
            _ => {
                let answered =
                    entry.message.and_then(|message| message.get("toolCallId")).and_then(Raw::text);
                calls.retain(|call| Some(call.id.as_str()) != answered.as_deref());
            }
        }
    }
    calls
}

/// The tool calls of a reply.
pub fn calls_of(entry: &Entry<'_>) -> Vec<Call> {
    let mut calls = Vec::new();
    let Some(content) = entry.message.and_then(|message| message.get("content")) else { return calls };
    content.each_item(|block| {
        let text = |key| block.get(key).and_then(Raw::text).unwrap_or_default().into_owned();
        if text("type") == "toolCall" {
            let arguments = block.get("arguments").and_then(|raw| serde_json::from_slice(raw.bytes()).ok());
            calls.push(Call {
                id: text("id"),
                name: text("name"),
                arguments: arguments.unwrap_or_default(),
                invalid: block.get("invalidArguments").and_then(Raw::text).map(String::from),
            });
        }
    });
    calls
}
