//! The prompt editor: multi-line text and a cursor, with word motions, a kill buffer, undo, history, and markers for long
//! pastes.
//!
//! The editor does not send or complete anything; its owner reads [`Editor::text`].

mod history;
mod images;
mod motion;
mod pastes;
mod view;

pub use history::PromptHistory;
pub use images::PastedImages;
pub(crate) use images::image_path;
pub use pastes::Pastes;

use crate::key::{Key, KeyCode};

/// The maximum number of undo steps.
const MAX_UNDO: usize = 200;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Editor {
    text: String,
    cursor: usize,
    undo: Vec<(String, usize)>,
    redo: Vec<(String, usize)>,
    kill_buffer: String,
    pub history: PromptHistory,
    pub pastes: Pastes,
    pub images: PastedImages,
    /// The last key typed a character. Undo reverts consecutive characters together.
    typing: bool,
    /// The column that up and down try to keep.
    goal_column: Option<usize>,
}

impl Editor {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces the text and moves the cursor to the end. Undo restores the old text.
    pub fn set(&mut self, text: &str) {
        self.push_undo();
        self.text = text.replace("\r\n", "\n").replace('\r', "\n");
        self.cursor = self.text.len();
    }

    /// Like [`Editor::set`], with the cursor at a place in bytes.
    pub(crate) fn set_at(&mut self, text: &str, cursor: usize) {
        self.set(text);
        self.cursor = self.text.floor_char_boundary(cursor.min(self.text.len()));
    }

    /// Takes the text and the cursor of the editor that replaces this one. It has an undo of its own.
    pub(crate) fn mirror(&mut self, text: &str, cursor: usize) {
        if self.text != text {
            text.clone_into(&mut self.text);
        }
        self.cursor = self.text.floor_char_boundary(cursor.min(self.text.len()));
    }

    /// Like [`Editor::set`], but shows known long pastes in the text as their markers.
    pub fn set_folded(&mut self, text: &str) {
        self.set(&self.pastes.fold(text));
    }

    /// Replaces the path of an image with its marker, or inserts the marker at the cursor if the path is gone.
    pub(crate) fn insert_image(&mut self, path: &str, image: osier_protocol::Image) {
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let marker = self.images.add(&name, image);
        self.push_undo();
        match self.text[..self.cursor].rfind(path).filter(|_| !path.is_empty()) {
            Some(from) => {
                self.text.replace_range(from..from + path.len(), &marker);
                self.cursor = self.cursor - path.len() + marker.len();
            }
            None if self.text[..self.cursor].ends_with(|ch: char| !ch.is_whitespace()) => {
                self.insert(&format!(" {marker}"));
            }
            None => self.insert(&marker),
        }
    }

    /// Clears the editor, adds its text to the history, and returns the text with pastes expanded.
    pub fn take_text(&mut self) -> String {
        self.history.push(&self.text);
        let full = self.pastes.expand(&self.text);
        self.push_undo();
        self.text.clear();
        self.cursor = 0;
        full
    }

    /// Replaces the text between `from` and the cursor with a completion.
    pub fn insert_completion(&mut self, from: usize, with: &str) {
        self.push_undo();
        self.text.replace_range(from..self.cursor, with);
        self.cursor = from + with.len();
    }

    /// Inserts pasted text. A long paste becomes a marker.
    pub fn paste(&mut self, text: &str) {
        self.push_undo();
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let shown = self.pastes.add(text);
        self.insert(&shown);
    }

    /// Handles a key; returns false if the editor does not use it. `width` is the number of columns in a row.
    pub fn handle_key(&mut self, key: Key, width: usize) -> bool {
        let was = std::mem::take(&mut self.typing);
        let column = self.goal_column.take();
        if let Some(ch) = key.typed_char() {
            if !was || ch == ' ' {
                self.push_undo();
            }
            self.insert(ch.encode_utf8(&mut [0; 4]));
            self.typing = true;
            return true;
        }
        match (key.ctrl, key.alt, key.code) {
            (_, _, KeyCode::Up | KeyCode::Down) if !key.ctrl && !key.alt => {
                return self.move_vertically(key.code == KeyCode::Up, column, width);
            }
            (true, false, KeyCode::Char('j')) => self.edit(|editor| editor.insert("\n")),
            (false, _, KeyCode::Enter) if key.shift || key.alt => self.edit(|editor| editor.insert("\n")),
            (false, false, KeyCode::Left) | (true, false, KeyCode::Char('b')) => {
                self.cursor = self.previous_grapheme(self.cursor);
            }
            (false, false, KeyCode::Right) | (true, false, KeyCode::Char('f')) => {
                self.cursor = self.next_grapheme(self.cursor);
            }
            (_, _, KeyCode::Left) | (false, true, KeyCode::Char('b')) => {
                self.cursor = self.word_start_before(self.cursor);
            }
            (_, _, KeyCode::Right) | (false, true, KeyCode::Char('f')) => {
                self.cursor = self.word_end_after(self.cursor);
            }
            (_, _, KeyCode::Home) | (true, false, KeyCode::Char('a')) => {
                self.cursor = self.line_start(self.cursor);
            }
            (_, _, KeyCode::End) | (true, false, KeyCode::Char('e')) => {
                self.cursor = self.line_end(self.cursor);
            }
            (false, false, KeyCode::Backspace) | (true, false, KeyCode::Char('h')) => {
                let from = self.marker_before().unwrap_or_else(|| self.previous_grapheme(self.cursor));
                self.erase(from, self.cursor, false);
            }
            (_, _, KeyCode::Backspace) | (true, false, KeyCode::Char('w')) => {
                self.erase(self.word_start_before(self.cursor), self.cursor, true);
            }
            (false, false, KeyCode::Delete) | (true, false, KeyCode::Char('d')) => {
                self.erase(self.cursor, self.next_grapheme(self.cursor), false);
            }
            (_, _, KeyCode::Delete) | (false, true, KeyCode::Char('d')) => {
                self.erase(self.cursor, self.word_end_after(self.cursor), true);
            }
            (true, false, KeyCode::Char('u')) => self.erase(self.line_start(self.cursor), self.cursor, true),
            (true, false, KeyCode::Char('k')) => {
                let end = self.line_end(self.cursor);
                // At the end of a line, delete the line break.
                let end = if end == self.cursor { self.next_grapheme(end) } else { end };
                self.erase(self.cursor, end, true);
            }
            (true, false, KeyCode::Char('y')) => {
                let killed = self.kill_buffer.clone();
                self.edit(|editor| editor.insert(&killed));
            }
            (true, false, KeyCode::Char('_' | '-' | '7')) if !key.shift => self.undo(),
            (true, false, KeyCode::Char('_' | '-')) | (false, true, KeyCode::Char('_' | '-')) => self.redo(),
            _ => return false,
        }
        true
    }

    /// Moves the cursor by one row; from the first or last row, moves through the history.
    fn move_vertically(&mut self, up: bool, column: Option<usize>, width: usize) -> bool {
        let rows = self.rows(width);
        let (row, at) = self.cursor_position(&rows);
        let column = column.unwrap_or(at);
        let to = if up { row.checked_sub(1) } else { Some(row + 1).filter(|row| *row < rows.len()) };
        match to {
            Some(to) => {
                self.cursor = self.offset_at_column(&rows[to], column);
                self.goal_column = Some(column);
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
        let before = &self.text[..self.cursor];
        let mut markers = self.pastes.markers().chain(self.images.markers());
        markers.find(|marker| before.ends_with(marker.as_str())).map(|marker| self.cursor - marker.len())
    }

    fn edit(&mut self, change: impl FnOnce(&mut Editor)) {
        self.push_undo();
        change(self);
    }

    fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    fn erase(&mut self, from: usize, to: usize, keep: bool) {
        if from < to {
            self.push_undo();
            let erased: String = self.text.drain(from..to).collect();
            if keep {
                self.kill_buffer = erased;
            }
            self.cursor = from;
        }
    }

    fn push_undo(&mut self) {
        self.redo.clear();
        if self.undo.last().is_none_or(|(text, _)| *text != self.text) {
            self.undo.push((self.text.clone(), self.cursor));
            if self.undo.len() > MAX_UNDO {
                self.undo.remove(0);
            }
        }
    }

    fn undo(&mut self) {
        while let Some((text, at)) = self.undo.pop() {
            if text != self.text {
                self.redo.push((std::mem::replace(&mut self.text, text), self.cursor));
                self.cursor = at;
                break;
            }
        }
    }

    fn redo(&mut self) {
        if let Some((text, at)) = self.redo.pop() {
            self.undo.push((std::mem::replace(&mut self.text, text), self.cursor));
            self.cursor = at;
        }
    }
}

#[cfg(test)]
mod tests;
