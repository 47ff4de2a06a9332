//! One line of a log: the kind of its entry, and the few fields that the fold needs.
//!
//! Parsing borrows from the line and never replaces it: the original bytes are stored, copied and sent.

use std::borrow::Cow;

pub use crate::kind::{EntryKind, EntryReason, MessageRole, flag};
use crate::scan::{ArrayEnd, NotJson, RawJson, Scanner};
use crate::time::{self, Millis};

/// A parsed line of a log.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all lines are entries")]
pub enum ParsedLine<'a> {
    Entry(Entry<'a>),
    /// `type: "session"`. Only the first one in a log is its header.
    Header(RawJson<'a>),
    Blank,
    Invalid(InvalidLine),
}

/// Why a line is not an entry. The line stays in the log and is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InvalidLine {
    /// Not JSON: a truncated line, or other text.
    NotJson,
    /// JSON, but not an object.
    NotAnObject,
    /// An object without a string `id`.
    NoId,
}

/// The fields of one entry, borrowed from its line.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    pub line: &'a [u8],
    pub kind: EntryKind,
    pub role: MessageRole,
    pub reason: EntryReason,
    pub flags: u8,
    /// The number of tool calls in the message, at most 255.
    pub calls: u8,
    pub id: Cow<'a, str>,
    pub parent: Option<Cow<'a, str>>,
    /// The entry that this one points at: the target of a label, an edit or a deletion, or the first entry that a compaction
    /// keeps.
    pub target: Option<Cow<'a, str>>,
    pub time: Option<Millis>,
    pub message: Option<RawJson<'a>>,
    /// Fields of the message that lists and trees need, so that they need not scan it again.
    pub message_parts: MessageParts<'a>,
    /// The offset of the message if it has content and is the last member of the line (the usual case); otherwise 0.
    pub message_offset: u16,
}

/// Fields of a message.
#[derive(Debug, Clone, Copy, Default)]
pub struct MessageParts<'a> {
    pub content: Option<RawJson<'a>>,
    pub usage: Option<RawJson<'a>>,
    pub timestamp: Option<RawJson<'a>>,
    pub tool_call_id: Option<RawJson<'a>>,
    /// The text to show instead of the content, of the message or else of its line.
    pub ui_content: Option<RawJson<'a>>,
    /// The text of the first block, if that is a text block.
    pub first_text: Option<RawJson<'a>>,
    /// The content from its first tool call on, which is the end of an array.
    pub(crate) calls: Option<ArrayEnd<'a>>,
}

impl<'a> Entry<'a> {
    /// The line as JSON.
    pub fn object(&self) -> RawJson<'a> {
        RawJson::from_valid(self.line)
    }

    /// A member of the line.
    pub fn get(&self, key: &str) -> Option<RawJson<'a>> {
        self.object().get(key)
    }
}

/// Parses a line, given without its line feed.
pub fn parse_line(line: &[u8]) -> ParsedLine<'_> {
    if line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r')) {
        return ParsedLine::Blank;
    }
    let mut scanner = Scanner::new(line);
    if !scanner.at_object() {
        return ParsedLine::Invalid(if RawJson::parse(line).is_ok() {
            InvalidLine::NotAnObject
        } else {
            InvalidLine::NotJson
        });
    }
    let mut facts = EntryFields::default();
    let read = facts.scan(&mut scanner).and_then(|()| scanner.expect_end());
    match read {
        Err(NotJson) => ParsedLine::Invalid(InvalidLine::NotJson),
        Ok(()) if facts.kind.as_deref() == Some("session") => match RawJson::parse(line) {
            Ok(header) => ParsedLine::Header(header),
            Err(NotJson) => ParsedLine::Invalid(InvalidLine::NotJson),
        },
        Ok(()) => facts.into_entry(line).map_or(ParsedLine::Invalid(InvalidLine::NoId), ParsedLine::Entry),
    }
}

/// Parses a line that must be an entry.
pub fn parse_entry(line: &[u8]) -> Result<Entry<'_>, InvalidLine> {
    match parse_line(line) {
        ParsedLine::Entry(entry) => Ok(entry),
        ParsedLine::Invalid(invalid_line) => Err(invalid_line),
        ParsedLine::Header(_) | ParsedLine::Blank => Err(InvalidLine::NoId),
    }
}

#[derive(Default)]
struct EntryFields<'a> {
    kind: Option<Cow<'a, str>>,
    id: Option<Cow<'a, str>>,
    parent: Option<Cow<'a, str>>,
    custom_type: Option<Cow<'a, str>>,
    target: Option<Cow<'a, str>>,
    first_kept: Option<Cow<'a, str>>,
    time: Option<Millis>,
    data: Option<RawJson<'a>>,
    ui_content: Option<RawJson<'a>>,
    message: Option<RawJson<'a>>,
    message_fields: MessageFields<'a>,
    flags: u8,
}

/// The fields of a message that the fold needs.
#[derive(Default)]
struct MessageFields<'a> {
    role: Option<Cow<'a, str>>,
    stop_reason: Option<Cow<'a, str>>,
    content: ContentFields<'a>,
    parts: MessageParts<'a>,
}

#[derive(Default)]
struct ContentFields<'a> {
    present: bool,
    has_text: bool,
    calls: u8,
    first_text: Option<RawJson<'a>>,
    calls_start: Option<usize>,
}

impl<'a> EntryFields<'a> {
    fn scan(&mut self, scanner: &mut Scanner<'a>) -> Result<(), NotJson> {
        scanner.object(|scanner, key| {
            match key {
                b"message" => return self.scan_message(scanner),
                b"type" => self.kind = scanner.text()?,
                b"id" => self.id = scanner.text()?,
                b"parentId" => self.parent = scanner.text()?,
                b"timestamp" => self.time = parse_time(scanner.value()?),
                b"customType" => self.custom_type = scanner.text()?,
                b"targetId" => self.target = scanner.text()?,
                b"firstKeptEntryId" => self.first_kept = scanner.text()?,
                b"data" => self.data = Some(scanner.value()?),
                b"uiContent" => self.ui_content = Some(scanner.value()?),
                b"display" => self.set_flag(flag::NOT_SHOWN, scanner.value()?.is_false()),
                b"inContext" => self.set_flag(flag::NOT_SENT, scanner.value()?.is_false()),
                _ => drop(scanner.value()?),
            }
            Ok(())
        })
    }

    fn set_flag(&mut self, flag: u8, on: bool) {
        self.flags = if on { self.flags | flag } else { self.flags & !flag };
    }

    fn scan_message(&mut self, scanner: &mut Scanner<'a>) -> Result<(), NotJson> {
        if !scanner.at_object() {
            scanner.value()?;
            self.message = None;
            return Ok(());
        }
        let start = scanner.value_start();
        let mut message_fields = MessageFields::default();
        scanner.object(|scanner, key| {
            match key {
                b"role" => message_fields.role = scanner.text()?,
                b"content" => {
                    let start = scanner.value_start();
                    message_fields.content = scan_content(scanner)?;
                    let content = &message_fields.content;
                    message_fields.parts.content = Some(scanner.raw_since(start));
                    message_fields.parts.first_text = content.first_text;
                    message_fields.parts.calls =
                        content.calls_start.map(|start| ArrayEnd(scanner.raw_since(start)));
                }
                b"usage" => message_fields.parts.usage = Some(scanner.value()?),
                b"timestamp" => message_fields.parts.timestamp = Some(scanner.value()?),
                b"toolCallId" => message_fields.parts.tool_call_id = Some(scanner.value()?),
                b"uiContent" => message_fields.parts.ui_content = Some(scanner.value()?),
                b"stopReason" => message_fields.stop_reason = scanner.text()?,
                _ => drop(scanner.value()?),
            }
            Ok(())
        })?;
        self.message_fields = message_fields;
        self.message = Some(scanner.raw_since(start));
        Ok(())
    }

    fn into_entry(self, line: &'a [u8]) -> Option<Entry<'a>> {
        let kind =
            EntryKind::parse(self.kind.as_deref().unwrap_or(""), self.custom_type.as_deref().unwrap_or(""));
        let is_message = kind == EntryKind::Message && self.message.is_some();
        let role = match is_message {
            true => MessageRole::parse(self.message_fields.role.as_deref().unwrap_or("")),
            false => MessageRole::None,
        };
        let data = |key| self.data.and_then(|data| data.get(key)).and_then(RawJson::text);
        let (target, reason) = match kind {
            EntryKind::Compaction => (self.first_kept, EntryReason::None),
            EntryKind::Label | EntryKind::ContextEdit => (self.target, EntryReason::None),
            EntryKind::DeleteBranch | EntryKind::RestoreBranch | EntryKind::EntryUpdate => {
                (data("targetId"), EntryReason::None)
            }
            EntryKind::Leaf => (
                None,
                match data("why").as_deref() {
                    Some("undo") => EntryReason::Undo,
                    Some("redo") => EntryReason::Redo,
                    _ => EntryReason::Move,
                },
            ),
            EntryKind::Message => (
                None,
                self.message_fields
                    .stop_reason
                    .as_deref()
                    .map_or(EntryReason::None, EntryReason::from_stop_reason),
            ),
            _ => (None, EntryReason::None),
        };
        let mut flags = self.flags;
        if is_message && !self.message_fields.content.present {
            flags |= flag::NO_CONTENT;
        }
        if self.message_fields.content.has_text {
            flags |= flag::HAS_TEXT;
        }
        let mut message_parts = self.message.map(|_| self.message_fields.parts).unwrap_or_default();
        message_parts.ui_content = message_parts.ui_content.or(self.ui_content);
        let complete =
            self.message.filter(|_| kind == EntryKind::Message && self.message_fields.content.present);
        let body = complete.map_or(0, |message| last_member_offset(line, message));
        Some(Entry {
            line,
            message_offset: body,
            kind,
            role,
            reason,
            flags,
            calls: self.message_fields.content.calls,
            id: self.id?,
            parent: self.parent.filter(|parent| !parent.is_empty()),
            target,
            time: self.time,
            message_parts,
            message: self.message,
        })
    }
}

/// The message that begins at offset `body` and ends the line, without parsing it again. `None` if it is not there.
pub fn message_slice(line: &[u8], body: u16) -> Option<&[u8]> {
    let (before, rest) = line.split_at_checked(body as usize)?;
    let message = rest.strip_suffix(b"}")?;
    let is_message =
        before.ends_with(b"\"message\":") && message.starts_with(b"{") && message.ends_with(b"}");
    is_message.then_some(message)
}

/// The offset of `value` if it is the last member of the line; otherwise 0.
fn last_member_offset(line: &[u8], value: RawJson<'_>) -> u16 {
    let start = value.bytes().as_ptr() as usize - line.as_ptr() as usize;
    let is_last = start + value.bytes().len() + 1 == line.len();
    u16::try_from(start).ok().filter(|_| is_last).unwrap_or(0)
}

fn parse_time(value: RawJson<'_>) -> Option<Millis> {
    match value.text() {
        Some(text) => time::parse(&text),
        None => value.number().map(|millis| millis as Millis),
    }
}

fn scan_content<'a>(scanner: &mut Scanner<'a>) -> Result<ContentFields<'a>, NotJson> {
    let mut content = ContentFields { present: true, ..ContentFields::default() };
    let mut is_first = true;
    if !scanner.at_array() {
        let value = scanner.value()?;
        content.present = !value.is_null();
        content.has_text = has_visible_text(value);
        return Ok(content);
    }
    scanner.array(|scanner| {
        let is_first = std::mem::replace(&mut is_first, false);
        if !scanner.at_object() {
            return scanner.value().map(drop);
        }
        let start = scanner.value_start();
        let (mut kind, mut text) = (None, None);
        scanner.object(|scanner, key| {
            let value = scanner.value()?;
            match key {
                b"type" => kind = Some(value),
                b"text" => text = Some(value),
                _ => {}
            }
            Ok(())
        })?;
        match kind.map(RawJson::bytes) {
            Some(b"\"toolCall\"") => {
                content.calls = content.calls.saturating_add(1);
                content.calls_start.get_or_insert(start);
            }
            Some(b"\"text\"") => {
                content.has_text |= text.is_some_and(has_visible_text);
                content.first_text = content.first_text.or(text.filter(|_| is_first));
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(content)
}

/// Whether the value is a string with more than white space. Usually its first bytes decide.
fn has_visible_text(value: RawJson<'_>) -> bool {
    let [b'"', inner @ ..] = value.bytes() else { return false };
    let mut rest = inner;
    loop {
        rest = match rest {
            [b' ', rest @ ..] | [b'\\', b'n' | b't' | b'r', rest @ ..] => rest,
            [b'"', ..] => return false,
            [b'\\', ..] => break,
            [first, ..] if first.is_ascii_graphic() => return true,
            _ => break,
        };
    }
    value.text().is_some_and(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(line: &str) -> Entry<'_> {
        parse_entry(line.as_bytes()).unwrap()
    }

    #[test]
    fn message_has_role_stop_reason_and_tool_calls() {
        let line = r#"{"type":"message","id":"0a0a0a0a","parentId":"b","timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"assistant","content":[{"type":"text","text":" "},{"type":"toolCall","id":"x"},{"type":"toolCall"}],"stopReason":"toolUse"}}"#;
        let entry = entry(line);
        assert_eq!(
            (entry.kind, entry.role, entry.reason, entry.calls),
            (EntryKind::Message, MessageRole::Assistant, EntryReason::ToolUse, 2)
        );
        assert_eq!(
            (&*entry.id, entry.parent.as_deref(), entry.time),
            ("0a0a0a0a", Some("b"), Some(1_767_323_045_678))
        );
        assert_eq!(entry.flags, 0);
    }

    #[test]
    fn the_parts_of_a_message_are_its_last_fields() {
        let line = r#"{"id":"1","message":{"content":1,"usage":2,"timestamp":3,"toolCallId":"4","usage":5,"content":[ {"text":"}"} ]}}"#;
        let entry = entry(line);
        let message = entry.message.unwrap();
        let MessageParts { content, usage, timestamp, tool_call_id, .. } = entry.message_parts;
        for (key, part) in
            [("content", content), ("usage", usage), ("timestamp", timestamp), ("toolCallId", tool_call_id)]
        {
            assert!(part.is_some() && part == message.get(key), "{key}");
        }
        let none = parse_entry(br#"{"id":"1","message":{"content":1},"message":7}"#).unwrap();
        assert!(none.message.is_none() && none.message_parts.content.is_none());
    }

    #[test]
    fn the_first_text_and_the_tool_calls_are_found_in_the_content() {
        let parts = |content: &str| {
            let line = format!(r#"{{"id":"1","uiContent":"of the line","message":{{"content":{content}}}}}"#);
            let entry = parse_entry(line.as_bytes()).unwrap();
            let mut calls = Vec::new();
            let text = |value: RawJson<'_>| String::from_utf8_lossy(value.bytes()).into_owned();
            let MessageParts { first_text, calls: blocks, ui_content, .. } = entry.message_parts;
            blocks.into_iter().for_each(|blocks| blocks.each_item(|block| calls.push(text(block))));
            (first_text.map(text), calls, ui_content.map(text))
        };
        let of_line = || Some(r#""of the line""#.to_owned());
        let (text, call) = (r#"{"type":"text","text":"a"}"#, r#"{"type":"toolCall","id":"x"}"#);
        let first = || Some(r#""a""#.to_owned());
        assert_eq!(parts(&format!("[{text},{text}]")), (first(), vec![], of_line()));
        assert_eq!(
            parts(&format!("[ {text} , {call} , 7 ]")),
            (first(), vec![call.to_owned(), "7".to_owned()], of_line())
        );
        assert_eq!(
            parts(&format!("[{call},{text}]")),
            (None, vec![call.to_owned(), text.to_owned()], of_line())
        );
        assert_eq!(parts(r#""a""#), (None, vec![], of_line()));
        assert_eq!(parts(r#"[],"uiContent":"mine""#).2.as_deref(), Some(r#""mine""#));
        // The last of equal keys wins.
        assert_eq!(parts(&format!(r#"[{text},{call}],"content":[]"#)), (None, vec![], of_line()));
    }

    #[test]
    fn osier_kinds_are_recognized_by_custom_type() {
        let moved = entry(
            r#"{"type":"custom","id":"1","parentId":null,"customType":"osier.leaf","data":{"why":"undo"}}"#,
        );
        assert_eq!((moved.kind, moved.reason, moved.parent), (EntryKind::Leaf, EntryReason::Undo, None));
        assert_eq!(
            entry(r#"{"type":"custom_message","id":"1","customType":"osier.backtrack"}"#).kind,
            EntryKind::Backtrack
        );
        assert_eq!(
            entry(r#"{"type":"custom","id":"1","customType":"osier.backtrack"}"#).kind,
            EntryKind::Custom
        );
        let deleted =
            entry(r#"{"type":"custom","id":"1","customType":"osier.delete_branch","data":{"targetId":"7"}}"#);
        assert_eq!((deleted.kind, deleted.target.as_deref()), (EntryKind::DeleteBranch, Some("7")));
    }

    #[test]
    fn invalid_lines_report_the_reason() {
        let invalid_line = |line: &str| match parse_line(line.as_bytes()) {
            ParsedLine::Invalid(invalid_line) => invalid_line,
            other => panic!("{other:?}"),
        };
        assert_eq!(invalid_line("{\"type\":\"mess"), InvalidLine::NotJson);
        assert_eq!(invalid_line("null"), InvalidLine::NotAnObject);
        assert_eq!(invalid_line("17"), InvalidLine::NotAnObject);
        assert_eq!(invalid_line(r#"{"type":"message","id":5}"#), InvalidLine::NoId);
        assert!(matches!(parse_line(b" \r"), ParsedLine::Blank));
        assert!(matches!(parse_line(br#"{"type":"session","id":"x"}"#), ParsedLine::Header(_)));
    }

    #[test]
    fn missing_content_is_distinguished_from_empty_content() {
        let flags = |content: &str| {
            entry(&format!(r#"{{"type":"message","id":"1","message":{{"role":"user"{content}}}}}"#)).flags
        };
        assert_eq!(flags(""), flag::NO_CONTENT);
        assert_eq!(flags(r#","content":null"#), flag::NO_CONTENT);
        assert_eq!(flags(r#","content":[]"#), 0);
        assert_eq!(flags(r#","content":"hi""#), flag::HAS_TEXT);
        assert_eq!(flags(r#","content":[{"text":"\n","type":"text"}]"#), 0);
        assert_eq!(flags(r#","content":[{"text":"\u0061","type":"text"}]"#), flag::HAS_TEXT);
        assert_eq!(flags(r#","content":" \n \t \r""#), 0);
        assert_eq!(flags(r#","content":" \n\u0020\u3000""#), 0);
        assert_eq!(flags(r#","content":" \n x""#), flag::HAS_TEXT);
        assert_eq!(flags(r#","content":" \n \"""#), flag::HAS_TEXT);
        assert_eq!(flags(r#","content":"　""#), 0);
    }
}
