//! Parses bytes from the terminal into keys, pastes and answers. An incomplete sequence waits for more bytes; an unknown one is
//! ignored.

mod sequence;

use std::time::Duration;

use crate::key::{Input, Key, KeyCode};

/// How long an incomplete sequence waits for the rest. A lone escape may be the Escape key, so its timeout is short; an
/// incomplete answer of the terminal always continues.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(30);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a paste may pause. After that its end counts as lost, and further bytes are keys again.
const PASTE_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum length of an answer.
const MAX_ANSWER_BYTES: usize = 256;

const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// See the module.
#[derive(Debug, Default)]
pub(super) struct InputParser {
    bytes: Vec<u8>,
    /// Inside a paste, whose content is in `bytes`.
    pasting: bool,
    /// The end marker of the paste does not start before this index.
    searched: usize,
}

/// What the bytes start with, and how many bytes it takes.
enum Parsed {
    Input(Input, usize),
    /// A sequence to ignore.
    Ignored(usize),
    /// An incomplete sequence.
    Incomplete,
}

impl InputParser {
    /// Adds bytes; returns the complete input.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Input> {
        self.bytes.extend_from_slice(bytes);
        self.parse_all(false)
    }

    /// How long to wait for the rest of an incomplete sequence.
    pub(super) fn timeout(&self) -> Option<Duration> {
        match self.bytes.as_slice() {
            _ if self.pasting => Some(PASTE_TIMEOUT),
            [] => None,
            bytes if bytes.starts_with(b"\x1b]11;") => Some(ANSWER_TIMEOUT),
            _ => Some(ESCAPE_TIMEOUT),
        }
    }

    /// Ends the wait: parses incomplete bytes as they are.
    pub(super) fn flush(&mut self) -> Vec<Input> {
        self.parse_all(true)
    }

    fn parse_all(&mut self, at_last: bool) -> Vec<Input> {
        let mut inputs = Vec::new();
        let mut from = 0;
        while from < self.bytes.len() {
            let bytes = &self.bytes[from..];
            let found = match self.pasting {
                true => parse_paste(bytes, self.searched, at_last),
                false => parse_first(bytes, at_last),
            };
            match found {
                Parsed::Input(input, count) => {
                    self.pasting &= !matches!(input, Input::Paste(_));
                    inputs.push(input);
                    from += count;
                }
                Parsed::Ignored(count) => {
                    self.pasting |= bytes.starts_with(PASTE_START);
                    from += count;
                }
                Parsed::Incomplete => break,
            }
            self.searched = 0;
        }
        self.bytes.drain(..from);
        if self.pasting {
            // The last bytes may be the start of the end marker.
            self.searched = self.bytes.len().saturating_sub(PASTE_END.len() - 1);
            if at_last && self.bytes.is_empty() {
                self.pasting = false;
            }
        }
        inputs
    }
}

/// The paste up to its end marker, which does not start before `from`; all bytes if `at_last`.
fn parse_paste(bytes: &[u8], from: usize, at_last: bool) -> Parsed {
    let end = bytes[from..].windows(PASTE_END.len()).position(|window| window == PASTE_END);
    let text = |end: usize| Input::Paste(String::from_utf8_lossy(&bytes[..end]).into_owned());
    match end.map(|end| from + end) {
        Some(end) => Parsed::Input(text(end), end + PASTE_END.len()),
        None if at_last => Parsed::Input(text(bytes.len()), bytes.len()),
        None => Parsed::Incomplete,
    }
}

fn parse_first(bytes: &[u8], at_last: bool) -> Parsed {
    let found = match bytes {
        [0x1b] => Parsed::Incomplete,
        [0x1b, 0x1b, rest @ ..] => parse_double_escape(rest),
        [0x1b, b'[', rest @ ..] => sequence::parse_csi(rest),
        [0x1b, b'O', rest @ ..] => sequence::parse_ss3(rest),
        [0x1b, b']', ..] => parse_answer(bytes),
        [0x1b, rest @ ..] => with_alt(parse_single_byte(rest), 1),
        _ => parse_single_byte(bytes),
    };
    match found {
        // No more bytes follow, so an escape is the Escape key, or Alt with the next key.
        Parsed::Incomplete if at_last => match bytes {
            [0x1b] | [0x1b, 0x1b] => Parsed::Input(Input::Key(KeyCode::Escape.into()), 1),
            [0x1b, next, ..] if next.is_ascii() => with_alt(parse_single_byte(&[*next]), 1),
            _ => Parsed::Ignored(1),
        },
        found => found,
    }
}

/// Two escapes are two keys, unless a sequence follows: then Alt was held.
fn parse_double_escape(rest: &[u8]) -> Parsed {
    match rest {
        [] => Parsed::Incomplete,
        [b'[', rest @ ..] => with_alt(sequence::parse_csi(rest), 1),
        [b'O', rest @ ..] => with_alt(sequence::parse_ss3(rest), 1),
        _ => Parsed::Input(Input::Key(KeyCode::Escape.into()), 1),
    }
}

fn with_alt(found: Parsed, more: usize) -> Parsed {
    match found {
        Parsed::Input(Input::Key(key), count) => {
            Parsed::Input(Input::Key(Key { alt: true, ..key }), count + more)
        }
        Parsed::Input(input, count) => Parsed::Input(input, count + more),
        Parsed::Ignored(count) => Parsed::Ignored(count + more),
        Parsed::Incomplete => Parsed::Incomplete,
    }
}

/// A character, or one of the keys that are single bytes.
fn parse_single_byte(bytes: &[u8]) -> Parsed {
    let key = |code: KeyCode| Parsed::Input(Input::Key(code.into()), 1);
    match bytes[0] {
        b'\r' => key(KeyCode::Enter),
        b'\t' => key(KeyCode::Tab),
        0x7f => key(KeyCode::Backspace),
        0 => Parsed::Input(Input::Key(Key::ctrl(' ')), 1),
        // Control clears the upper three bits: the rest is a letter, or one of `\]^_`.
        byte @ 1..=26 => Parsed::Input(Input::Key(Key::ctrl(char::from(byte + b'a' - 1))), 1),
        byte @ 28..=31 => Parsed::Input(Input::Key(Key::ctrl(char::from(byte + b'@'))), 1),
        _ => parse_character(bytes),
    }
}

fn parse_character(bytes: &[u8]) -> Parsed {
    let length = match bytes[0] {
        ..0x80 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
        _ => return Parsed::Ignored(1),
    };
    if bytes.len() < length {
        return Parsed::Incomplete;
    }
    let ch = std::str::from_utf8(&bytes[..length]).ok().and_then(|text| text.chars().next());
    ch.map_or(Parsed::Ignored(1), |ch| Parsed::Input(Input::Key(KeyCode::Char(ch).into()), length))
}

/// An answer of the terminal about its background: `]11;rgb:ffff/ffff/ffff`. Ignores other answers.
fn parse_answer(bytes: &[u8]) -> Parsed {
    if bytes.get(2).is_some_and(|byte| !byte.is_ascii_digit()) {
        return with_alt(parse_single_byte(b"]"), 1);
    }
    let bell = bytes.iter().position(|byte| *byte == 7).map(|at| (at, 1));
    let end = bytes.windows(2).position(|pair| pair == b"\x1b\\").map(|at| (at, 2));
    let Some((at, length)) = bell.into_iter().chain(end).min() else {
        return if bytes.len() < MAX_ANSWER_BYTES {
            Parsed::Incomplete
        } else {
            with_alt(parse_single_byte(b"]"), 1)
        };
    };
    match is_light(&bytes[2..at]) {
        Some(light) => Parsed::Input(Input::Background { light }, at + length),
        None => Parsed::Ignored(at + length),
    }
}

fn is_light(answer: &[u8]) -> Option<bool> {
    let text = std::str::from_utf8(answer).ok()?;
    let parts = text.strip_prefix("11;rgb:").or_else(|| text.strip_prefix("11;rgba:"))?;
    let brightness = |part: &str| {
        let most = 16f64.powi(part.len() as i32) - 1.0;
        u32::from_str_radix(part, 16).ok().map(|value| f64::from(value) / most)
    };
    let mut parts = parts.split('/').map_while(brightness);
    let (red, green, blue) = (parts.next()?, parts.next()?, parts.next()?);
    Some(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)
}

#[cfg(test)]
mod tests;
