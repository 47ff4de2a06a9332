//! The text of an entry.

use std::borrow::Cow;

use crate::entry::{Entry, EntryKind, MessageRole};
use crate::scan::RawJson;

use super::call::RawToolCall;

/// A field of an entry's line.
pub(crate) fn field<'a>(entry: &Entry<'a>, key: &str) -> Option<RawJson<'a>> {
    entry.get(key)
}

/// A field of the message, or of the entry itself if it has no message.
pub(crate) fn message_field<'a>(entry: &Entry<'a>, key: &str) -> Option<RawJson<'a>> {
    match entry.message {
        Some(message) => message.get(key),
        None => field(entry, key),
    }
}

/// The full text of an entry: its joined text blocks, a command or a summary. Not sanitized.
pub fn full_text(entry: &Entry<'_>) -> String {
    let text = |key| message_field(entry, key).and_then(RawJson::text).unwrap_or_default().into_owned();
    match (entry.kind, entry.role) {
        (EntryKind::Message, MessageRole::BashExecution) => text("command"),
        (EntryKind::Message, role) => {
            let content = content_text(message_field(entry, "content"), "");
            if content.is_empty() && role == MessageRole::Assistant { text("errorMessage") } else { content }
        }
        (EntryKind::CustomMessage | EntryKind::Backtrack, _) => {
            content_text(message_field(entry, "content"), "")
        }
        (EntryKind::Compaction | EntryKind::BranchSummary, _) => text("summary"),
        _ => String::new(),
    }
}

/// The text that goes to the editor when you choose an entry to edit and resend. Files attached before the text are not
/// included: the text names them, and they are attached again.
pub fn editor_text(entry: &Entry<'_>) -> Option<String> {
    let is_resendable = entry.role == MessageRole::User || entry.kind == EntryKind::CustomMessage;
    let full = is_resendable.then(|| full_text(entry))?;
    match display_text(entry).filter(|typed| full.starts_with("<file name=") && full.ends_with(&**typed)) {
        Some(typed) => Some(typed.into_owned()),
        None => Some(full),
    }
}

/// The text to show for a user message, if it differs from what the model gets.
pub fn display_text<'a>(entry: &Entry<'a>) -> Option<Cow<'a, str>> {
    if entry.role != MessageRole::User {
        return None;
    }
    let of_message = entry.message.and_then(|message| message.get("uiContent"));
    of_message.or_else(|| field(entry, "uiContent")).and_then(RawJson::text)
}

/// The text to show for an entry: the display text of a user message, otherwise the full text.
pub fn shown_text<'a>(entry: &Entry<'a>) -> Cow<'a, str> {
    display_text(entry).unwrap_or_else(|| full_text(entry).into())
}

/// The joined text blocks of a content, or the content itself if it is a string.
pub(crate) fn content_text(content: Option<RawJson<'_>>, between: &str) -> String {
    let Some(content) = content else { return String::new() };
    if let Some(text) = content.text() {
        return text.into_owned();
    }
    let mut joined = String::new();
    each_block(content, |kind, block| {
        if let ("text", Some(text)) = (kind, block.get("text").and_then(RawJson::text)) {
            if !joined.is_empty() && !text.is_empty() {
                joined.push_str(between);
            }
            joined.push_str(&text);
        }
    });
    joined
}

/// Calls `f` with the type of each block of a content and the block.
pub(crate) fn each_block<'a>(content: RawJson<'a>, mut f: impl FnMut(&str, RawJson<'a>)) {
    content.each_item(|block| {
        if let Some(kind) = block.get("type").and_then(RawJson::text) {
            f(&kind, block);
        }
    });
}

pub(crate) fn count_images(content: Option<RawJson<'_>>) -> usize {
    let mut images = 0;
    if let Some(content) = content {
        each_block(content, |kind, _| images += usize::from(kind == "image"));
    }
    images
}

/// The tool calls of an assistant message, with their ids.
pub fn tool_calls<'a>(entry: &Entry<'a>) -> Vec<(Cow<'a, str>, RawToolCall<'a>)> {
    let mut calls = Vec::new();
    if entry.calls > 0
        && let Some(content) = entry.message.and_then(|message| message.get("content"))
    {
        content.each_item(|block| calls.extend(RawToolCall::parse_block(block)));
    }
    calls
}
