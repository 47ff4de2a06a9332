//! The context: the messages for the model, exactly as pi's `buildSessionContext` returns them.
//!
//! Messages are slices of the stored lines wherever possible, without parsing and reserializing. They are emitted one by
//! one, so the context of a large session is never in memory as a whole.

use super::preview::{content_text, count_images};
use crate::entry::{Entry, EntryKind, MessageRole, flag};
use crate::scan::{RawJson, write_json_string};

/// Emits the messages of one entry: none, one, or two for a compaction with a system message. `edit` is the last
/// `context_edit` that targets it.
pub fn emit_messages(entry: &Entry<'_>, edit: Option<&Entry<'_>>, emit: &mut dyn FnMut(&[u8])) {
    let replacement = edit.map(|edit| field(edit, "replacement"));
    match replacement {
        None => emit_unedited(entry, emit),
        // The edit is malformed; pi never writes one like this.
        Some(None) => emit_unedited(entry, emit),
        Some(Some(replacement)) if replacement.is_null() => {}
        Some(Some(replacement)) => {
            emit_unedited(entry, &mut |message| emit(&with_replaced_content(message, replacement)));
        }
    }
}

/// The text of an entry as the model gets it, and the number of its images.
pub(crate) fn text_and_images(entry: &Entry<'_>, edit: Option<&Entry<'_>>) -> (String, usize) {
    let mut result = (String::new(), 0);
    emit_messages(entry, edit, &mut |message| {
        let content = RawJson::parse(message).ok().and_then(|message| message.get("content"));
        result = (content_text(content, "\n").trim().to_owned(), count_images(content));
    });
    result
}

fn emit_unedited(entry: &Entry<'_>, emit: &mut dyn FnMut(&[u8])) {
    match entry.kind {
        EntryKind::Message => {
            let Some(message) = entry.message else { return };
            match empty_content(entry) {
                Some(content) => emit(&with_field(message, "content", content)),
                None => emit(message.bytes()),
            }
        }
        EntryKind::CustomMessage | EntryKind::Backtrack => emit(&custom_message(entry)),
        EntryKind::BranchSummary => {
            if let Some(summary) =
                field(entry, "summary").filter(|summary| summary.bytes() != b"\"\"" && !summary.is_null())
            {
                emit(&build_message(
                    "branchSummary",
                    &[("summary", Some(summary)), ("fromId", field(entry, "fromId"))],
                    entry,
                ));
            }
        }
        EntryKind::Compaction => {
            if let Some(system) = field(entry, "systemMessage").filter(|system| system.is_object()) {
                emit(system.bytes());
            }
            let fields =
                [("summary", field(entry, "summary")), ("tokensBefore", field(entry, "tokensBefore"))];
            emit(&build_message("compactionSummary", &fields, entry));
        }
        _ => {}
    }
}

/// The replacement for content that is null or missing.
fn empty_content(entry: &Entry<'_>) -> Option<&'static [u8]> {
    match entry.role {
        _ if entry.flags & flag::NO_CONTENT == 0 => None,
        MessageRole::User | MessageRole::Assistant | MessageRole::ToolResult => Some(b"[]"),
        MessageRole::System => Some(b"\"\""),
        _ => None,
    }
}

fn custom_message(entry: &Entry<'_>) -> Vec<u8> {
    let content = field(entry, "content").filter(|content| !content.is_null());
    let empty = RawJson::parse(b"[]").ok();
    let fields = [
        ("customType", field(entry, "customType")),
        ("content", content.or(empty)),
        ("display", field(entry, "display")),
        ("details", field(entry, "details")),
    ];
    build_message("custom", &fields, entry)
}

fn field<'a>(entry: &Entry<'a>, key: &str) -> Option<RawJson<'a>> {
    entry.get(key)
}

/// Builds a message from fields of its entry. Missing fields are omitted.
fn build_message(role: &str, fields: &[(&str, Option<RawJson<'_>>)], entry: &Entry<'_>) -> Vec<u8> {
    let mut out = format!(r#"{{"role":"{role}""#).into_bytes();
    for (key, value) in fields {
        if let Some(value) = value {
            out.extend_from_slice(format!(r#","{key}":"#).as_bytes());
            out.extend_from_slice(value.bytes());
        }
    }
    let time = entry.time.map_or_else(|| "null".to_owned(), |time| time.to_string());
    out.extend_from_slice(format!(r#","timestamp":{time}}}"#).as_bytes());
    out
}

/// A message with its content replaced. Other roles than these cannot be edited.
fn with_replaced_content(message: &[u8], replacement: RawJson<'_>) -> Vec<u8> {
    let Ok(raw) = RawJson::parse(message) else { return message.to_vec() };
    let role = raw
        .get("role")
        .and_then(RawJson::text)
        .map_or(MessageRole::Unknown, |role| MessageRole::parse(&role));
    let Some(content) = replacement.get("content") else { return message.to_vec() };
    match role {
        MessageRole::Assistant | MessageRole::ToolResult if content.is_string() => {
            let block = [br#"[{"type":"text","text":"#, content.bytes(), b"}]"].concat();
            with_field(raw, "content", &block)
        }
        MessageRole::User | MessageRole::Assistant | MessageRole::ToolResult | MessageRole::Custom => {
            with_field(raw, "content", content.bytes())
        }
        _ => message.to_vec(),
    }
}

/// A copy of an object with `key` set to `value`: replaced in place, or added at the end.
pub fn with_field(object: RawJson<'_>, key: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(object.bytes().len() + value.len() + key.len() + 4);
    let mut done = false;
    object.each_field(|name, old| {
        out.push(if out.is_empty() { b'{' } else { b',' });
        write_json_string(name, &mut out);
        out.push(b':');
        out.extend_from_slice(if name == key { value } else { old.bytes() });
        done |= name == key;
    });
    if !done {
        out.push(if out.is_empty() { b'{' } else { b',' });
        write_json_string(key, &mut out);
        out.push(b':');
        out.extend_from_slice(value);
    }
    out.push(b'}');
    out
}

/// The `(provider, model id)` of an entry, as JSON values.
pub fn model_fields<'a>(entry: &Entry<'a>) -> Option<(RawJson<'a>, RawJson<'a>)> {
    match entry.message {
        Some(message) => Some((message.get("provider")?, message.get("model")?)),
        None => Some((field(entry, "provider")?, field(entry, "modelId")?)),
    }
}

/// The thinking level that an entry sets.
pub fn thinking_level<'a>(entry: &Entry<'a>) -> Option<RawJson<'a>> {
    field(entry, "thinkingLevel")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::parse_entry;

    fn seen(line: &str, edit: Option<&str>) -> Vec<String> {
        let mut seen = Vec::new();
        let edit = edit
            .map(|edit| format!(r#"{{"type":"context_edit","id":"e","targetId":"x","replacement":{edit}}}"#));
        let edit = edit.as_deref().map(|edit| parse_entry(edit.as_bytes()).unwrap());
        emit_messages(&parse_entry(line.as_bytes()).unwrap(), edit.as_ref(), &mut |message| {
            seen.push(String::from_utf8(message.to_vec()).unwrap());
        });
        seen
    }

    #[test]
    fn a_stored_message_is_copied_byte_for_byte() {
        let message = r#"{"role":"user", "content":"hé\u00e9","n":1.0,"x":{"y":[]}}"#;
        assert_eq!(seen(&format!(r#"{{"type":"message","id":"1","message":{message}}}"#), None), [message]);
    }

    #[test]
    fn missing_content_becomes_empty() {
        let of = |role: &str| {
            seen(
                &format!(
                    r#"{{"type":"message","id":"1","message":{{"role":"{role}","content":null,"a":1}}}}"#
                ),
                None,
            )
        };
        assert_eq!(of("user"), [r#"{"role":"user","content":[],"a":1}"#]);
        assert_eq!(of("system"), [r#"{"role":"system","content":"","a":1}"#]);
        assert_eq!(of("odd"), [r#"{"role":"odd","content":null,"a":1}"#]);
    }

    #[test]
    fn an_edit_omits_or_replaces() {
        let line =
            r#"{"type":"message","id":"1","message":{"role":"toolResult","content":[1],"isError":false}}"#;
        assert_eq!(seen(line, Some("null")), [] as [&str; 0]);
        assert_eq!(
            seen(line, Some(r#"{"content":"short"}"#)),
            [r#"{"role":"toolResult","content":[{"type":"text","text":"short"}],"isError":false}"#]
        );
    }

    #[test]
    fn summaries_and_custom_messages_are_built_from_their_entries() {
        let time = r#""timestamp":"2026-01-02T03:04:05.678Z""#;
        assert_eq!(
            seen(&format!(r#"{{"type":"branch_summary","id":"1",{time},"summary":"s","fromId":"f"}}"#), None),
            [r#"{"role":"branchSummary","summary":"s","fromId":"f","timestamp":1767323045678}"#]
        );
        assert_eq!(
            seen(&format!(r#"{{"type":"branch_summary","id":"1",{time},"summary":""}}"#), None),
            [] as [&str; 0]
        );
        assert_eq!(
            seen(
                &format!(
                    r#"{{"type":"compaction","id":"1",{time},"summary":"s","tokensBefore":9,"systemMessage":{{"role":"system"}}}}"#
                ),
                None
            ),
            [
                r#"{"role":"system"}"#,
                r#"{"role":"compactionSummary","summary":"s","tokensBefore":9,"timestamp":1767323045678}"#
            ]
        );
        assert_eq!(
            seen(
                &format!(
                    r#"{{"type":"custom_message","id":"1",{time},"customType":"c","content":null,"display":true}}"#
                ),
                None
            ),
            [r#"{"role":"custom","customType":"c","content":[],"display":true,"timestamp":1767323045678}"#]
        );
    }
}
