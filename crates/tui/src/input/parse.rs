//! Parses bytes from the terminal into keys, pastes and answers. An incomplete sequence waits for more bytes; an unknown one is
//! ignored.

mod sequence;

use std::time::Duration;

use crate::key::{Code, Input, Key};

/// How long an incomplete sequence waits for the rest. A lone escape may be the Escape key, so its timeout is short; an
/// incomplete answer of the terminal always continues.
const ESCAPE: Duration = Duration::from_millis(30);
const ANSWER: Duration = Duration::from_secs(1);
/// How long a paste may pause. After that its end counts as lost, and further bytes are keys again.
const PAUSE: Duration = Duration::from_secs(2);
/// The maximum length of an answer.
const LONGEST: usize = 256;

const PASTE: &[u8] = b"\x1b[200~";
const PASTED: &[u8] = b"\x1b[201~";

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Parser {
    bytes: Vec<u8>,
    /// Inside a paste, whose content is in `bytes`.
    pasting: bool,
    /// The end marker of the paste does not start before this index.
    searched: usize,
}

/// What the bytes start with, and how many bytes it takes.
enum Found {
    Input(Input, usize),
    /// A sequence to ignore.
    Nothing(usize),
    /// An incomplete sequence.
    Part,
}

impl Parser {
    /// Adds bytes; returns the complete input.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Input> {
        self.bytes.extend_from_slice(bytes);
        self.whole(false)
    }

    /// How long to wait for the rest of an incomplete sequence.
    pub(super) fn patience(&self) -> Option<Duration> {
        match self.bytes.as_slice() {
            _ if self.pasting => Some(PAUSE),
            [] => None,
            bytes if bytes.starts_with(b"\x1b]11;") => Some(ANSWER),
            _ => Some(ESCAPE),
        }
    }

    /// Ends the wait: parses incomplete bytes as they are.
    pub(super) fn give_up(&mut self) -> Vec<Input> {
        self.whole(true)
    }

    fn whole(&mut self, at_last: bool) -> Vec<Input> {
        let mut inputs = Vec::new();
        let mut from = 0;
        while from < self.bytes.len() {
            let bytes = &self.bytes[from..];
            let found = match self.pasting {
                true => pasted(bytes, self.searched, at_last),
                false => first(bytes, at_last),
            };
            match found {
                Found::Input(input, count) => {
                    self.pasting &= !matches!(input, Input::Paste(_));
                    inputs.push(input);
                    from += count;
                }
                Found::Nothing(count) => {
                    self.pasting |= bytes.starts_with(PASTE);
                    from += count;
                }
                Found::Part => break,
            }
            self.searched = 0;
        }
        self.bytes.drain(..from);
        if self.pasting {
            // The last bytes may be the start of the end marker.
            self.searched = self.bytes.len().saturating_sub(PASTED.len() - 1);
            if at_last && self.bytes.is_empty() {
                self.pasting = false;
            }
        }
        inputs
    }
}

/// The paste up to its end marker, which does not start before `from`; all bytes if `at_last`.
fn pasted(bytes: &[u8], from: usize, at_last: bool) -> Found {
    let end = bytes[from..].windows(PASTED.len()).position(|window| window == PASTED);
    let text = |end: usize| Input::Paste(String::from_utf8_lossy(&bytes[..end]).into_owned());
    match end.map(|end| from + end) {
        Some(end) => Found::Input(text(end), end + PASTED.len()),
        None if at_last => Found::Input(text(bytes.len()), bytes.len()),
        None => Found::Part,
    }
}

fn first(bytes: &[u8], at_last: bool) -> Found {
    let found = match bytes {
        [0x1b] => Found::Part,
        [0x1b, 0x1b, rest @ ..] => twice(rest),
        [0x1b, b'[', rest @ ..] => sequence::control(rest),
        [0x1b, b'O', rest @ ..] => sequence::application(rest),
        [0x1b, b']', ..] => answer(bytes),
        [0x1b, rest @ ..] => with_alt(plain(rest), 1),
        _ => plain(bytes),
    };
    match found {
        // No more bytes follow, so an escape is the Escape key, or Alt with the next key.
        Found::Part if at_last => match bytes {
            [0x1b] | [0x1b, 0x1b] => Found::Input(Input::Key(Code::Escape.into()), 1),
            [0x1b, next, ..] if next.is_ascii() => with_alt(plain(&[*next]), 1),
            _ => Found::Nothing(1),
        },
        found => found,
    }
}

/// Two escapes are two keys, unless a sequence follows: then Alt was held.
fn twice(rest: &[u8]) -> Found {
    match rest {
        [] => Found::Part,
        [b'[', rest @ ..] => with_alt(sequence::control(rest), 1),
        [b'O', rest @ ..] => with_alt(sequence::application(rest), 1),
        _ => Found::Input(Input::Key(Code::Escape.into()), 1),
    }
}

fn with_alt(found: Found, more: usize) -> Found {
    match found {
        Found::Input(Input::Key(key), count) => {
            Found::Input(Input::Key(Key { alt: true, ..key }), count + more)
        }
        Found::Input(input, count) => Found::Input(input, count + more),
        Found::Nothing(count) => Found::Nothing(count + more),
        Found::Part => Found::Part,
    }
}

/// A character, or one of the keys that are single bytes.
fn plain(bytes: &[u8]) -> Found {
    let key = |code: Code| Found::Input(Input::Key(code.into()), 1);
    match bytes[0] {
        b'\r' => key(Code::Enter),
        b'\t' => key(Code::Tab),
        0x7f => key(Code::Backspace),
        0 => Found::Input(Input::Key(Key::ctrl(' ')), 1),
        // Control clears the upper three bits: the rest is a letter, or one of `\]^_`.
        byte @ 1..=26 => Found::Input(Input::Key(Key::ctrl(char::from(byte + b'a' - 1))), 1),
        byte @ 28..=31 => Found::Input(Input::Key(Key::ctrl(char::from(byte + b'@'))), 1),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> Found {
    let length = match bytes[0] {
        ..0x80 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
        _ => return Found::Nothing(1),
    };
    if bytes.len() < length {
        return Found::Part;
    }
    let ch = std::str::from_utf8(&bytes[..length]).ok().and_then(|text| text.chars().next());
    ch.map_or(Found::Nothing(1), |ch| Found::Input(Input::Key(Code::Char(ch).into()), length))
}

/// An answer of the terminal about its background: `]11;rgb:ffff/ffff/ffff`. Ignores other answers.
fn answer(bytes: &[u8]) -> Found {
    if bytes.get(2).is_some_and(|byte| !byte.is_ascii_digit()) {
        return with_alt(plain(b"]"), 1);
    }
    let bell = bytes.iter().position(|byte| *byte == 7).map(|at| (at, 1));
    let end = bytes.windows(2).position(|pair| pair == b"\x1b\\").map(|at| (at, 2));
    let Some((at, length)) = bell.into_iter().chain(end).min() else {
        return if bytes.len() < LONGEST { Found::Part } else { with_alt(plain(b"]"), 1) };
    };
    match is_light(&bytes[2..at]) {
        Some(light) => Found::Input(Input::Ground { light }, at + length),
        None => Found::Nothing(at + length),
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
