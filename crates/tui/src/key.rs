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
            _ => NAMES.iter().find(|(_, name)| *name == rest)?.0,
        };
        Some(key)
    }
}

const NAMES: [(KeyCode, &str); 13] = [
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
];

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = [(self.ctrl, "ctrl+"), (self.alt, "alt+"), (self.shift, "shift+")];
        for (_, word) in held.into_iter().filter(|(held, _)| *held) {
            f.write_str(word)?;
        }
        match self.code {
            KeyCode::Char(ch) => write!(f, "{ch}"),
            code => {
                let name = NAMES.iter().find(|(named, _)| *named == code);
                f.write_str(name.map_or("?", |(_, name)| name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_displayed_in_the_notation_they_are_parsed_from() {
        for text in ["ctrl+o", "ctrl+shift+o", "alt+left", "L", "+", "ctrl++", "enter", "shift+tab", "é"] {
            assert_eq!(Key::parse(text).map(|key| key.to_string()).as_deref(), Some(text));
        }
        for text in ["", "ctrl+", "hyper+x", "ente"] {
            assert_eq!(Key::parse(text), None, "{text}");
        }
    }
}
