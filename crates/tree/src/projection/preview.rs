//! Previews: one line of text per entry, for tree views, lists and search results. Labels are not included.
//!
//! Truncating to a width and coloring are up to the caller.

mod call;
mod inert;
mod many;
mod said;

use std::fmt::Write;

use crate::entry::{Entry, Kind, Role, Why};
use crate::graft::{Grafted, read_graft};
use crate::scan::Raw;
use crate::summary::own_words;

pub use call::Call;
pub use inert::{inert, is_live, one_line};
pub use many::Previews;
pub use said::{calls_of, display_text, editor_text, full_text, shown_text};
pub(crate) use said::{each_block, field, images_in, said_field, text_of};

/// The maximum number of characters of an entry's text in a preview.
const LENGTH: usize = 200;

/// The preview of an entry. `call_of` finds the call of a tool result by the call's id.
pub fn preview<'c>(entry: &Entry<'_>, call_of: impl Fn(&str) -> Option<Call<'c>>) -> String {
    line(entry, &|id| call_of(id).map(|call| call.line(None)))
}

fn line(entry: &Entry<'_>, call_line: &dyn Fn(&str) -> Option<String>) -> String {
    let word = |key| field(entry, key).and_then(Raw::text).map(|text| one_line(&text, LENGTH));
    let words = |key| word(key).unwrap_or_default();
    match entry.kind {
        Kind::Message => message(entry, call_line),
        Kind::ModelChange => format!("[model: {}]", words("modelId")),
        Kind::ThinkingLevelChange => format!("[thinking: {}]", words("thinkingLevel")),
        Kind::Compaction => match field(entry, "tokensBefore").and_then(Raw::number) {
            Some(tokens) => format!("[compaction: {}k tokens]", (tokens / 1000.0).round()),
            None => "[compaction]".to_owned(),
        },
        Kind::BranchSummary => {
            let text = field(entry, "summary").and_then(Raw::text).unwrap_or_default();
            match read_graft(&text) {
                Some(Grafted { tip, conclusion }) => {
                    format!("[graft from {}]: {}", one_line(tip, 80), one_line(conclusion, LENGTH))
                }
                None => format!("[branch summary]: {}", one_line(own_words(&text), LENGTH)),
            }
        }
        Kind::Custom => format!("[custom: {}]", words("customType")),
        Kind::CustomMessage => format!("[{}]: {}", words("customType"), one_line(&full_text(entry), LENGTH)),
        Kind::Label => format!("[label: {}]", word("label").unwrap_or_else(|| "(cleared)".to_owned())),
        Kind::SessionInfo => {
            format!(
                "[title: {}]",
                word("name").filter(|name| !name.is_empty()).unwrap_or_else(|| "empty".to_owned())
            )
        }
        Kind::ContextEdit => {
            let omits = field(entry, "replacement").is_none_or(Raw::is_null);
            format!("[context {}: {}]", if omits { "omit" } else { "replace" }, words("targetId"))
        }
        Kind::Usage => format!("[usage: {}]", words("kind")),
        Kind::Unknown => format!("[{}]", word("type").unwrap_or_else(|| "unknown".to_owned())),
        _ => own_kind(entry),
    }
}

fn message(entry: &Entry<'_>, call_line: &dyn Fn(&str) -> Option<String>) -> String {
    let value = |key| entry.message.and_then(|message| message.get(key));
    let words = |key| value(key).and_then(Raw::text).map(|text| one_line(&text, LENGTH));
    match entry.role {
        Role::User => user(entry),
        Role::Assistant => {
            let text = one_line(&text_of(value("content"), ""), LENGTH);
            match words("errorMessage").filter(|error| !error.is_empty()) {
                _ if !text.is_empty() => format!("assistant: \"{text}\""),
                _ if entry.why == Why::Aborted => "assistant: (aborted)".to_owned(),
                Some(error) => format!("assistant: {}", one_line(&error, 80)),
                None => "assistant: (no content)".to_owned(),
            }
        }
        Role::ToolResult => {
            let call = value("toolCallId").and_then(Raw::text).and_then(|id| call_line(&id));
            call.unwrap_or_else(|| format!("[{}]", words("toolName").unwrap_or_else(|| "tool".to_owned())))
        }
        Role::BashExecution => format!("[bash]: {}", words("command").unwrap_or_default()),
        _ => format!("[{}]", words("role").unwrap_or_else(|| "message".to_owned())),
    }
}

fn user(entry: &Entry<'_>) -> String {
    let content = entry.message.and_then(|message| message.get("content"));
    let text = one_line(&shown_text(entry), LENGTH);
    match images_in(content) {
        1 if text.is_empty() => "user: [image]".to_owned(),
        images if images > 1 && text.is_empty() => format!("user: [{images} images]"),
        _ => format!("user: \"{text}\""),
    }
}

/// The kinds that only Osier writes.
fn own_kind(entry: &Entry<'_>) -> String {
    let part = |key: &str, inner: &str| field(entry, key).and_then(|part| part.get(inner));
    let words = |key, inner| part(key, inner).and_then(Raw::text).map(|text| one_line(&text, LENGTH));
    let count = |inner| {
        let mut count = 0;
        if let Some(list) = part("content", inner) {
            list.each_item(|_| count += 1);
        }
        count
    };
    let status = || words("content", "status").unwrap_or_else(|| "running".to_owned());
    match (entry.kind, entry.why) {
        (Kind::Leaf, Why::Undo) => "[moved: undo]".to_owned(),
        (Kind::Leaf, Why::Redo) => "[moved: redo]".to_owned(),
        (Kind::Leaf, _) => "[moved]".to_owned(),
        (Kind::Backtrack, _) => {
            let number = part("details", "checkpointId").and_then(Raw::number);
            let number = number.map_or_else(|| "?".to_owned(), |number| number.to_string());
            let note = words("details", "note").unwrap_or_else(|| one_line(&full_text(entry), LENGTH));
            format!("[backtrack to checkpoint {number}: {note}]")
        }
        (Kind::Config, _) => format!("[config: {}]", settings(entry)),
        (Kind::DeleteBranch, _) => "[deleted branch]".to_owned(),
        (Kind::RestoreBranch, _) => "[restored branch]".to_owned(),
        (Kind::EntryUpdate, _) => format!("[update: {}]", words("data", "status").unwrap_or_default()),
        (Kind::SubagentBatch, _) => match count("tasks") {
            1 => format!("[subagents: 1 task, {}]", status()),
            tasks => format!("[subagents: {tasks} tasks, {}]", status()),
        },
        (Kind::SubagentResult, _) => match count("results") {
            1 => format!("[subagents: 1 result, {}]", status()),
            results => format!("[subagents: {results} results, {}]", status()),
        },
        (kind, _) => format!("[{}]", kind.name()),
    }
}

/// The preview of a sub-agent batch, with the status from the preview of its update.
pub fn updated_preview(batch: &str, update: &str) -> String {
    let status = update.strip_prefix("[update: ").and_then(|rest| rest.strip_suffix(']'));
    match (batch.split_once(", "), status) {
        (Some((tasks, _)), Some(status)) => format!("{tasks}, {status}]"),
        _ => batch.to_owned(),
    }
}

fn settings(entry: &Entry<'_>) -> String {
    let data = field(entry, "data");
    let mut text = String::new();
    let mut add = |what: std::fmt::Arguments<'_>| {
        let comma = if text.is_empty() { "" } else { ", " };
        write!(text, "{comma}{what}").expect("writing to a String cannot fail");
    };
    if let Some(set) = data.and_then(|data| data.get("set")) {
        set.each_field(|key, value| {
            let value = value.text().unwrap_or_else(|| String::from_utf8_lossy(value.bytes()));
            add(format_args!("{key}={value}"));
        });
    }
    if let Some(unset) = data.and_then(|data| data.get("unset")) {
        unset.each_item(|key| add(format_args!("{} unset", key.text().unwrap_or_default())));
    }
    one_line(&text, LENGTH)
}

/// The text to search in the tree: the name of the kind, and the beginning of the text. A tool result is shown as its call,
/// so callers should add its preview.
pub fn search_text(entry: &Entry<'_>) -> String {
    let word = |key| said_field(entry, key).and_then(Raw::text).unwrap_or_default().into_owned();
    let beginning = |text: &str| one_line(text, LENGTH);
    match entry.kind {
        Kind::Message => [word("role"), word("toolName"), beginning(&shown_text(entry))].join(" "),
        Kind::CustomMessage => [word("customType"), beginning(&full_text(entry))].join(" "),
        Kind::Backtrack => line(entry, &|_| None),
        Kind::Compaction => "compaction".to_owned(),
        Kind::BranchSummary => format!("branch summary {}", word("summary")),
        Kind::SessionInfo => format!("title {}", word("name")),
        Kind::ModelChange => format!("model {}", word("modelId")),
        Kind::ThinkingLevelChange => format!("thinking {}", word("thinkingLevel")),
        Kind::Custom => format!("custom {}", word("customType")),
        Kind::Label => format!("label {}", word("label")),
        Kind::ContextEdit => line(entry, &|_| None).replacen("context", "context edit", 1),
        _ => line(entry, &|_| None),
    }
}
