//! Serializes a conversation as text for the summarizer, in a form that a model does not mistake for a conversation to
//! continue.
//!
//! Thinking, images, system prompts and content that is not sent to the model are omitted. Long tool results are truncated.

use std::borrow::Cow;
use std::fmt::Write;

use crate::entry::MessageRole;
use crate::projection::preview::{RawToolCall, each_block};
use crate::projection::request;
use crate::scan::{RawJson, write_json_string};
use crate::tokens;

/// The maximum length of a tool result, in UTF-16 units.
const MAX_RESULT_UNITS: usize = 2000;

/// Serializes one message of a context as paragraphs. Empty if the message has no text.
pub fn serialize_message(message: &[u8]) -> String {
    let Ok(raw) = RawJson::parse(message) else { return String::new() };
    let content = raw.get("content");
    match role_name(raw) {
        "user" | "custom" => paragraph("User", &join_text_blocks(content, "")),
        "assistant" => serialize_reply(content),
        "toolResult" => {
            paragraph("Tool result", &truncate_units(&join_text_blocks(content, ""), MAX_RESULT_UNITS))
        }
        "bashExecution" | "branchSummary" | "compactionSummary" => {
            let sent = request::parse_message(message).and_then(request::to_request_message);
            let text = sent.as_ref().and_then(|sent| sent["content"][0]["text"].as_str());
            paragraph("User", text.unwrap_or_default())
        }
        _ => String::new(),
    }
}

/// The role name of a message of a context.
pub(crate) fn role_name(message: RawJson<'_>) -> &'static str {
    let Some(role) = message.get("role").and_then(RawJson::text) else { return "" };
    match &*role {
        "branchSummary" => "branchSummary",
        "compactionSummary" => "compactionSummary",
        role => MessageRole::parse(role).name(),
    }
}

fn paragraph(speaker: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("[{speaker}]: {text}") }
}

fn serialize_reply(content: Option<RawJson<'_>>) -> String {
    let mut paragraphs = vec![paragraph("Assistant", &join_text_blocks(content, "\n"))];
    let mut calls = Vec::new();
    if let Some(content) = content {
        content.each_item(|block| {
            calls.extend(RawToolCall::parse_block(block).map(|(_, call)| call_text(&call)));
        });
    }
    paragraphs.push(paragraph("Assistant tool calls", &calls.join("; ")));
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs.join("\n\n")
}

fn call_text(call: &RawToolCall<'_>) -> String {
    let mut arguments = Vec::new();
    call.arguments.each_field(|key, value| arguments.push(format!("{key}={}", compact_json(value))));
    format!("{}({})", call.name, arguments.join(", "))
}

/// The text blocks of a content, joined.
fn join_text_blocks(content: Option<RawJson<'_>>, between: &str) -> String {
    let Some(content) = content else { return String::new() };
    if let Some(text) = content.text() {
        return text.into_owned();
    }
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    each_block(content, |kind, block| {
        if kind == "text" {
            texts.push(block.get("text").and_then(RawJson::text).unwrap_or_default());
        }
    });
    texts.join(between)
}

/// Truncates a text to a number of UTF-16 units and appends a notice.
pub(crate) fn truncate_units(text: &str, units: usize) -> Cow<'_, str> {
    let (head, left) = split_at_units(text, units);
    match tokens::utf16_len(left) {
        0 => Cow::Borrowed(head),
        cut => Cow::Owned(format!("{head}\n\n[... {cut} more characters truncated]")),
    }
}

/// Splits a text after `units` UTF-16 units, or one less to avoid splitting a character.
fn split_at_units(text: &str, units: usize) -> (&str, &str) {
    let mut seen = 0;
    let end = text.char_indices().find(|(_, ch)| {
        seen += ch.len_utf16();
        seen > units
    });
    text.split_at(end.map_or(text.len(), |(at, _)| at))
}

/// Formats a value like `JSON.stringify`, except that numbers are unchanged.
pub(crate) fn compact_json(value: RawJson<'_>) -> String {
    let mut out = String::with_capacity(value.bytes().len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.first() {
        let used = match byte {
            b'"' => {
                let end = string_len(rest);
                push_string(&rest[..end], &mut out);
                end
            }
            b' ' | b'\t' | b'\r' | b'\n' => 1,
            byte => {
                out.push(char::from(*byte));
                1
            }
        };
        rest = &rest[used..];
    }
    out
}

/// The length of the string at the start of `text`, including its quotes.
fn string_len(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// Writes a string with only the necessary escapes. A string with escaped surrogates is copied unchanged.
fn push_string(string: &[u8], out: &mut String) {
    let mut plain = Vec::new();
    match has_escaped_surrogate(string) {
        false => {
            write_json_string(&RawJson::from_valid(string).text().unwrap_or_default(), &mut plain);
            out.push_str(&String::from_utf8_lossy(&plain));
        }
        true => out.push_str(&String::from_utf8_lossy(string)),
    }
}

/// Whether a string contains escaped surrogates, single or in pairs.
fn has_escaped_surrogate(string: &[u8]) -> bool {
    string.windows(3).any(|part| matches!(part, [b'\\', b'u', b'd' | b'D']))
}

/// Serializes a conversation in parts, each small enough for one summarizer request.
#[derive(Debug)]
pub struct ConversationParts {
    parts: Vec<String>,
    /// In UTF-16 units.
    max_units: usize,
    used: usize,
}

impl ConversationParts {
    /// `budget` is the maximum size of a part in tokens; 0 means no limit.
    pub fn new(budget: u64) -> ConversationParts {
        let max_units = if budget == 0 {
            usize::MAX
        } else {
            usize::try_from(budget.saturating_mul(4)).unwrap_or(usize::MAX)
        };
        ConversationParts { parts: Vec::new(), max_units, used: 0 }
    }

    pub fn add_message(&mut self, message: &[u8]) {
        let text = serialize_message(message);
        let mut rest = &*text;
        while !rest.is_empty() {
            let (piece, left) = split_at_units(rest, self.max_units);
            self.push_paragraph(piece);
            rest = left;
        }
    }

    fn push_paragraph(&mut self, paragraph: &str) {
        let units = tokens::utf16_len(paragraph);
        match self.parts.last_mut().filter(|_| self.used + 2 + units <= self.max_units) {
            Some(part) => {
                write!(part, "\n\n{paragraph}").expect("writing to a String cannot fail");
                self.used += 2 + units;
            }
            None => {
                self.parts.push(paragraph.to_owned());
                self.used = units;
            }
        }
    }

    /// The parts, oldest first. Empty if there is no text.
    pub fn finish(self) -> Vec<String> {
        self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_without_spaces_and_needless_escapes() {
        let short = |text: &str| compact_json(RawJson::parse(text.as_bytes()).unwrap());
        assert_eq!(
            short(r#"{ "a" : [ 1 , "x y" ], "é\u0041\/\n":null }"#),
            r#"{"a":[1,"x y"],"éA/\n":null}"#
        );
        assert_eq!(short(r#""cut \ud83d""#), r#""cut \ud83d""#);
    }

    #[test]
    fn a_text_is_never_split_inside_a_character() {
        assert_eq!(split_at_units("aß🧵b", 2), ("aß", "🧵b"));
        assert_eq!(split_at_units("aß🧵b", 3), ("aß", "🧵b"));
        assert_eq!(split_at_units("aß🧵b", 4), ("aß🧵", "b"));
        assert_eq!(split_at_units("ab", 9), ("ab", ""));
    }
}
