//! A JSON scanner that works in place: it validates text and locates values in it.
//!
//! It builds no document, does not recurse and does not allocate for plain text, because opening a session scans every line.
//! It accepts what `JSON.parse` accepts. Invalid UTF-8 and lone surrogates are accepted, and become U+FFFD when a string is
//! decoded.

mod block_masks;
mod escapes;

use std::borrow::Cow;

use block_masks::{BLOCK, BlockMasks};
use escapes::{decode_lossy, escape_len, unescape};

/// The text is not JSON. There is no position, because errors are reported per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotJson;

/// A JSON value inside a larger text, without surrounding white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawJson<'a>(&'a [u8]);

impl<'a> RawJson<'a> {
    /// Validates `text` as one value.
    pub fn parse(text: &'a [u8]) -> Result<RawJson<'a>, NotJson> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value()?;
        scanner.expect_end()?;
        Ok(value)
    }

    /// Wraps text that is already validated.
    pub(crate) fn from_valid(text: &'a [u8]) -> RawJson<'a> {
        RawJson(text.trim_ascii())
    }

    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    pub fn is_null(self) -> bool {
        self.0 == b"null"
    }

    pub fn is_true(self) -> bool {
        self.0 == b"true"
    }

    pub fn is_false(self) -> bool {
        self.0 == b"false"
    }

    pub fn is_object(self) -> bool {
        self.0.first() == Some(&b'{')
    }

    pub fn is_array(self) -> bool {
        self.0.first() == Some(&b'[')
    }

    pub fn is_string(self) -> bool {
        self.0.first() == Some(&b'"')
    }

    /// The text of a string value; `None` for any other value.
    pub fn text(self) -> Option<Cow<'a, str>> {
        let inner = self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        Some(unescape(inner))
    }

    /// The beginning of a string value: at most about `max` bytes of it. `None` for any other value.
    pub(crate) fn text_beginning(self, max: usize) -> Option<Cow<'a, str>> {
        let inner = self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if inner.len() <= max {
            return Some(unescape(inner));
        }
        // Cut neither an escape, the longest of which has 12 bytes, nor a character.
        let mut end = max;
        while inner[end - 12..end].contains(&b'\\') || inner[end] & 0xC0 == 0x80 {
            end -= 1;
            if end <= max / 2 {
                return Some(unescape(inner));
            }
        }
        Some(unescape(&inner[..end]))
    }

    /// The value as a number; `None` for any other value.
    pub fn number(self) -> Option<f64> {
        match self.0.first()? {
            b'-' | b'0'..=b'9' => std::str::from_utf8(self.0).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// The value of `key` if this is an object. As in JavaScript, the last of several equal keys wins.
    pub fn get(self, key: &str) -> Option<RawJson<'a>> {
        let mut found = None;
        let mut scanner = Scanner::new(self.0);
        let _ = scanner.object(|scanner, name| {
            let value = scanner.value()?;
            if name == key.as_bytes() {
                found = Some(value);
            }
            Ok(())
        });
        found
    }

    /// Calls `f` for each field of an object, in order; does nothing for other values.
    pub fn each_field(self, mut f: impl FnMut(&str, RawJson<'a>)) {
        let mut scanner = Scanner::new(self.0);
        // The text is valid JSON, so an error here only means "not an object".
        let _ = scanner.object(|scanner, key| {
            let value = scanner.value()?;
            f(&decode_lossy(key), value);
            Ok(())
        });
    }

    /// Calls `f` for each item of an array, in order; does nothing for other values.
    pub fn each_item(self, mut f: impl FnMut(RawJson<'a>)) {
        let mut scanner = Scanner::new(self.0);
        let _ = scanner.array(|scanner| {
            f(scanner.value()?);
            Ok(())
        });
    }
}

/// The last items of an array, from the start of one of them to the closing bracket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArrayEnd<'a>(pub(crate) RawJson<'a>);

impl<'a> ArrayEnd<'a> {
    pub(crate) fn each_item(self, mut f: impl FnMut(RawJson<'a>)) {
        let mut scanner = Scanner::new(self.0.bytes());
        let _ = scanner.items(|scanner| {
            f(scanner.value()?);
            Ok(())
        });
    }
}

/// The length of the plain prefix of a short text: up to the first quote, backslash or control character, or the end.
#[inline]
fn plain_prefix_len(text: &[u8]) -> usize {
    text.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(text.len())
}

/// A cursor over JSON text.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Scanner { text, at: 0 }
    }

    fn skip_white_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    fn peek(&mut self) -> Option<u8> {
        self.skip_white_space();
        self.text.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Result<(), NotJson> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(NotJson)
    }

    /// Checks that only white space follows.
    pub(crate) fn expect_end(&mut self) -> Result<(), NotJson> {
        if self.peek().is_none() { Ok(()) } else { Err(NotJson) }
    }

    /// Walks an object. `field` is called after each colon and must consume the value.
    pub(crate) fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, &[u8]) -> Result<(), NotJson>,
    ) -> Result<(), NotJson> {
        self.expect(b'{')?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.skip_white_space();
            let (key, escaped) = self.string()?;
            self.expect(b':')?;
            match escaped {
                false => field(self, key)?,
                true => field(self, unescape(key).as_bytes())?,
            }
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(NotJson),
            }
        }
    }

    /// Walks an array. `item` is called at each element and must consume it.
    pub(crate) fn array(
        &mut self,
        item: impl FnMut(&mut Self) -> Result<(), NotJson>,
    ) -> Result<(), NotJson> {
        self.expect(b'[')?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        self.items(item)
    }

    /// Walks the items of an array, starting at one of them.
    fn items(&mut self, mut item: impl FnMut(&mut Self) -> Result<(), NotJson>) -> Result<(), NotJson> {
        loop {
            item(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(NotJson),
            }
        }
    }

    /// Whether the next value is an object. Does not consume it.
    pub(crate) fn at_object(&mut self) -> bool {
        self.peek() == Some(b'{')
    }

    pub(crate) fn at_array(&mut self) -> bool {
        self.peek() == Some(b'[')
    }

    /// The start of the next value, for a later `raw_since`.
    pub(crate) fn value_start(&mut self) -> usize {
        self.skip_white_space();
        self.at
    }

    pub(crate) fn raw_since(&self, mark: usize) -> RawJson<'a> {
        RawJson(&self.text[mark..self.at])
    }

    /// Consumes one value of any shape and depth.
    pub(crate) fn value(&mut self) -> Result<RawJson<'a>, NotJson> {
        let start = self.value_start();
        let mut open = Nesting::default();
        loop {
            // At the start of a value.
            match self.peek().ok_or(NotJson)? {
                b'{' => {
                    self.at += 1;
                    if self.peek() == Some(b'}') {
                        self.at += 1;
                    } else {
                        open.push(true);
                        self.skip_key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    if self.peek() == Some(b']') {
                        self.at += 1;
                    } else {
                        open.push(false);
                        continue;
                    }
                }
                b'"' => drop(self.string()?),
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                _ => return Err(NotJson),
            }
            // After a value: continue or close the open containers.
            loop {
                let Some(in_object) = open.top() else { return Ok(self.raw_since(start)) };
                match (self.peek().ok_or(NotJson)?, in_object) {
                    (b',', true) => {
                        self.at += 1;
                        self.skip_key()?;
                        break;
                    }
                    (b',', false) => {
                        self.at += 1;
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        self.at += 1;
                        open.pop();
                    }
                    _ => return Err(NotJson),
                }
            }
        }
    }

    fn skip_key(&mut self) -> Result<(), NotJson> {
        self.skip_white_space();
        self.string()?;
        self.expect(b':')
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), NotJson> {
        if !self.text[self.at..].starts_with(word) {
            return Err(NotJson);
        }
        self.at += word.len();
        Ok(())
    }

    /// Consumes a string. Returns the text between its quotes, and whether it contains escapes.
    fn string(&mut self) -> Result<(&'a [u8], bool), NotJson> {
        let rest = self.text.get(self.at..).and_then(|rest| rest.strip_prefix(b"\"")).ok_or(NotJson)?;
        let mut at = 0;
        let mut escaped = false;
        let mut is_inside_escape = false;
        while let Some(block) = rest[at..].first_chunk::<BLOCK>() {
            let masks = BlockMasks::new(*block);
            let escapes = masks.escaped(&mut is_inside_escape);
            let ends = masks.quotes & !escapes;
            // The bytes before the first end; all if there is none.
            let inside = (ends & ends.wrapping_neg()).wrapping_sub(1);
            let usual = masks.quotes | masks.backslashes | masks.line_feeds;
            let mut unusual = escapes & inside & !usual;
            while unusual != 0 {
                escape_len(&rest[at + unusual.trailing_zeros() as usize - 1..])?;
                unusual &= unusual - 1;
            }
            // JSON does not allow control characters here.
            if masks.controls & inside != 0 {
                return Err(NotJson);
            }
            escaped |= masks.backslashes & inside != 0;
            if ends != 0 {
                return Ok(self.end_string(rest, at + ends.trailing_zeros() as usize, escaped));
            }
            at += BLOCK;
        }
        // The backslash before the rest is the last byte of the last block.
        at -= usize::from(is_inside_escape);
        loop {
            at += plain_prefix_len(&rest[at..]);
            match rest.get(at) {
                Some(b'"') => return Ok(self.end_string(rest, at, escaped)),
                Some(b'\\') => escaped = true,
                // The end, or a control character.
                _ => return Err(NotJson),
            }
            at += escape_len(&rest[at..])?;
        }
    }

    fn end_string(&mut self, rest: &'a [u8], end: usize, escaped: bool) -> (&'a [u8], bool) {
        self.at += end + 2;
        (&rest[..end], escaped)
    }

    /// Consumes one value of any shape, and returns its text if it is a string.
    pub(crate) fn text(&mut self) -> Result<Option<Cow<'a, str>>, NotJson> {
        if self.peek() != Some(b'"') {
            return self.value().map(|_| None);
        }
        Ok(Some(match self.string()? {
            (inner, false) => decode_lossy(inner),
            (inner, true) => unescape(inner),
        }))
    }

    fn number(&mut self) -> Result<(), NotJson> {
        if self.text.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.text.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(NotJson),
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.text.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), NotJson> {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(NotJson) }
    }
}

/// A stack of open brackets, `true` for an object. The first 64 levels need no allocation.
#[derive(Default)]
struct Nesting {
    recent_levels: u64,
    depth: usize,
    outer_levels: Vec<u64>,
}

impl Nesting {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer_levels.push(self.recent_levels);
        }
        self.recent_levels = self.recent_levels << 1 | u64::from(object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.recent_levels >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.recent_levels = self.outer_levels.pop().unwrap_or_default();
        }
    }

    fn top(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.recent_levels & 1 == 1)
    }
}

/// Writes `text` as a JSON string, including the quotes.
pub fn write_json_string(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("serializing a string to a Vec cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_scanner_accepts_what_json_parse_accepts() {
        for good in
            ["{}", " [ ] ", "null", "-0.5e+3", r#""\u00e9\ud800""#, r#"{"a":[1,{"b":null}],"a":2}"#, "[[[]]]"]
        {
            assert!(RawJson::parse(good.as_bytes()).is_ok(), "{good}");
        }
        for bad in [
            "",
            "{",
            "[1,]",
            r#"{"a"}"#,
            "01",
            "1.",
            "tru",
            "nullx",
            "\"\u{1}\"",
            r#""\x""#,
            r#""\u12""#,
            "{} {}",
            "[1}",
            "{\"a\":1]",
        ] {
            assert!(RawJson::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn nesting_depth_is_unlimited() {
        let deep = format!("{}{}", "[".repeat(300_000), "]".repeat(300_000));
        assert!(RawJson::parse(deep.as_bytes()).is_ok());
        let mixed = format!("{}1{}", "[{\"a\":".repeat(100_000), "}]".repeat(100_000));
        assert!(RawJson::parse(mixed.as_bytes()).is_ok());
        assert!(RawJson::parse(&mixed.as_bytes()[..mixed.len() - 1]).is_err());
    }

    #[test]
    fn the_last_of_equal_keys_wins_and_escaped_keys_are_decoded() {
        let object = RawJson::parse(br#"{"id":1,"\u0069d":2}"#).unwrap();
        assert_eq!(object.get("id").unwrap().bytes(), b"2");
    }

    #[test]
    fn strings_are_decoded() {
        let raw = RawJson::parse(r#""a\n\"\\\/é\u00e9\ud83d\ude80\ud83dx""#.as_bytes()).unwrap();
        assert_eq!(raw.text().unwrap(), "a\n\"\\/éé🚀\u{fffd}x");
    }

    /// Long strings are scanned in blocks, and an escape can be cut by the end of one.
    #[test]
    fn an_escape_may_stand_anywhere_in_a_long_string() {
        for before in 0..2 * BLOCK {
            for (escape, decoded) in [(r#"\""#, "\""), (r"\\", "\\"), (r"\u00e9", "é"), (r"\n\n", "\n\n")] {
                for after in [0, 1, BLOCK] {
                    let text = |middle: &str| format!("{}{middle}{}", "x".repeat(before), "y".repeat(after));
                    let quoted = format!("\"{}\"", text(escape));
                    assert_eq!(RawJson::parse(quoted.as_bytes()).unwrap().text().unwrap(), text(decoded));
                    for broken in [r"\", r"\x", r"\u12", "\u{1}"] {
                        let quoted = format!("\"{}{broken}", text(escape));
                        assert!(RawJson::parse(quoted.as_bytes()).is_err(), "{quoted}");
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_scanner_agrees_with_serde_json_on_any_text(text in r#"[\[\]{}:,"\\a-cu0-9eE+. \t\x01ntrulfs-]{0,24}"#) {
            let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
            prop_assert_eq!(RawJson::parse(text.as_bytes()).is_ok(), theirs);
        }

        #[test]
        fn the_scanner_agrees_with_serde_json_on_broken_documents(cut in 0usize..200, with in any::<u8>()) {
            let mut text = br#"{"type":"message","id":"0a","x":[1,-2.5e3,{"y":"z\u00e9\n"},null,true],"m":{"role":"user"}}"#.to_vec();
            let at = cut % text.len();
            text[at] = with;
            let theirs = serde_json::from_slice::<&serde_json::value::RawValue>(&text);
            // serde_json also rejects invalid UTF-8, which JavaScript replaces.
            if std::str::from_utf8(&text).is_ok() {
                prop_assert_eq!(RawJson::parse(&text).is_ok(), theirs.is_ok());
            }
        }

        #[test]
        fn quoted_text_decodes_to_the_original(text in any::<String>()) {
            let mut out = Vec::new();
            write_json_string(&text, &mut out);
            prop_assert_eq!(RawJson::parse(&out).unwrap().text().unwrap(), text);
        }
    }
}
