//! A question with a few answers to choose from.

use std::fmt;

use super::{News, Outcome, Overlay, Room};
use crate::key::{Key, KeyCode};
use crate::msg::Purpose;
use crate::screen::Frame;
use crate::text::{Line, Style};
use crate::theme::ColorRole;

type Then = Box<dyn Fn() -> Outcome + Send>;

/// A title and its answers, each with what it does.
pub(crate) struct Choose {
    title: String,
    answers: Vec<(String, Then)>,
    at: usize,
}

impl Choose {
    pub(crate) fn new(title: &str) -> Choose {
        Choose { title: title.to_owned(), answers: Vec::new(), at: 0 }
    }

    pub(crate) fn with(mut self, answer: &str, then: impl Fn() -> Outcome + Send + 'static) -> Choose {
        self.answers.push((answer.to_owned(), Box::new(then)));
        self
    }
}

impl fmt::Debug for Choose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Choose").field("title", &self.title).field("at", &self.at).finish_non_exhaustive()
    }
}

impl Overlay for Choose {
    fn key(&mut self, key: Key, _room: Room) -> Outcome {
        let count = self.answers.len().max(1);
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) => return Outcome::Close,
            (KeyCode::Up, _) => self.at = (self.at + count - 1) % count,
            (KeyCode::Down | KeyCode::Tab, _) => self.at = (self.at + 1) % count,
            (KeyCode::Char(digit @ '1'..='9'), false) => {
                if let Some((_, then)) = self.answers.get(digit as usize - '1' as usize) {
                    return then();
                }
            }
            (KeyCode::Enter, _) => {
                if let Some((_, then)) = self.answers.get(self.at) {
                    return then();
                }
            }
            _ => {}
        }
        Outcome::Stay
    }

    fn view(&self, room: Room) -> Frame {
        let mut lines =
            vec![Line::styled(Style::from(ColorRole::Accent).bold(), &self.title).truncate(room.columns)];
        for (at, (answer, _)) in self.answers.iter().enumerate() {
            let line = Line::styled(ColorRole::Accent, if at == self.at { "› " } else { "  " })
                .with(ColorRole::Text, &format!("{}. {answer}", at + 1));
            let line = line.truncate(room.columns);
            lines.push(if at == self.at { line.with_background(ColorRole::SelectedBg) } else { line });
        }
        lines.push(
            Line::styled(ColorRole::Dim, "↑↓ move · enter or number select · esc cancel")
                .truncate(room.columns),
        );
        Frame { lines, cursor: None }
    }

    fn hear(&mut self, news: &News<'_>) -> Outcome {
        match news {
            // The move that this question belongs to is over. If it failed, the tree below is visible again.
            News::Replied(Purpose::Navigate, _) => Outcome::Close,
            _ => Outcome::Stay,
        }
    }
}
