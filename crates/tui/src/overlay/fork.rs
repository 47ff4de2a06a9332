//! Lists your messages on the path, latest first, to fork before one of them: in this session or in a new one. Tab lists all
//! branches.

use osier_agent::{ClientCommand, Navigation};
use osier_tree::projection::preview::one_line;
use osier_tree::{MessageRole as Speaker, Seq};

use super::{News, Outcome, Overlay, Room};
use crate::key::{Key, KeyCode};
use crate::msg::{Action, OpenTarget, Purpose, TreeSnapshot};
use crate::screen::Frame;
use crate::text::{Line, Style, join_fitting};
use crate::theme::ColorRole;

/// The list of messages to fork before.
#[derive(Debug)]
pub(crate) struct Fork {
    forest: TreeSnapshot,
    everywhere: bool,
    rows: Vec<Seq>,
    at: usize,
}

impl Fork {
    pub(crate) fn new(forest: TreeSnapshot) -> Fork {
        let mut fork = Fork { forest, everywhere: false, rows: Vec::new(), at: 0 };
        fork.fill();
        fork
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn fill(&mut self) {
        let tree = &self.forest.tree;
        let all = match self.everywhere {
            true => tree.heads().iter().map(|(seq, _)| seq).collect(),
            false => tree.path(self.forest.leaf),
        };
        let said = |seq: &Seq| tree.head(*seq).role == Speaker::User && !tree.is_hidden(*seq);
        self.rows = all.into_iter().filter(said).collect();
        self.rows.reverse();
        self.at = self.at.min(self.rows.len().saturating_sub(1));
    }

    fn chosen(&self) -> Option<String> {
        self.rows.get(self.at).map(|seq| self.forest.tree.id(*seq).to_string())
    }

    fn row(&self, seq: Seq, room: Room) -> Line {
        let tree = &self.forest.tree;
        let time = tree.head(seq).time().map(|time| room.clock.format_full(time)).unwrap_or_default();
        let text = self.forest.texts.get(seq).into_owned();
        let text = text.strip_prefix("user: ").unwrap_or(&text);
        let text = text.strip_prefix('"').unwrap_or(text);
        let text = one_line(text.strip_suffix('"').unwrap_or(text), 80);
        let room = room.columns.saturating_sub(time.len() + 4);
        Line::styled(ColorRole::Dim, &format!("{time}  "))
            .with(ColorRole::Text, &Line::styled(ColorRole::Text, &text).truncate(room).plain())
    }
}

impl Overlay for Fork {
    fn key(&mut self, key: Key, _room: Room) -> Outcome {
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) => return Outcome::Close,
            (KeyCode::Up, _) => self.at = self.at.saturating_sub(1),
            (KeyCode::Down, _) => self.at = (self.at + 1).min(self.rows.len().saturating_sub(1)),
            (KeyCode::Tab, _) => {
                self.everywhere = !self.everywhere;
                self.fill();
            }
            (KeyCode::Enter, _) => {
                let Some(target) = self.chosen() else { return Outcome::Stay };
                return Outcome::Do(vec![go(target)]);
            }
            (KeyCode::Char('n'), _) => {
                let Some(target) = self.chosen() else { return Outcome::Stay };
                return Outcome::End(vec![Action::Open(OpenTarget::Fork { before: Some(target) })]);
            }
            _ => {}
        }
        Outcome::Stay
    }

    fn view(&self, room: Room) -> Frame {
        let scope = if self.everywhere { "on all branches" } else { "on this path" };
        let mut lines =
            vec![Line::styled(Style::from(ColorRole::Accent).bold(), "Fork before a message ")
                .with(ColorRole::Dim, scope)];
        let height = room.rows.saturating_sub(2).clamp(1, 10);
        let from = self.at.saturating_sub(height - 1);
        for (at, seq) in self.rows.iter().enumerate().skip(from).take(height) {
            let line = self.row(*seq, room);
            let line = line.prepend(ColorRole::Accent, if at == self.at { "› " } else { "  " });
            lines.push(if at == self.at { line.with_background(ColorRole::SelectedBg) } else { line });
        }
        let first = format!("({}/{}) enter fork here", self.at + 1, self.rows.len());
        let keys = [first.as_str(), "n in new session", "tab all branches", "esc cancel"];
        lines.push(Line::styled(ColorRole::Dim, &join_fitting(keys, room.columns, 1).concat()));
        Frame { lines: lines.into_iter().map(|line| line.truncate(room.columns)).collect(), cursor: None }
    }

    fn hear(&mut self, news: &News<'_>) -> Outcome {
        match news {
            News::Forest(forest) => {
                self.forest = (*forest).clone();
                self.fill();
            }
            News::Replied(Purpose::Navigate, Ok(_)) => return Outcome::Close,
            _ => {}
        }
        Outcome::Stay
    }
}

fn go(target: String) -> Action {
    let wish = Navigation { target: Some(target), stop_turn: true, ..Navigation::default() };
    Action::Send(ClientCommand::Navigate(wish), Purpose::Navigate)
}
