//! One line of a log: the kind of its entry, and the few fields that the fold needs.
//!
//! Parsing borrows from the line and never replaces it: the original bytes are stored, copied and sent.

use std::borrow::Cow;

pub use crate::kind::{Kind, Role, Why, flag};
use crate::scan::{NotJson, Raw, Scanner};
use crate::time::{self, Millis};

/// A parsed line of a log.
#[derive(Debug)]
pub enum Read<'a> {
    Entry(Entry<'a>),
    /// `type: "session"`. Only the first one in a log is its header.
    Header(Raw<'a>),
    Blank,
    Odd(Odd),
}

/// Why a line is not an entry. The line stays in the log and is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Odd {
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
    pub kind: Kind,
    pub role: Role,
    pub why: Why,
    pub flags: u8,
    /// The number of tool calls in the message, at most 255.
    pub calls: u8,
    pub id: Cow<'a, str>,
    pub parent: Option<Cow<'a, str>>,
    /// The entry that this one points at: the target of a label, an edit or a deletion, or the first entry that a compaction
    /// keeps.
    pub target: Option<Cow<'a, str>>,
    pub time: Option<Millis>,
    pub message: Option<Raw<'a>>,
    /// The offset of the message if it has content and is the last member of the line (the usual case); otherwise 0.
    pub body: u16,
}

impl<'a> Entry<'a> {
    /// The line as JSON.
    pub fn object(&self) -> Raw<'a> {
        Raw::checked(self.line)
    }

    /// A member of the line.
    pub fn get(&self, key: &str) -> Option<Raw<'a>> {
        self.object().get(key)
    }
}

/// Parses a line, given without its line feed.
pub fn read(line: &[u8]) -> Read<'_> {
    if line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r')) {
        return Read::Blank;
    }
    let mut scanner = Scanner::new(line);
    if !scanner.at_object() {
        return Read::Odd(if Raw::parse(line).is_ok() { Odd::NotAnObject } else { Odd::NotJson });
    }
    let mut facts = Facts::default();
    let read = facts.read(&mut scanner).and_then(|()| scanner.end());
    match read {
        Err(NotJson) => Read::Odd(Odd::NotJson),
        Ok(()) if facts.kind.as_deref() == Some("session") => match Raw::parse(line) {
            Ok(header) => Read::Header(header),
            Err(NotJson) => Read::Odd(Odd::NotJson),
        },
        Ok(()) => facts.into_entry(line).map_or(Read::Odd(Odd::NoId), Read::Entry),
    }
}

/// Parses a line that must be an entry.
pub fn read_entry(line: &[u8]) -> Result<Entry<'_>, Odd> {
    match read(line) {
        Read::Entry(entry) => Ok(entry),
        Read::Odd(odd) => Err(odd),
        Read::Header(_) | Read::Blank => Err(Odd::NoId),
    }
}

#[derive(Default)]
struct Facts<'a> {
    kind: Option<Cow<'a, str>>,
    id: Option<Cow<'a, str>>,
    parent: Option<Cow<'a, str>>,
    custom_type: Option<Cow<'a, str>>,
    target: Option<Cow<'a, str>>,
    first_kept: Option<Cow<'a, str>>,
    time: Option<Millis>,
    data: Option<Raw<'a>>,
    message: Option<Raw<'a>>,
    said: Said<'a>,
    flags: u8,
}

/// The fields of a message that the fold needs.
#[derive(Default)]
struct Said<'a> {
    role: Option<Cow<'a, str>>,
    stop: Option<Cow<'a, str>>,
    content: Content,
}

#[derive(Default)]
struct Content {
    present: bool,
    has_text: bool,
    calls: u8,
}

impl<'a> Facts<'a> {
    fn read(&mut self, scanner: &mut Scanner<'a>) -> Result<(), NotJson> {
        scanner.object(|scanner, key| {
            match key {
                b"message" => return self.read_message(scanner),
                b"type" => self.kind = scanner.value()?.text(),
                b"id" => self.id = scanner.value()?.text(),
                b"parentId" => self.parent = scanner.value()?.text(),
                b"timestamp" => self.time = read_time(scanner.value()?),
                b"customType" => self.custom_type = scanner.value()?.text(),
                b"targetId" => self.target = scanner.value()?.text(),
                b"firstKeptEntryId" => self.first_kept = scanner.value()?.text(),
                b"data" => self.data = Some(scanner.value()?),
                b"display" => self.set(flag::NOT_SHOWN, scanner.value()?.is_false()),
                b"inContext" => self.set(flag::NOT_SENT, scanner.value()?.is_false()),
                _ => drop(scanner.value()?),
            }
            Ok(())
        })
    }

    fn set(&mut self, flag: u8, on: bool) {
        self.flags = if on { self.flags | flag } else { self.flags & !flag };
    }

    fn read_message(&mut self, scanner: &mut Scanner<'a>) -> Result<(), NotJson> {
        if !scanner.at_object() {
            scanner.value()?;
            self.message = None;
            return Ok(());
        }
        let start = scanner.mark();
        let mut said = Said::default();
        scanner.object(|scanner, key| {
            match key {
                b"role" => said.role = scanner.value()?.text(),
                b"content" => said.content = read_content(scanner)?,
                b"stopReason" => said.stop = scanner.value()?.text(),
                _ => drop(scanner.value()?),
            }
            Ok(())
        })?;
        self.said = said;
        self.message = Some(scanner.since(start));
        Ok(())
    }

    fn into_entry(self, line: &'a [u8]) -> Option<Entry<'a>> {
        let kind = Kind::read(self.kind.as_deref().unwrap_or(""), self.custom_type.as_deref().unwrap_or(""));
        let is_message = kind == Kind::Message && self.message.is_some();
        let role = match is_message {
            true => Role::read(self.said.role.as_deref().unwrap_or("")),
            false => Role::None,
        };
        let data = |key| self.data.and_then(|data| data.get(key)).and_then(Raw::text);
        let (target, why) = match kind {
            Kind::Compaction => (self.first_kept, Why::None),
            Kind::Label | Kind::ContextEdit => (self.target, Why::None),
            Kind::DeleteBranch | Kind::RestoreBranch | Kind::EntryUpdate => (data("targetId"), Why::None),
            Kind::Leaf => (
                None,
                match data("why").as_deref() {
                    Some("undo") => Why::Undo,
                    Some("redo") => Why::Redo,
                    _ => Why::Move,
                },
            ),
            Kind::Message => (None, self.said.stop.as_deref().map_or(Why::None, Why::of_stop)),
            _ => (None, Why::None),
        };
        let mut flags = self.flags;
        if is_message && !self.said.content.present {
            flags |= flag::NO_CONTENT;
        }
        if self.said.content.has_text {
            flags |= flag::HAS_TEXT;
        }
        let complete = self.message.filter(|_| kind == Kind::Message && self.said.content.present);
        let body = complete.map_or(0, |message| last_member(line, message));
        Some(Entry {
            line,
            body,
            kind,
            role,
            why,
            flags,
            calls: self.said.content.calls,
            id: self.id?,
            parent: self.parent.filter(|parent| !parent.is_empty()),
            target,
            time: self.time,
            message: self.message,
        })
    }
}

/// The message that begins at offset `body` and ends the line, without parsing it again. `None` if it is not there.
pub fn cut_message(line: &[u8], body: u16) -> Option<&[u8]> {
    let (before, rest) = line.split_at_checked(body as usize)?;
    let message = rest.strip_suffix(b"}")?;
    let is_message =
        before.ends_with(b"\"message\":") && message.starts_with(b"{") && message.ends_with(b"}");
    is_message.then_some(message)
}

/// The offset of `value` if it is the last member of the line; otherwise 0.
fn last_member(line: &[u8], value: Raw<'_>) -> u16 {
    let start = value.bytes().as_ptr() as usize - line.as_ptr() as usize;
    let is_last = start + value.bytes().len() + 1 == line.len();
    u16::try_from(start).ok().filter(|_| is_last).unwrap_or(0)
}

fn read_time(value: Raw<'_>) -> Option<Millis> {
    match value.text() {
        Some(text) => time::parse(&text),
        None => value.number().map(|millis| millis as Millis),
    }
}

fn read_content(scanner: &mut Scanner<'_>) -> Result<Content, NotJson> {
    let mut content = Content { present: true, ..Content::default() };
    if !scanner.at_array() {
        let value = scanner.value()?;
        content.present = !value.is_null();
        content.has_text = is_text(value);
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
        match kind.map(Raw::bytes) {
            Some(b"\"toolCall\"") => content.calls = content.calls.saturating_add(1),
            Some(b"\"text\"") => content.has_text |= text.is_some_and(is_text),
            _ => {}
        }
        Ok(())
    })?;
    Ok(content)
}

/// Whether the value is a string with more than white space. Usually its first bytes decide.
fn is_text(value: Raw<'_>) -> bool {
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
        read_entry(line.as_bytes()).unwrap()
    }

    #[test]
    fn message_has_role_stop_reason_and_tool_calls() {
        let line = r#"{"type":"message","id":"0a0a0a0a","parentId":"b","timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"assistant","content":[{"type":"text","text":" "},{"type":"toolCall","id":"x"},{"type":"toolCall"}],"stopReason":"toolUse"}}"#;
        let entry = entry(line);
        assert_eq!(
            (entry.kind, entry.role, entry.why, entry.calls),
            (Kind::Message, Role::Assistant, Why::ToolUse, 2)
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
        assert_eq!((moved.kind, moved.why, moved.parent), (Kind::Leaf, Why::Undo, None));
        assert_eq!(
            entry(r#"{"type":"custom_message","id":"1","customType":"osier.backtrack"}"#).kind,
            Kind::Backtrack
        );
        assert_eq!(entry(r#"{"type":"custom","id":"1","customType":"osier.backtrack"}"#).kind, Kind::Custom);
        let deleted =
            entry(r#"{"type":"custom","id":"1","customType":"osier.delete_branch","data":{"targetId":"7"}}"#);
        assert_eq!((deleted.kind, deleted.target.as_deref()), (Kind::DeleteBranch, Some("7")));
    }

    #[test]
    fn invalid_lines_report_the_reason() {
        let odd = |line: &str| match read(line.as_bytes()) {
            Read::Odd(odd) => odd,
            other => panic!("{other:?}"),
        };
        assert_eq!(odd("{\"type\":\"mess"), Odd::NotJson);
        assert_eq!(odd("null"), Odd::NotAnObject);
        assert_eq!(odd("17"), Odd::NotAnObject);
        assert_eq!(odd(r#"{"type":"message","id":5}"#), Odd::NoId);
        assert!(matches!(read(b" \r"), Read::Blank));
        assert!(matches!(read(br#"{"type":"session","id":"x"}"#), Read::Header(_)));
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
