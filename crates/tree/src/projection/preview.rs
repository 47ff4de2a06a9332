//! Previews: one line of text per entry, for tree views, lists and search results. Labels are not included.
//!
//! Truncating to a width and coloring are up to the caller.

mod call;
mod entry_text;
mod log_previews;
mod sanitize;
mod without_markdown;

use std::borrow::Cow;
use std::fmt::{Debug, Write};

use crate::entry::{Entry, EntryKind, EntryReason, MessageRole};
use crate::graft::{ParsedGraft, parse_graft};
use crate::heads::Seq;
use crate::scan::RawJson;
use crate::summary::summary_text;

pub use call::RawToolCall;
pub(crate) use call::truncate_line;
use entry_text::content_line;
pub(crate) use entry_text::{content_text, count_images, each_block, field, message_field};
pub use entry_text::{display_text, editor_text, full_text, shown_text, tool_calls};
pub use log_previews::Previews;
pub use sanitize::{is_unsafe_char, one_line, sanitize};
pub use without_markdown::without_markdown;

/// The previews of all entries of a log.
pub trait EntryPreviews: Debug + Send + Sync {
    /// The preview of an entry; empty if there is none.
    fn get(&self, seq: Seq) -> Cow<'_, str>;
}

impl EntryPreviews for Vec<String> {
    fn get(&self, seq: Seq) -> Cow<'_, str> {
        Cow::Borrowed(self.as_slice().get(seq.index()).map_or("", String::as_str))
    }
}

/// The maximum number of characters of an entry's text in a preview.
const MAX_CHARS: usize = 200;

/// The preview of an entry. `call_of` finds the call of a tool result by the call's id.
pub fn preview<'c>(entry: &Entry<'_>, call_of: impl Fn(&str) -> Option<RawToolCall<'c>>) -> String {
    preview_line(entry, &|id| call_of(id).map(|call| call.line(None)))
}

fn preview_line(entry: &Entry<'_>, call_line: &dyn Fn(&str) -> Option<String>) -> String {
    let word = |key| field(entry, key).and_then(RawJson::text).map(|text| one_line(&text, MAX_CHARS));
    let words = |key| word(key).unwrap_or_default();
    match entry.kind {
        EntryKind::Message => message_preview(entry, call_line),
        EntryKind::ModelChange => format!("[model: {}]", words("modelId")),
        EntryKind::ThinkingLevelChange => format!("[thinking: {}]", words("thinkingLevel")),
        EntryKind::Compaction => match field(entry, "tokensBefore").and_then(RawJson::number) {
            Some(tokens) => format!("[compaction: {}k tokens]", (tokens / 1000.0).round()),
            None => "[compaction]".to_owned(),
        },
        EntryKind::BranchSummary => {
            let text = field(entry, "summary").and_then(RawJson::text).unwrap_or_default();
            match parse_graft(&text) {
                Some(ParsedGraft { tip, conclusion }) => {
                    format!("[graft from {}]: {}", one_line(tip, 80), one_line(conclusion, MAX_CHARS))
                }
                None => format!("[branch summary]: {}", one_line(&summary_text(&text), MAX_CHARS)),
            }
        }
        EntryKind::Custom => format!("[custom: {}]", words("customType")),
        EntryKind::CustomMessage => {
            format!("[{}]: {}", words("customType"), one_line(&full_text(entry), MAX_CHARS))
        }
        EntryKind::Label => format!("[label: {}]", word("label").unwrap_or_else(|| "(cleared)".to_owned())),
        EntryKind::SessionInfo => {
            format!(
                "[title: {}]",
                word("name").filter(|name| !name.is_empty()).unwrap_or_else(|| "empty".to_owned())
            )
        }
        EntryKind::ContextEdit => {
            let omits = field(entry, "replacement").is_none_or(RawJson::is_null);
            format!("[context {}: {}]", if omits { "omit" } else { "replace" }, words("targetId"))
        }
        EntryKind::Usage => format!("[usage: {}]", words("kind")),
        EntryKind::Unknown => format!("[{}]", word("type").unwrap_or_else(|| "unknown".to_owned())),
        _ => osier_kind_preview(entry),
    }
}

fn message_preview(entry: &Entry<'_>, call_line: &dyn Fn(&str) -> Option<String>) -> String {
    let value = |key| entry.message.and_then(|message| message.get(key));
    let words = |key| value(key).and_then(RawJson::text).map(|text| one_line(&text, MAX_CHARS));
    match entry.role {
        MessageRole::User => user_preview(entry),
        MessageRole::Assistant => {
            let text = content_line(&entry.message_parts, MAX_CHARS);
            if !text.is_empty() {
                return format!("assistant: \"{text}\"");
            }
            match words("errorMessage").filter(|error| !error.is_empty()) {
                _ if entry.reason == EntryReason::Aborted => "assistant: (aborted)".to_owned(),
                Some(error) => format!("assistant: {}", one_line(&error, 80)),
                None => "assistant: (no content)".to_owned(),
            }
        }
        MessageRole::ToolResult => {
            let call = entry.message_parts.tool_call_id.and_then(RawJson::text).and_then(|id| call_line(&id));
            call.unwrap_or_else(|| format!("[{}]", words("toolName").unwrap_or_else(|| "tool".to_owned())))
        }
        MessageRole::BashExecution => format!("[bash]: {}", words("command").unwrap_or_default()),
        _ => format!("[{}]", words("role").unwrap_or_else(|| "message".to_owned())),
    }
}

fn user_preview(entry: &Entry<'_>) -> String {
    let content = entry.message_parts.content;
    let text = match display_text(entry) {
        Some(shown) => one_line(&shown, MAX_CHARS),
        None => content_line(&entry.message_parts, MAX_CHARS),
    };
    if !text.is_empty() {
        return format!("user: \"{text}\"");
    }
    match count_images(content) {
        0 => "user: \"\"".to_owned(),
        1 => "user: [image]".to_owned(),
        images => format!("user: [{images} images]"),
    }
}

/// The kinds that only Osier writes.
fn osier_kind_preview(entry: &Entry<'_>) -> String {
    let part = |key: &str, inner: &str| field(entry, key).and_then(|part| part.get(inner));
    let words = |key, inner| part(key, inner).and_then(RawJson::text).map(|text| one_line(&text, MAX_CHARS));
    let count = |inner| {
        let mut count = 0;
        if let Some(list) = part("content", inner) {
            list.each_item(|_| count += 1);
        }
        count
    };
    let shown = |status: String| if status == "cancelled" { "canceled".to_owned() } else { status };
    let status = || shown(words("content", "status").unwrap_or_else(|| "running".to_owned()));
    match (entry.kind, entry.reason) {
        (EntryKind::Leaf, EntryReason::Undo) => "[moved: undo]".to_owned(),
        (EntryKind::Leaf, EntryReason::Redo) => "[moved: redo]".to_owned(),
        (EntryKind::Leaf, _) => "[moved]".to_owned(),
        (EntryKind::Backtrack, _) => {
            let number = part("details", "checkpointId").and_then(RawJson::number);
            let number = number.map_or_else(|| "?".to_owned(), |number| number.to_string());
            let note = words("details", "note").unwrap_or_else(|| one_line(&full_text(entry), MAX_CHARS));
            format!("[backtrack to checkpoint {number}: {note}]")
        }
        (EntryKind::Config, _) => format!("[config: {}]", config_preview(entry)),
        (EntryKind::DeleteBranch, _) => "[deleted branch]".to_owned(),
        (EntryKind::RestoreBranch, _) => "[restored branch]".to_owned(),
        (EntryKind::EntryUpdate, _) => {
            format!("[update: {}]", words("data", "status").map(shown).unwrap_or_default())
        }
        (EntryKind::ExploreTry, _) => {
            let number = |key| part("data", key).and_then(RawJson::number).map_or(0, |number| number as u64);
            let model = words("data", "model").map(|model| format!(", {model}")).unwrap_or_default();
            format!("[try {} of {}{model}]", number("try"), number("tries"))
        }
        (EntryKind::SubagentBatch, _) => match count("tasks") {
            1 => format!("[subagents: 1 task, {}]", status()),
            tasks => format!("[subagents: {tasks} tasks, {}]", status()),
        },
        (EntryKind::SubagentResult, _) => match count("results") {
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

fn config_preview(entry: &Entry<'_>) -> String {
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
    one_line(&text, MAX_CHARS)
}

/// The text to search in the tree: the name of the kind, and the beginning of the text. A tool result is shown as its call,
/// so callers should add its preview.
pub fn search_text(entry: &Entry<'_>) -> String {
    let word = |key| message_field(entry, key).and_then(RawJson::text).unwrap_or_default().into_owned();
    let beginning = |text: &str| one_line(text, MAX_CHARS);
    match entry.kind {
        EntryKind::Message => [word("role"), word("toolName"), beginning(&shown_text(entry))].join(" "),
        EntryKind::CustomMessage => [word("customType"), beginning(&full_text(entry))].join(" "),
        EntryKind::Backtrack => preview_line(entry, &|_| None),
        EntryKind::Compaction => "compaction".to_owned(),
        EntryKind::BranchSummary => format!("branch summary {}", word("summary")),
        EntryKind::SessionInfo => format!("title {}", word("name")),
        EntryKind::ModelChange => format!("model {}", word("modelId")),
        EntryKind::ThinkingLevelChange => format!("thinking {}", word("thinkingLevel")),
        EntryKind::Custom => format!("custom {}", word("customType")),
        EntryKind::Label => format!("label {}", word("label")),
        EntryKind::ContextEdit => preview_line(entry, &|_| None).replacen("context", "context edit", 1),
        _ => preview_line(entry, &|_| None),
    }
}

/// A name, path or id on one line: control characters and line breaks become U+FFFD, spaces stay.
pub fn sanitize_line(text: &str) -> String {
    sanitize(text).replace(['\n', '\t'], "\u{fffd}")
}

/// A preview with `~` for the user's home folder.
pub fn shorten_home<'a>(text: &'a str, home: Option<&str>) -> Cow<'a, str> {
    let home = home.filter(|home| home.len() > 1 && text.starts_with('['));
    let position = home.and_then(|home| Some((text.find(home)?, home.len())));
    match position.map(|(start, len)| (&text[..start], &text[start + len..])) {
        Some((before, behind)) if behind.starts_with(['/', ']', ' ', ':']) => {
            Cow::Owned(format!("{before}~{behind}"))
        }
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_folder_is_shortened_only_as_a_whole_path_component() {
        let home = Some("/home/dev");
        assert_eq!(shorten_home("[read: /home/dev/a.rs:1-9]", home), "[read: ~/a.rs:1-9]");
        assert_eq!(shorten_home("[ls: /home/dev]", home), "[ls: ~]");
        assert_eq!(shorten_home("[ls: /home/device]", home), "[ls: /home/device]");
        assert_eq!(shorten_home("user: \"/home/dev/a\"", home), "user: \"/home/dev/a\"");
        assert_eq!(shorten_home("[ls: /]", Some("/")), "[ls: /]");
    }
}
