//! The prompt editor: multi-line text and a cursor, with word motions, a kill buffer, undo, history, and markers for long
//! pastes.
//!
//! The editor does not send or complete anything; its owner reads [`Editor::text`].

mod history;
mod motion;
mod paste;
mod pictures;
mod view;

pub use history::History;
pub use paste::Pastes;
pub use pictures::Pictures;
pub(crate) use pictures::image_path;

use crate::key::{Code, Key};

/// The maximum number of undo steps.
const UNDO: usize = 200;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Editor {
    text: String,
    at: usize,
    undo: Vec<(String, usize)>,
    redo: Vec<(String, usize)>,
    killed: String,
    pub history: History,
    pub pastes: Pastes,
    pub pictures: Pictures,
    /// The last key typed a character. Undo reverts consecutive characters together.
    typing: bool,
    /// The column that up and down try to keep.
    column: Option<usize>,
}

impl Editor {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn cursor(&self) -> usize {
        self.at
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces the text and moves the cursor to the end. Undo restores the old text.
    pub fn set(&mut self, text: &str) {
        self.remember();
        self.text = text.replace("\r\n", "\n").replace('\r', "\n");
        self.at = self.text.len();
    }

    /// Like [`Editor::set`], but shows known long pastes in the text as their markers.
    pub fn give_back(&mut self, text: &str) {
        self.set(&self.pastes.folded(text));
    }

    /// Replaces the path of an image with its marker, or inserts the marker at the cursor if the path is gone.
    pub(crate) fn put_picture(&mut self, path: &str, image: osier_model::Image) {
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let marker = self.pictures.keep(&name, image);
        self.remember();
        match self.text[..self.at].rfind(path).filter(|_| !path.is_empty()) {
            Some(from) => {
                self.text.replace_range(from..from + path.len(), &marker);
                self.at = self.at - path.len() + marker.len();
            }
            None if self.text[..self.at].ends_with(|ch: char| !ch.is_whitespace()) => {
                self.insert(&format!(" {marker}"));
            }
            None => self.insert(&marker),
        }
    }

    /// Clears the editor, adds its text to the history, and returns the text with pastes expanded.
    pub fn take(&mut self) -> String {
        self.history.push(&self.text);
        let full = self.pastes.expanded(&self.text);
        self.remember();
        self.text.clear();
        self.at = 0;
        full
    }

    /// Replaces the text between `from` and the cursor with a completion.
    pub fn complete(&mut self, from: usize, with: &str) {
        self.remember();
        self.text.replace_range(from..self.at, with);
        self.at = from + with.len();
    }

    /// Inserts pasted text. A long paste becomes a marker.
    pub fn paste(&mut self, text: &str) {
        self.remember();
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let shown = self.pastes.keep(text);
        self.insert(&shown);
    }

    /// Handles a key; returns false if the editor does not use it. `width` is the number of columns in a row.
    pub fn key(&mut self, key: Key, width: usize) -> bool {
        let was = std::mem::take(&mut self.typing);
        let column = self.column.take();
        if let Some(ch) = key.typed() {
            if !was || ch == ' ' {
                self.remember();
            }
            self.insert(ch.encode_utf8(&mut [0; 4]));
            self.typing = true;
            return true;
        }
        match (key.ctrl, key.alt, key.code) {
            (_, _, Code::Up | Code::Down) if !key.ctrl && !key.alt => {
                return self.vertical(key.code == Code::Up, column, width);
            }
            (true, false, Code::Char('j')) => self.change(|editor| editor.insert("\n")),
            (false, _, Code::Enter) if key.shift || key.alt => self.change(|editor| editor.insert("\n")),
            (false, false, Code::Left) | (true, false, Code::Char('b')) => self.at = self.before(self.at),
            (false, false, Code::Right) | (true, false, Code::Char('f')) => self.at = self.after(self.at),
            (_, _, Code::Left) | (false, true, Code::Char('b')) => self.at = self.word_before(self.at),
            (_, _, Code::Right) | (false, true, Code::Char('f')) => self.at = self.word_after(self.at),
            (_, _, Code::Home) | (true, false, Code::Char('a')) => self.at = self.line_start(self.at),
            (_, _, Code::End) | (true, false, Code::Char('e')) => self.at = self.line_end(self.at),
            (false, false, Code::Backspace) | (true, false, Code::Char('h')) => {
                let from = self.marker_before().unwrap_or_else(|| self.before(self.at));
                self.erase(from, self.at, false);
            }
            (_, _, Code::Backspace) | (true, false, Code::Char('w')) => {
                self.erase(self.word_before(self.at), self.at, true);
            }
            (false, false, Code::Delete) | (true, false, Code::Char('d')) => {
                self.erase(self.at, self.after(self.at), false);
            }
            (_, _, Code::Delete) | (false, true, Code::Char('d')) => {
                self.erase(self.at, self.word_after(self.at), true);
            }
            (true, false, Code::Char('u')) => self.erase(self.line_start(self.at), self.at, true),
            (true, false, Code::Char('k')) => {
                let end = self.line_end(self.at);
                // At the end of a line, delete the line break.
                let end = if end == self.at { self.after(end) } else { end };
                self.erase(self.at, end, true);
            }
            (true, false, Code::Char('y')) => {
                let killed = self.killed.clone();
                self.change(|editor| editor.insert(&killed));
            }
            (true, false, Code::Char('_' | '-' | '7')) if !key.shift => self.undo(),
            (true, false, Code::Char('_' | '-')) | (false, true, Code::Char('_' | '-')) => self.redo(),
            _ => return false,
        }
        true
    }

    /// Moves the cursor by one row; from the first or last row, moves through the history.
    fn vertical(&mut self, up: bool, column: Option<usize>, width: usize) -> bool {
        let rows = self.rows(width);
        let (row, at) = self.place(&rows);
        let column = column.unwrap_or(at);
        let to = if up { row.checked_sub(1) } else { Some(row + 1).filter(|row| *row < rows.len()) };
        match to {
            Some(to) => {
                self.at = self.at_column(&rows[to], column);
                self.column = Some(column);
                true
            }
            None => {
                let text = if up { self.history.older(&self.text) } else { self.history.newer() };
                let found = text.is_some();
                if let Some(text) = text {
                    self.set(&text);
                }
                found
            }
        }
    }

    /// The start of a marker that ends at the cursor. Backspace deletes the whole marker.
    fn marker_before(&self) -> Option<usize> {
        let before = &self.text[..self.at];
        let mut markers = self.pastes.markers().chain(self.pictures.markers());
        markers.find(|marker| before.ends_with(marker.as_str())).map(|marker| self.at - marker.len())
    }

    fn change(&mut self, change: impl FnOnce(&mut Editor)) {
        self.remember();
        change(self);
    }

    fn insert(&mut self, text: &str) {
        self.text.insert_str(self.at, text);
        self.at += text.len();
    }

    fn erase(&mut self, from: usize, to: usize, keep: bool) {
        if from < to {
            self.remember();
            let erased: String = self.text.drain(from..to).collect();
            if keep {
                self.killed = erased;
            }
            self.at = from;
        }
    }

    fn remember(&mut self) {
        self.redo.clear();
        if self.undo.last().is_none_or(|(text, _)| *text != self.text) {
            self.undo.push((self.text.clone(), self.at));
            if self.undo.len() > UNDO {
                self.undo.remove(0);
            }
        }
    }

    fn undo(&mut self) {
        while let Some((text, at)) = self.undo.pop() {
            if text != self.text {
                self.redo.push((std::mem::replace(&mut self.text, text), self.at));
                self.at = at;
                break;
            }
        }
    }

    fn redo(&mut self) {
        if let Some((text, at)) = self.redo.pop() {
            self.undo.push((std::mem::replace(&mut self.text, text), self.at));
            self.at = at;
        }
    }
}

#[cfg(test)]
mod tests;
