//! Keys and other terminal input, and the notation of keys in help texts and settings.

use std::fmt;

/// Input from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Key(Key),
    Paste(String),
    Resize(u16, u16),
    /// The window of the terminal got or lost the focus.
    Focus(bool),
    /// The terminal's answer about its background color.
    Background {
        light: bool,
    },
}

impl Input {
    /// Whether the input comes from the user and not from the terminal.
    pub(crate) fn is_from_user(&self) -> bool {
        matches!(self, Input::Key(_) | Input::Paste(_))
    }

    /// Whether the input cancels a wait: Escape or Ctrl+C.
    pub(crate) fn is_cancel(&self) -> bool {
        matches!(self, Input::Key(key) if key.code == KeyCode::Escape || *key == Key::ctrl('c'))
    }
}

/// A key with its modifiers. For characters, `shift` is set only if the character does not already imply it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub code: KeyCode,
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyCode {
    Char(char),
    Enter,
    Escape,
    Tab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    Insert,
    /// F1 to F12.
    Function(u8),
}

impl From<KeyCode> for Key {
    fn from(code: KeyCode) -> Key {
        Key { code, ctrl: false, alt: false, shift: false }
    }
}

impl Key {
    pub const fn ctrl(ch: char) -> Key {
        Key { code: KeyCode::Char(ch), ctrl: true, alt: false, shift: false }
    }

    pub const fn alt(code: KeyCode) -> Key {
        Key { code, ctrl: false, alt: true, shift: false }
    }

    /// The character, if the key types one.
    pub fn typed_char(self) -> Option<char> {
        match self.code {
            KeyCode::Char(ch) if !self.ctrl && !self.alt && !ch.is_control() => Some(ch),
            _ => None,
        }
    }

    /// Parses `ctrl+shift+o`, `alt+left`, `L`. Returns `None` for unknown names.
    pub fn parse(text: &str) -> Option<Key> {
        let mut key = Key::from(KeyCode::Escape);
        let mut rest = text;
        while let Some((word, behind)) = rest.split_once('+').filter(|(word, _)| !word.is_empty()) {
            match word {
                "ctrl" => key.ctrl = true,
                "alt" => key.alt = true,
                "shift" => key.shift = true,
                _ => return None,
            }
            rest = behind;
        }
        let mut letters = rest.chars();
        key.code = match (letters.next(), letters.next()) {
            (Some(ch), None) => KeyCode::Char(ch),
            (Some('f'), Some('1'..='9')) => {
                KeyCode::Function(rest[1..].parse().ok().filter(|number| (1..=12).contains(number))?)
            }
            _ => NAMES.iter().find(|(_, name)| *name == rest)?.0,
        };
        Some(key)
    }
}

const NAMES: [(KeyCode, &str); 14] = [
    (KeyCode::Enter, "enter"),
    (KeyCode::Escape, "escape"),
    (KeyCode::Tab, "tab"),
    (KeyCode::Backspace, "backspace"),
    (KeyCode::Delete, "delete"),
    (KeyCode::Up, "up"),
    (KeyCode::Down, "down"),
    (KeyCode::Left, "left"),
    (KeyCode::Right, "right"),
    (KeyCode::Home, "home"),
    (KeyCode::End, "end"),
    (KeyCode::PageUp, "pageUp"),
    (KeyCode::PageDown, "pageDown"),
    (KeyCode::Insert, "insert"),
];

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = [(self.ctrl, "ctrl+"), (self.alt, "alt+"), (self.shift, "shift+")];
        for (_, word) in held.into_iter().filter(|(held, _)| *held) {
            f.write_str(word)?;
        }
        match self.code {
            KeyCode::Char(ch) => write!(f, "{ch}"),
            KeyCode::Function(number) => write!(f, "f{number}"),
            code => {
                let name = NAMES.iter().find(|(named, _)| *named == code);
                f.write_str(name.map_or("?", |(_, name)| name))
            }
        }
    }
}

/// The bytes that a terminal sends for a key.
pub(crate) fn key_sequence(key: Key) -> String {
    let modifiers = 1 + u8::from(key.shift) + 2 * u8::from(key.alt) + 4 * u8::from(key.ctrl);
    let letter = |letter: char| match modifiers {
        1 => format!("\u{1b}[{letter}"),
        _ => format!("\u{1b}[1;{modifiers}{letter}"),
    };
    let number = |number: u8| match modifiers {
        1 => format!("\u{1b}[{number}~"),
        _ => format!("\u{1b}[{number};{modifiers}~"),
    };
    let code = |code: u32, plain: &str| match modifiers {
        1 => plain.to_owned(),
        _ => format!("\u{1b}[{code};{modifiers}u"),
    };
    match key.code {
        KeyCode::Up => letter('A'),
        KeyCode::Down => letter('B'),
        KeyCode::Right => letter('C'),
        KeyCode::Left => letter('D'),
        KeyCode::Home => letter('H'),
        KeyCode::End => letter('F'),
        KeyCode::Delete => number(3),
        KeyCode::PageUp => number(5),
        KeyCode::PageDown => number(6),
        KeyCode::Insert => number(2),
        KeyCode::Function(key @ 1..=4) if modifiers == 1 => format!("\u{1b}O{}", (b'O' + key) as char),
        KeyCode::Function(key @ 1..=4) => letter((b'O' + key) as char),
        KeyCode::Function(key @ 5) => number(10 + key),
        KeyCode::Function(key @ 6..=10) => number(11 + key),
        KeyCode::Function(key) => number(12 + key),
        KeyCode::Enter => code(13, "\r"),
        KeyCode::Escape => code(27, "\u{1b}"),
        KeyCode::Backspace => code(127, "\u{7f}"),
        KeyCode::Tab if modifiers == 2 => "\u{1b}[Z".to_owned(),
        KeyCode::Tab => code(9, "\t"),
        KeyCode::Char(char) => match (key.ctrl, char.is_ascii_lowercase()) {
            (true, true) if !key.shift => {
                let control = (char as u8 - b'a' + 1) as char;
                if key.alt { format!("\u{1b}{control}") } else { control.to_string() }
            }
            (true, _) => format!("\u{1b}[{};{modifiers}u", char.to_lowercase().next().unwrap_or(char) as u32),
            (false, _) if key.alt => format!("\u{1b}{char}"),
            (false, _) => char.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_displayed_in_the_notation_they_are_parsed_from() {
        for text in [
            "ctrl+o",
            "ctrl+shift+o",
            "alt+left",
            "L",
            "+",
            "ctrl++",
            "enter",
            "shift+tab",
            "é",
            "f1",
            "ctrl+f12",
            "insert",
        ] {
            assert_eq!(Key::parse(text).map(|key| key.to_string()).as_deref(), Some(text));
        }
        for text in ["", "ctrl+", "hyper+x", "ente", "f0", "f13"] {
            assert_eq!(Key::parse(text), None, "{text}");
        }
    }

    #[test]
    fn keys_are_those_of_a_terminal() {
        for (name, bytes) in [
            ("up", "\u{1b}[A"),
            ("ctrl+left", "\u{1b}[1;5D"),
            ("enter", "\r"),
            ("shift+enter", "\u{1b}[13;2u"),
            ("shift+tab", "\u{1b}[Z"),
            ("ctrl+a", "\u{1}"),
            ("alt+x", "\u{1b}x"),
            ("ctrl+shift+p", "\u{1b}[112;6u"),
            ("delete", "\u{1b}[3~"),
            ("Ä", "Ä"),
            ("f1", "\u{1b}OP"),
            ("shift+f5", "\u{1b}[15;2~"),
            ("f12", "\u{1b}[24~"),
        ] {
            assert_eq!(key_sequence(Key::parse(name).unwrap()), bytes, "{name}");
        }
    }
}
