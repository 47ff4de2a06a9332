//! Waiting for a move or a graft: how far its summary is. Escape stops it, and one is back where one was.

use osier_agent::ClientCommand;

use super::{News, Outcome, Overlay, Room};
use crate::key::{Key, KeyCode};
use crate::msg::{Action, Purpose};
use crate::screen::Frame;
use crate::text::{Line, Style};
use crate::theme::ColorRole;
use crate::transcript::{Look, tail};

/// See the module.
#[derive(Debug)]
pub(crate) struct Progress {
    title: &'static str,
    purpose: Purpose,
    text: String,
    stopping: bool,
}

impl Progress {
    pub(crate) fn moving() -> Progress {
        Progress::new("moving, and summarizing what is left …", Purpose::Navigate)
    }

    pub(crate) fn grafting() -> Progress {
        Progress::new("summarizing that branch …", Purpose::Graft)
    }

    fn new(title: &'static str, purpose: Purpose) -> Progress {
        Progress { title, purpose, text: String::new(), stopping: false }
    }
}

impl Overlay for Progress {
    fn key(&mut self, key: Key, _room: Room) -> Outcome {
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) if !self.stopping => {
                self.stopping = true;
                Outcome::Do(vec![Action::Send(ClientCommand::Cancel, Purpose::Cancel)])
            }
            _ => Outcome::Stay,
        }
    }

    fn view(&self, room: Room) -> Frame {
        let title = if self.stopping { "stopping …" } else { self.title };
        let mut lines = vec![Line::styled(Style::from(ColorRole::Accent).bold(), title)];
        let look = Look { width: room.columns, ..Look::default() };
        lines.extend(tail(&self.text, room.rows.saturating_sub(2).min(8), look));
        lines.push(Line::styled(ColorRole::Dim, "escape stops it; then nothing has changed"));
        Frame { lines: lines.into_iter().map(|line| line.truncate(room.columns)).collect(), cursor: None }
    }

    fn hear(&mut self, news: &News<'_>) -> Outcome {
        match news {
            News::Summary(text) => self.text.push_str(text),
            // Whatever came of it: if one has moved, all that is below is closed as well.
            News::Replied(purpose, _) if **purpose == self.purpose => return Outcome::Close,
            _ => {}
        }
        Outcome::Stay
    }
}
