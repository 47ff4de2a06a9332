//! The escapes in JSON strings: their lengths, and what they stand for.

use std::borrow::Cow;

use super::NotJson;

/// The number of bytes of the escape at the start of `text`.
#[inline]
pub(super) fn escape_len(text: &[u8]) -> Result<usize, NotJson> {
    const LENGTHS: [u8; 256] = {
        let mut lengths = [0; 256];
        let simple = br#""\/bfnrt"#;
        let mut at = 0;
        while at < simple.len() {
            lengths[simple[at] as usize] = 2;
            at += 1;
        }
        lengths[b'u' as usize] = 6;
        lengths
    };
    match text.get(1).map_or(0, |byte| LENGTHS[*byte as usize]) {
        2 => Ok(2),
        6 if hex4(&text[2..]).is_some() => Ok(6),
        _ => Err(NotJson),
    }
}

fn hex4(text: &[u8]) -> Option<u32> {
    text.get(..4)?.iter().try_fold(0, |sum, &b| Some(sum * 16 + char::from(b).to_digit(16)?))
}

/// Decodes the inside of a JSON string. Invalid Unicode becomes U+FFFD.
pub(super) fn unescape(inner: &[u8]) -> Cow<'_, str> {
    // Most strings are ids and names, for which `memchr` is not worth its setup.
    let is_plain =
        if inner.len() < 48 { !inner.contains(&b'\\') } else { memchr::memchr(b'\\', inner).is_none() };
    if is_plain {
        return decode_lossy(inner);
    }
    let inner = decode_lossy(inner);
    let mut text = String::with_capacity(inner.len());
    let mut rest = &*inner;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        let (ch, used) = decode_escape(&rest.as_bytes()[at..]);
        text.push(ch);
        rest = rest.get(at + used..).unwrap_or_default();
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Decodes bytes that are nearly always valid UTF-8.
pub(super) fn decode_lossy(bytes: &[u8]) -> Cow<'_, str> {
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
