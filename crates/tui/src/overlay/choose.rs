//! A question with a few answers to choose from.

use std::fmt;

use super::{News, Outcome, Overlay, Room};
use crate::key::{Code, Key};
use crate::msg::Purpose;
use crate::screen::Frame;
use crate::text::{Line, Style};
use crate::theme::Role;

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
            (Code::Escape, _) | (Code::Char('c'), true) => return Outcome::Close,
            (Code::Up, _) => self.at = (self.at + count - 1) % count,
            (Code::Down | Code::Tab, _) => self.at = (self.at + 1) % count,
            (Code::Char(digit @ '1'..='9'), false) => {
                if let Some((_, then)) = self.answers.get(digit as usize - '1' as usize) {
                    return then();
                }
            }
            (Code::Enter, _) => {
                if let Some((_, then)) = self.answers.get(self.at) {
                    return then();
                }
            }
            _ => {}
        }
        Outcome::Stay
    }

    fn view(&self, room: Room) -> Frame {
        let mut lines = vec![Line::of(Style::from(Role::Accent).bold(), &self.title).cut(room.columns)];
        for (at, (answer, _)) in self.answers.iter().enumerate() {
            let line = Line::of(Role::Accent, if at == self.at { "› " } else { "  " })
                .with(Role::Text, &format!("{}. {answer}", at + 1));
            let line = line.cut(room.columns);
            lines.push(if at == self.at { line.on(Role::SelectedBg) } else { line });
        }
        lines.push(Line::of(Role::Dim, "↑↓ move · enter or number select · esc cancel").cut(room.columns));
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
