//! The end of a path, as far as the next step depends on it.

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
}

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub enum Tail {
    /// Nothing was said yet.
    Nothing,
    /// Somebody spoke to the model: the user, or a note that it left for itself.
    Asked,
    /// Calls that have no result yet, in the order in which they were made.
    Calling(Vec<Call>),
    /// All calls have their results.
    Answered,
    /// The model has said what it had to say, or stopped for another reason.
    Said(Why),
    /// Something was added that asks for nothing: a summary, a command of the user's, a message of an extension.
    Quiet,
}

/// The entries whose lines [`Tail::of`] needs: the last that reaches a context and, behind the last reply that calls tools,
/// everything up to it.
pub fn tail_entries(tree: &SessionTree, at: Place) -> Vec<Seq> {
    let mut entries: Vec<Seq> = Vec::new();
    for seq in tree.heads().up(at) {
        let head = tree.head(seq);
        match (head.kind, head.role) {
            (Kind::Message, Role::ToolResult) => entries.push(seq),
            (Kind::Message, Role::Assistant) => {
                entries.push(seq);
                break;
            }
            // Between a call and its results others may have written marks; anything that is said ends the search.
            (kind, _) if kind.reaches_context() => break,
            _ => {}
        }
    }
    entries.reverse();
    entries
}

impl Tail {
    /// The tail of the path to `at`; `lines` has those of [`tail_entries`].
    pub fn of(tree: &SessionTree, at: Place, lines: &impl Lines) -> Tail {
        let Some(anchor) = tree.heads().anchor(at) else { return Tail::Nothing };
        let head = tree.head(anchor);
        match (head.kind, head.role) {
            (Kind::Message, Role::User) | (Kind::Backtrack, _) => Tail::Asked,
            (Kind::Message, Role::Assistant) if head.calls == 0 => Tail::Said(head.why),
            (Kind::Message, Role::Assistant | Role::ToolResult) => {
                let open = unanswered(&tail_entries(tree, at), lines);
                if open.is_empty() { Tail::Answered } else { Tail::Calling(open) }
            }
            _ => Tail::Quiet,
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
            calls.push(Call { id: text("id"), name: text("name"), arguments: arguments.unwrap_or_default() });
        }
    });
    calls
}
