//! A JSON scanner that works in place: it validates text and locates values in it.
//!
//! It builds no document, does not recurse and does not allocate for plain text, because opening a session scans every line.
//! It accepts what `JSON.parse` accepts. Invalid UTF-8 and lone surrogates are accepted, and become U+FFFD when a string is
//! decoded.

use std::borrow::Cow;

use wide::u8x32;

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

/// The length of the plain prefix of a string: up to the first quote, backslash or control character, or the end.
#[inline]
fn plain_prefix_len(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(block) = text[at..].first_chunk::<BLOCK>() {
        let found = special_byte_mask(*block);
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += BLOCK;
    }
    let rest = &text[at..];
    at + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len())
}

/// The number of bytes compared at once. Most keys, ids and words of a log are shorter.
const BLOCK: usize = 32;

/// A bit mask of the bytes that end plain text.
#[inline]
fn special_byte_mask(block: [u8; BLOCK]) -> u32 {
    let text = u8x32::new(block);
    let quotes = text.simd_eq(u8x32::splat(b'"'));
    let backslashes = text.simd_eq(u8x32::splat(b'\\'));
    let controls = text.min(u8x32::splat(0x1f)).simd_eq(text);
    (quotes | backslashes | controls).to_bitmask()
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
        mut item: impl FnMut(&mut Self) -> Result<(), NotJson>,
    ) -> Result<(), NotJson> {
        self.expect(b'[')?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
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
        loop {
            at += plain_prefix_len(&rest[at..]);
            match rest.get(at) {
                Some(b'"') => break,
                Some(b'\\') => escaped = true,
                // The end, or a control character, which JSON does not allow here.
                _ => return Err(NotJson),
            }
            at += match rest.get(at + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                Some(b'u') if hex4(&rest[at + 2..]).is_some() => 6,
                _ => return Err(NotJson),
            };
        }
        self.at += at + 2;
        Ok((&rest[..at], escaped))
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

fn hex4(text: &[u8]) -> Option<u32> {
    text.get(..4)?.iter().try_fold(0, |sum, &b| Some(sum * 16 + char::from(b).to_digit(16)?))
}

/// Decodes the inside of a JSON string. Invalid Unicode becomes U+FFFD.
fn unescape(inner: &[u8]) -> Cow<'_, str> {
    // Most strings are ids and names, for which `memchr` is not worth its setup.
    let is_plain =
        if inner.len() < 48 { !inner.contains(&b'\\') } else { memchr::memchr(b'\\', inner).is_none() };
    if is_plain {
        return decode_lossy(inner);
    }
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        text.push_str(&String::from_utf8_lossy(&rest[..at]));
        let (ch, used) = decode_escape(&rest[at..]);
        text.push(ch);
        rest = &rest[(at + used).min(rest.len())..];
    }
    text.push_str(&String::from_utf8_lossy(rest));
    Cow::Owned(text)
}

/// Decodes bytes that are nearly always valid UTF-8.
fn decode_lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Decodes an escape. Returns the character and the number of bytes used.
fn decode_escape(text: &[u8]) -> (char, usize) {
    let simple = match text.get(1) {
        Some(b'u') => {
            let Some(high) = text.get(2..).and_then(hex4) else { return (char::REPLACEMENT_CHARACTER, 2) };
            if let 0xD800..=0xDBFF = high
                && text.get(6..8) == Some(b"\\u")
                && let Some(low @ 0xDC00..=0xDFFF) = text.get(8..).and_then(hex4)
            {
                let point = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                return (char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
            }
            return (char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6);
        }
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(&other) => char::from(other),
        None => char::REPLACEMENT_CHARACTER,
    };
    (simple, 2)
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
