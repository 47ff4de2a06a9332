//! A question with a few answers to choose from.

use std::fmt;

use super::{Overlay, OverlayArea, OverlayEvent, OverlayOutcome};
use crate::key::{Key, KeyCode};
use crate::msg::CommandPurpose;
use crate::screen::Frame;
use crate::text::{Line, Style, hard_wrap};
use crate::theme::ColorRole;

type ChoiceHandler = Box<dyn Fn() -> OverlayOutcome + Send>;

/// A title and its answers, each with what it does.
pub(crate) struct ChoicePrompt {
    title: String,
    /// What the question is about, in full.
    details: Vec<Line>,
    answers: Vec<(String, ChoiceHandler)>,
    selected: usize,
}

impl ChoicePrompt {
    pub(crate) fn new(title: &str) -> ChoicePrompt {
        ChoicePrompt { title: title.to_owned(), details: Vec::new(), answers: Vec::new(), selected: 0 }
    }

    /// Shows what the question is about. Then no digit is an answer, so that text which you are typing cannot answer it.
    pub(crate) fn with_details(mut self, text: &str) -> ChoicePrompt {
        self.details = text.lines().map(|line| Line::styled(ColorRole::Text, line)).collect();
        self
    }

    pub(crate) fn with_answer(
        mut self,
        answer: &str,
        then: impl Fn() -> OverlayOutcome + Send + 'static,
    ) -> ChoicePrompt {
        self.answers.push((answer.to_owned(), Box::new(then)));
        self
    }
}

impl fmt::Debug for ChoicePrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Choose")
            .field("title", &self.title)
            .field("at", &self.selected)
            .finish_non_exhaustive()
    }
}

impl Overlay for ChoicePrompt {
    fn handle_key(&mut self, key: Key, _area: OverlayArea) -> OverlayOutcome {
        let count = self.answers.len().max(1);
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) => return OverlayOutcome::Close,
            (KeyCode::Up, _) => self.selected = (self.selected + count - 1) % count,
            (KeyCode::Down | KeyCode::Tab, _) => self.selected = (self.selected + 1) % count,
            (KeyCode::Char(digit @ '1'..='9'), false) if self.details.is_empty() => {
                if let Some((_, then)) = self.answers.get(digit as usize - '1' as usize) {
                    return then();
                }
            }
            (KeyCode::Enter, _) => {
                if let Some((_, then)) = self.answers.get(self.selected) {
                    return then();
                }
            }
            _ => {}
        }
        OverlayOutcome::Stay
    }

    fn view(&self, area: OverlayArea) -> Frame {
        let mut lines =
            vec![Line::styled(Style::from(ColorRole::Accent).bold(), &self.title).truncate(area.columns)];
        lines.extend(self.details.iter().flat_map(|line| hard_wrap(line, area.columns)));
        for (at, (answer, _)) in self.answers.iter().enumerate() {
            let line = Line::styled(ColorRole::Accent, if at == self.selected { "› " } else { "  " })
                .with(ColorRole::Text, &format!("{}. {answer}", at + 1));
            let line = line.truncate(area.columns);
            lines.push(if at == self.selected { line.filled(ColorRole::SelectedBg) } else { line });
        }
        let select = if self.details.is_empty() { "enter or number" } else { "enter" };
        let keys = format!("↑↓ move · {select} select · esc cancel");
        lines.push(Line::styled(ColorRole::Dim, &keys).truncate(area.columns));
        Frame { lines, cursor: None }
    }

    fn handle_event(&mut self, event: &OverlayEvent<'_>) -> OverlayOutcome {
        match event {
            // The move that this question belongs to is over. If it failed, the tree below is visible again.
            OverlayEvent::Replied(CommandPurpose::Navigate, _) => OverlayOutcome::Close,
            _ => OverlayOutcome::Stay,
        }
    }
}
