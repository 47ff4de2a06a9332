//! A scrollable page of text.

use super::{Outcome, Overlay, Room};
use crate::key::{Key, KeyCode};
use crate::screen::Frame;
use crate::text::{Line, Style};
use crate::theme::ColorRole;

/// A title and the lines below it.
#[derive(Debug)]
pub(crate) struct Reader {
    title: String,
    lines: Vec<Line>,
    from: usize,
}

impl Reader {
    pub(crate) fn new(title: &str, lines: Vec<Line>) -> Reader {
        Reader { title: title.to_owned(), lines, from: 0 }
    }

    fn height(room: Room) -> usize {
        room.rows.saturating_sub(2).max(1)
    }
}

impl Overlay for Reader {
    fn key(&mut self, key: Key, room: Room) -> Outcome {
        let height = Reader::height(room);
        let most = self.lines.len().saturating_sub(height);
        self.from = match (key.code, key.ctrl) {
            (KeyCode::Escape | KeyCode::Enter | KeyCode::Char('q'), _) | (KeyCode::Char('c'), true) => {
                return Outcome::Close;
            }
            (KeyCode::Up, _) => self.from.saturating_sub(1),
            (KeyCode::Down, _) => (self.from + 1).min(most),
            (KeyCode::PageUp | KeyCode::Left, _) => self.from.saturating_sub(height),
            (KeyCode::PageDown | KeyCode::Right | KeyCode::Char(' '), _) => (self.from + height).min(most),
            (KeyCode::Home, _) => 0,
            (KeyCode::End, _) => most,
            _ => self.from,
        };
        Outcome::Stay
    }

    fn view(&self, room: Room) -> Frame {
        let height = Reader::height(room);
        let mut lines = vec![Line::styled(Style::from(ColorRole::Accent).bold(), &self.title)];
        lines.extend(self.lines.iter().skip(self.from).take(height).cloned());
        let more = self.lines.len().saturating_sub(self.from + height);
        let foot = match more {
            0 => "esc close".to_owned(),
            more => format!("↑↓ scroll · {more} more lines · esc close"),
        };
        lines.push(Line::styled(ColorRole::Dim, &foot));
        Frame { lines: lines.into_iter().map(|line| line.truncate(room.columns)).collect(), cursor: None }
    }
}
