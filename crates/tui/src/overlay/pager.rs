//! A scrollable page of text.

use super::{Overlay, OverlayArea, OverlayOutcome};
use crate::key::{Key, KeyCode};
use crate::panel::key_hints;
use crate::screen::Frame;
use crate::text::{Line, Style};
use crate::theme::ColorRole;

/// A title and the lines below it.
#[derive(Debug)]
pub(crate) struct Pager {
    title: String,
    lines: Vec<Line>,
    first_line: usize,
}

impl Pager {
    pub(crate) fn new(title: &str, lines: Vec<Line>) -> Pager {
        Pager { title: title.to_owned(), lines, first_line: 0 }
    }

    fn page_height(area: OverlayArea) -> usize {
        area.rows.saturating_sub(2).max(1)
    }
}

impl Overlay for Pager {
    fn handle_key(&mut self, key: Key, area: OverlayArea) -> OverlayOutcome {
        let height = Pager::page_height(area);
        let most = self.lines.len().saturating_sub(height);
        self.first_line = match (key.code, key.ctrl) {
            (KeyCode::Escape | KeyCode::Enter | KeyCode::Char('q'), _) | (KeyCode::Char('c'), true) => {
                return OverlayOutcome::Close;
            }
            (KeyCode::Up, _) => self.first_line.saturating_sub(1),
            (KeyCode::Down, _) => (self.first_line + 1).min(most),
            (KeyCode::PageUp | KeyCode::Left, _) => self.first_line.saturating_sub(height),
            (KeyCode::PageDown | KeyCode::Right | KeyCode::Char(' '), _) => {
                (self.first_line + height).min(most)
            }
            (KeyCode::Home, _) => 0,
            (KeyCode::End, _) => most,
            _ => self.first_line,
        };
        OverlayOutcome::Stay
    }

    fn view(&self, area: OverlayArea) -> Frame {
        let height = Pager::page_height(area);
        let mut lines = vec![Line::styled(Style::from(ColorRole::Accent).bold(), &self.title)];
        lines.extend(self.lines.iter().skip(self.first_line).take(height).cloned());
        let more = self.lines.len().saturating_sub(self.first_line + height);
        let below = format!("scroll, {more} more lines");
        let scroll = (more > 0).then_some(("↑↓", below.as_str()));
        let keys: Vec<(&str, &str)> = [("esc", "close")].into_iter().chain(scroll).collect();
        lines.push(key_hints(&keys, area.columns));
        Frame { lines: lines.into_iter().map(|line| line.truncate(area.columns)).collect(), cursor: None }
    }
}
