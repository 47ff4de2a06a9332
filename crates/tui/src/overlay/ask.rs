//! A prompt for one line of text: a label, a name, instructions, a reason.

use std::fmt;

use super::{News, Outcome, Overlay, Room};
use crate::editor::Editor;
use crate::key::{Key, KeyCode};
use crate::msg::Purpose;
use crate::screen::Frame;
use crate::text::{Line, Style};
use crate::theme::ColorRole;

type Then = Box<dyn Fn(String) -> Outcome + Send>;

/// A title, and an editor for the answer.
pub(crate) struct Ask {
    title: String,
    editor: Editor,
    then: Then,
}

impl Ask {
    pub(crate) fn new(title: &str, text: &str, then: impl Fn(String) -> Outcome + Send + 'static) -> Ask {
        let mut editor = Editor::default();
        editor.set(text);
        Ask { title: title.to_owned(), editor, then: Box::new(then) }
    }
}

impl fmt::Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask").field("title", &self.title).finish_non_exhaustive()
    }
}

impl Overlay for Ask {
    fn key(&mut self, key: Key, room: Room) -> Outcome {
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) => Outcome::Close,
            (KeyCode::Enter, _) if !key.shift && !key.alt => {
                (self.then)(self.editor.text().trim().to_owned())
            }
            _ => {
                self.editor.handle_key(key, room.columns.saturating_sub(3));
                Outcome::Stay
            }
        }
    }

    fn paste(&mut self, text: &str) {
        self.editor.set(&(self.editor.text().to_owned() + text));
    }

    fn view(&self, room: Room) -> Frame {
        let mut lines =
            vec![Line::styled(Style::from(ColorRole::Accent).bold(), &self.title).truncate(room.columns)];
        let (text, (row, column)) =
            self.editor.view(room.columns, room.rows.saturating_sub(2), ColorRole::Accent);
        lines.extend(text);
        lines.push(Line::styled(ColorRole::Dim, "enter confirm · esc cancel").truncate(room.columns));
        Frame { lines, cursor: Some((row + 1, column)) }
    }

    fn hear(&mut self, news: &News<'_>) -> Outcome {
        match news {
            // The move that this prompt belongs to is over. If it failed, the tree below is visible again.
            News::Replied(Purpose::Navigate, _) => Outcome::Close,
            _ => Outcome::Stay,
        }
    }
}
