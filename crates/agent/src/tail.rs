//! The end of a path, as far as the next step depends on it. What neither asks nor answers is looked through: marks, changes
//! of model or prompt, summaries, commands of the user's, messages of extensions.

use osier_tree::entry::Entry;
use osier_tree::projection::Lines;
use osier_tree::scan::Raw;
use osier_tree::{Kind, Place, Role, Seq, SessionTree, Why};
use serde_json::Value;

/// A tool that an assistant called.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: Value,
    /// Why the arguments could not be read. Such a call is never run.
    pub invalid: Option<String>,
}

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub enum Tail {
    /// Nothing was said yet.
    Nothing,
    /// The user spoke to the model.
    Asked,
    /// The model returned to a checkpoint, and left itself a note.
    Returned,
    /// Calls that have no result yet, in the order in which they were made.
    Calling(Vec<Call>),
    /// Calls without a result in a reply that broke off: they may be half written, so nobody runs them.
    Broken(Why, Vec<Call>),
    /// All calls have their results.
    Answered,
    /// The model has said what it had to say, or stopped for another reason.
    Said(Why),
}

/// What an entry is to the next step.
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

/// The entries whose lines [`Tail::of`] needs: the last reply if it calls tools, and the results it has.
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

/// The reply that the path ends with, looked for behind its results.
pub fn last_reply(tree: &SessionTree, at: Place) -> Option<Seq> {
    let mut said = tree.heads().up(at).filter_map(|seq| part(tree, seq).map(|part| (seq, part)));
    said.find(|(_, part)| *part != Part::Result).filter(|(_, part)| *part == Part::Reply).map(|(seq, _)| seq)
}

impl Tail {
    /// Whether the turn did not come to its end, so that the path can be resumed.
    pub fn is_open(&self) -> bool {
        match self {
            Tail::Nothing => false,
            Tail::Said(why) => matches!(why, Why::Error | Why::Aborted),
            Tail::Asked | Tail::Returned | Tail::Calling(_) | Tail::Broken(..) | Tail::Answered => true,
        }
    }

    /// The tail of the path to `at`; `lines` has those of [`tail_entries`].
    pub fn of(tree: &SessionTree, at: Place, lines: &impl Lines) -> Tail {
        let mut said = tree.heads().up(at).filter_map(|seq| part(tree, seq));
        let Some(last) = said.next() else { return Tail::Nothing };
        let Some(reply) = last_reply(tree, at) else {
            return match last {
                // Results of no reply at all still want an answer.
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

/// The tools that a reply calls.
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
