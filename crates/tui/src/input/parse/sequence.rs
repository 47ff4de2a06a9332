//! Keys that terminals send as escape sequences: arrows and similar keys, keys with modifiers, and the newer protocols that
//! distinguish all keys.

use super::Parsed;
use crate::key::{Input, Key, KeyCode};

/// Modifier bits. The number in a sequence is the sum of the bits plus one.
const SHIFT: u32 = 1;
const ALT: u32 = 2;
const CTRL: u32 = 4;

/// Parses what follows `ESC [`.
pub(super) fn parse_csi(rest: &[u8]) -> Parsed {
    let Some(end) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        let is_sequence = rest.iter().all(|byte| (0x20..0x40).contains(byte)) && rest.len() < 64;
        return if is_sequence { Parsed::Incomplete } else { Parsed::Ignored(2) };
    };
    let count = end + 3;
    let text = std::str::from_utf8(&rest[..end]).unwrap_or_default();
    match (text, rest[end]) {
        ("", b'I') => return Parsed::Input(Input::Focus(true), count),
        ("", b'O') => return Parsed::Input(Input::Focus(false), count),
        _ => {}
    }
    match csi_key(text, rest[end]) {
        Some(key) => Parsed::Input(Input::Key(key), count),
        None => Parsed::Ignored(count),
    }
}

/// Parses what follows `ESC O`.
pub(super) fn parse_ss3(rest: &[u8]) -> Parsed {
    match rest {
        [] => Parsed::Incomplete,
        [b'M', ..] => Parsed::Input(Input::Key(KeyCode::Enter.into()), 3),
        [last, ..] => match cursor_key(*last) {
            Some(code) => Parsed::Input(Input::Key(code.into()), 3),
            None => Parsed::Ignored(3),
        },
    }
}

fn csi_key(parameters: &str, last: u8) -> Option<Key> {
    let mut fields = parameters.split(';').map(|field| field.split(':').map(|part| part.parse::<u32>().ok()));
    let mut first = fields.next()?;
    let number = first.next().flatten();
    let mut second = fields.next();
    let mut held = || second.as_mut().and_then(|field| field.next().flatten());
    match (last, number) {
        (b'Z', _) => Some(Key { shift: true, ..KeyCode::Tab.into() }),
        (b'~', Some(27)) => {
            let held = held();
            let code = fields.next()?.next()??;
            key_from_code(code, None, held)
        }
        (b'~', number) => Some(with_modifiers(tilde_key(number?)?, held())),
        (b'u', Some(code)) => {
            let shifted = first.next().flatten();
            let held_down = held();
            let is_release = held() == Some(3);
            key_from_code(code, shifted, held_down).filter(|_| !is_release)
        }
        // An answer about the position of the cursor looks like F3.
        (b'R', _) => None,
        (last, _) => Some(with_modifiers(cursor_key(last)?, held())),
    }
}

fn cursor_key(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'P'..=b'S' => KeyCode::Function(last - b'P' + 1),
        _ => return None,
    })
}

fn tilde_key(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        4 | 8 => KeyCode::End,
        3 => KeyCode::Delete,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        2 => KeyCode::Insert,
        11..=15 => KeyCode::Function((number - 10) as u8),
        17..=21 => KeyCode::Function((number - 11) as u8),
        23 | 24 => KeyCode::Function((number - 12) as u8),
        _ => return None,
    })
}

fn with_modifiers(code: KeyCode, held: Option<u32>) -> Key {
    let bits = held.unwrap_or(1).saturating_sub(1);
    Key { code, ctrl: bits & CTRL != 0, alt: bits & ALT != 0, shift: bits & SHIFT != 0 }
}

/// A key by its code: a character, or one of the codes that the keyboard protocol defines.
fn key_from_code(number: u32, shifted: Option<u32>, held: Option<u32>) -> Option<Key> {
    let code = match number {
        13 | 57414 => KeyCode::Enter,
        27 => KeyCode::Escape,
        9 => KeyCode::Tab,
        127 | 8 => KeyCode::Backspace,
        57399..=57408 => KeyCode::Char(char::from_digit(number - 57399, 10)?),
        57409..=57413 => KeyCode::Char(char::from(b"./*-+"[(number - 57409) as usize])),
        57417 => KeyCode::Left,
        57418 => KeyCode::Right,
        57419 => KeyCode::Up,
        57420 => KeyCode::Down,
        57421 => KeyCode::PageUp,
        57422 => KeyCode::PageDown,
        57423 => KeyCode::Home,
        57424 => KeyCode::End,
        57426 => KeyCode::Delete,
        57344.. if number < 63744 => return None,
        _ => KeyCode::Char(char::from_u32(number)?),
    };
    let key = with_modifiers(code, held);
    Some(match key.code {
        KeyCode::Char(ch) if key.ctrl => {
            Key { code: KeyCode::Char(ch.to_ascii_lowercase()), shift: key.shift || ch.is_uppercase(), ..key }
        }
        // The uppercase character already implies Shift.
        KeyCode::Char(ch) if key.shift => {
            let upper = shifted.and_then(char::from_u32).or_else(|| ch.to_uppercase().next());
            Key { code: KeyCode::Char(upper.unwrap_or(ch)), shift: false, ..key }
        }
        _ => key,
    })
}
