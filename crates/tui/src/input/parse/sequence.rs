//! Keys that terminals send as escape sequences: arrows and similar keys, keys with modifiers, and the newer protocols that
//! distinguish all keys.

use super::Found;
use crate::key::{Code, Input, Key};

/// Modifier bits. The number in a sequence is the sum of the bits plus one.
const SHIFT: u32 = 1;
const ALT: u32 = 2;
const CTRL: u32 = 4;

/// Parses what follows `ESC [`.
pub(super) fn control(rest: &[u8]) -> Found {
    let Some(end) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        let is_sequence = rest.iter().all(|byte| (0x20..0x40).contains(byte)) && rest.len() < 64;
        return if is_sequence { Found::Part } else { Found::Nothing(2) };
    };
    let count = end + 3;
    let text = std::str::from_utf8(&rest[..end]).unwrap_or_default();
    match key(text, rest[end]) {
        Some(key) => Found::Input(Input::Key(key), count),
        None => Found::Nothing(count),
    }
}

/// Parses what follows `ESC O`.
pub(super) fn application(rest: &[u8]) -> Found {
    match rest {
        [] => Found::Part,
        [b'M', ..] => Found::Input(Input::Key(Code::Enter.into()), 3),
        [last, ..] => match arrow(*last) {
            Some(code) => Found::Input(Input::Key(code.into()), 3),
            None => Found::Nothing(3),
        },
    }
}

fn key(parameters: &str, last: u8) -> Option<Key> {
    let mut fields = parameters.split(';').map(|field| field.split(':').map(|part| part.parse::<u32>().ok()));
    let mut first = fields.next()?;
    let number = first.next().flatten();
    let mut second = fields.next();
    let mut held = || second.as_mut().and_then(|field| field.next().flatten());
    match (last, number) {
        (b'Z', _) => Some(Key { shift: true, ..Code::Tab.into() }),
        (b'~', Some(27)) => {
            let held = held();
            let code = fields.next()?.next()??;
            pressed(code, None, held)
        }
        (b'~', number) => Some(with(numbered(number?)?, held())),
        (b'u', Some(code)) => {
            let shifted = first.next().flatten();
            let held_down = held();
            let is_release = held() == Some(3);
            pressed(code, shifted, held_down).filter(|_| !is_release)
        }
        (last, _) => Some(with(arrow(last)?, held())),
    }
}

fn arrow(last: u8) -> Option<Code> {
    Some(match last {
        b'A' => Code::Up,
        b'B' => Code::Down,
        b'C' => Code::Right,
        b'D' => Code::Left,
        b'H' => Code::Home,
        b'F' => Code::End,
        _ => return None,
    })
}

fn numbered(number: u32) -> Option<Code> {
    Some(match number {
        1 | 7 => Code::Home,
        4 | 8 => Code::End,
        3 => Code::Delete,
        5 => Code::PageUp,
        6 => Code::PageDown,
        _ => return None,
    })
}

fn with(code: Code, held: Option<u32>) -> Key {
    let bits = held.unwrap_or(1).saturating_sub(1);
    Key { code, ctrl: bits & CTRL != 0, alt: bits & ALT != 0, shift: bits & SHIFT != 0 }
}

/// A key by its code: a character, or one of the codes that the keyboard protocol defines.
fn pressed(number: u32, shifted: Option<u32>, held: Option<u32>) -> Option<Key> {
    let code = match number {
        13 | 57414 => Code::Enter,
        27 => Code::Escape,
        9 => Code::Tab,
        127 | 8 => Code::Backspace,
        57399..=57408 => Code::Char(char::from_digit(number - 57399, 10)?),
        57409..=57413 => Code::Char(char::from(b"./*-+"[(number - 57409) as usize])),
        57417 => Code::Left,
        57418 => Code::Right,
        57419 => Code::Up,
        57420 => Code::Down,
        57421 => Code::PageUp,
        57422 => Code::PageDown,
        57423 => Code::Home,
        57424 => Code::End,
        57426 => Code::Delete,
        57344.. if number < 63744 => return None,
        _ => Code::Char(char::from_u32(number)?),
    };
    let key = with(code, held);
    Some(match key.code {
        Code::Char(ch) if key.ctrl => {
            Key { code: Code::Char(ch.to_ascii_lowercase()), shift: key.shift || ch.is_uppercase(), ..key }
        }
        // The uppercase character already implies Shift.
        Code::Char(ch) if key.shift => {
            let upper = shifted.and_then(char::from_u32).or_else(|| ch.to_uppercase().next());
            Key { code: Code::Char(upper.unwrap_or(ch)), shift: false, ..key }
        }
        _ => key,
    })
}
