//! One line of a log: the kind of its entry, and the few fields that the fold needs.
//!
//! Parsing borrows from the line and never replaces it: the original bytes are stored, copied and sent.

use std::borrow::Cow;

pub use crate::kind::{EntryKind, EntryReason, MessageRole, flag};
use crate::scan::{NotJson, RawJson, Scanner};
use crate::time::{self, Millis};

/// A parsed line of a log.
#[derive(Debug)]
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
    /// The offset of the message if it has content and is the last member of the line (the usual case); otherwise 0.
    pub message_offset: u16,
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
    message: Option<RawJson<'a>>,
    message_fields: MessageFields<'a>,
    flags: u8,
}

/// The fields of a message that the fold needs.
#[derive(Default)]
struct MessageFields<'a> {
    role: Option<Cow<'a, str>>,
    stop_reason: Option<Cow<'a, str>>,
    content: ContentFields,
}

#[derive(Default)]
struct ContentFields {
    present: bool,
    has_text: bool,
    calls: u8,
}

impl<'a> EntryFields<'a> {
    fn scan(&mut self, scanner: &mut Scanner<'a>) -> Result<(), NotJson> {
        scanner.object(|scanner, key| {
            match key {
                b"message" => return self.scan_message(scanner),
                b"type" => self.kind = scanner.value()?.text(),
                b"id" => self.id = scanner.value()?.text(),
                b"parentId" => self.parent = scanner.value()?.text(),
                b"timestamp" => self.time = parse_time(scanner.value()?),
                b"customType" => self.custom_type = scanner.value()?.text(),
                b"targetId" => self.target = scanner.value()?.text(),
                b"firstKeptEntryId" => self.first_kept = scanner.value()?.text(),
                b"data" => self.data = Some(scanner.value()?),
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
                b"role" => message_fields.role = scanner.value()?.text(),
                b"content" => message_fields.content = scan_content(scanner)?,
                b"stopReason" => message_fields.stop_reason = scanner.value()?.text(),
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

fn scan_content(scanner: &mut Scanner<'_>) -> Result<ContentFields, NotJson> {
    let mut content = ContentFields { present: true, ..ContentFields::default() };
    if !scanner.at_array() {
        let value = scanner.value()?;
        content.present = !value.is_null();
        content.has_text = has_visible_text(value);
        return Ok(content);
    }
    scanner.array(|scanner| {
        if !scanner.at_object() {
            return scanner.value().map(drop);
        }
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
            Some(b"\"toolCall\"") => content.calls = content.calls.saturating_add(1),
            Some(b"\"text\"") => content.has_text |= text.is_some_and(has_visible_text),
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
