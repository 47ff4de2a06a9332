//! The text of an entry.

use std::borrow::Cow;

use crate::entry::{Entry, EntryKind, MessageParts, MessageRole};
use crate::scan::RawJson;

use super::call::RawToolCall;
use super::sanitize::one_line;

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
    entry.message_parts.ui_content.and_then(RawJson::text)
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
        if kind == "text"
            && let Some(text) = block.get("text").and_then(RawJson::text)
        {
            if !joined.is_empty() && !text.is_empty() {
                joined.push_str(between);
            }
            joined.push_str(&text);
        }
    });
    joined
}

/// How many bytes of a text are decoded at first, to show one line of it, and then if that is not enough.
const LINE_SOURCE_BYTES: [usize; 2] = [320, 4096];

/// Like [`one_line`] of [`content_text`]. Decodes only the beginning of a long text.
pub(super) fn content_line(parts: &MessageParts<'_>, max: usize) -> String {
    let Some(content) = parts.content else { return String::new() };
    let first = if content.is_string() { Some(content) } else { parts.first_text };
    for bytes in LINE_SOURCE_BYTES {
        let Some(first) = first.filter(|first| first.bytes().len() > bytes) else { break };
        let beginning = first.text_beginning(bytes).unwrap_or_default();
        let mut beginning = &*beginning;
        // A color code at the end may be cut.
        if let Some(at) = beginning.rfind('\u{1b}').filter(|at| !beginning[*at..].contains('m')) {
            beginning = &beginning[..at];
        }
        let line = one_line(beginning, max);
        // If the line is full, the rest of the text cannot change it.
        if line.len() >= max && line.chars().count() >= max {
            return line;
        }
    }
    one_line(&content_text(Some(content), ""), max)
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
    if let Some(blocks) = entry.message_parts.calls {
        blocks.each_item(|block| calls.extend(RawToolCall::parse_block(block)));
    }
    calls
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entry::parse_entry;

    fn check(content: &serde_json::Value) {
        let line = serde_json::json!({ "type": "message", "id": "1", "message": { "content": content } });
        let line = line.to_string();
        let parts = parse_entry(line.as_bytes()).unwrap().message_parts;
        for max in [1, 40, 200] {
            let expected = one_line(&content_text(parts.content, ""), max);
            assert_eq!(content_line(&parts, max), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn the_line_of_a_long_text_is_that_of_the_whole_text(
            words in prop::collection::vec("( |\\n|\\\\|\"|é|光|\u{1b}\\[31m|[a-z]{1,9}){1,9}", 1..6),
            repeat in 1..200_usize,
        ) {
            let texts: Vec<String> = words.iter().map(|word| word.repeat(repeat)).collect();
            check(&serde_json::json!(texts[0]));
            let block = |text: &String| serde_json::json!({ "type": "text", "text": text });
            check(&texts.iter().map(block).collect());
        }
    }
}
