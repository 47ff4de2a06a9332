//! Ctrl+R: searches the prompt history of this session and of others as you type.

use super::filter_list::{edited_query, search_frame, search_head};
use super::{Overlay, OverlayArea, OverlayOutcome};
use crate::key::{Key, KeyCode};
use crate::screen::Frame;
use crate::text::{Line, join_fitting, width};
use crate::theme::ColorRole;
use osier_protocol::one_line;

/// Rows on the screen at once.
const MAX_ROWS: usize = 8;

/// The prompts, the query and the matches.
#[derive(Debug)]
pub(crate) struct HistorySearch {
    /// Newest first, without duplicates.
    prompts: Vec<String>,
    query: String,
    matches: Vec<usize>,
    selected: usize,
}

impl HistorySearch {
    /// `texts` is ordered from oldest to newest.
    pub(crate) fn new<'t>(texts: impl DoubleEndedIterator<Item = &'t String>) -> HistorySearch {
        let mut seen = std::collections::BTreeSet::new();
        let texts: Vec<String> = texts.rev().filter(|text| seen.insert(*text)).cloned().collect();
        let mut recall =
            HistorySearch { prompts: texts, query: String::new(), matches: Vec::new(), selected: 0 };
        recall.set_query(String::new());
        recall
    }

    /// Finds prompts that contain every word of the query.
    fn set_query(&mut self, query: String) {
        let words: Vec<String> = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let fits = |text: &String| {
            let text = text.to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.matches = (0..self.prompts.len()).filter(|at| fits(&self.prompts[*at])).collect();
        (self.query, self.selected) = (query, 0);
    }

    fn draw_row(&self, row: usize, columns: usize) -> Line {
        let text = &self.prompts[self.matches[row]];
        let more = text.trim().lines().count().saturating_sub(1);
        let more = match more {
            0 => String::new(),
            1 => "  +1 line".to_owned(),
            more => format!("  +{more} lines"),
        };
        let line = Line::styled(ColorRole::Accent, if row == self.selected { "› " } else { "  " })
            .with(ColorRole::Text, &one_line(text.trim().lines().next().unwrap_or_default(), 400))
            .truncate(columns.saturating_sub(width(&more)))
            .with(ColorRole::Dim, &more);
        if row == self.selected { line.filled(ColorRole::SelectedBg) } else { line }
    }
}

impl Overlay for HistorySearch {
    fn handle_key(&mut self, key: Key, _area: OverlayArea) -> OverlayOutcome {
        let last = self.matches.len().saturating_sub(1);
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) | (KeyCode::Char('c' | 'g'), true) => return OverlayOutcome::Close,
            (KeyCode::Char('r'), true) | (KeyCode::Down, _) => self.selected = (self.selected + 1).min(last),
            (KeyCode::Char('s'), true) | (KeyCode::Up, _) => self.selected = self.selected.saturating_sub(1),
            (KeyCode::PageDown, _) => self.selected = (self.selected + MAX_ROWS).min(last),
            (KeyCode::PageUp, _) => self.selected = self.selected.saturating_sub(MAX_ROWS),
            (KeyCode::Enter | KeyCode::Tab | KeyCode::Right, _) => {
                return match self.matches.get(self.selected) {
                    Some(text) => OverlayOutcome::CloseAndInsert(self.prompts[*text].clone()),
                    None => OverlayOutcome::Stay,
                };
            }
            (KeyCode::Char('u'), true) => self.set_query(String::new()),
            _ => {
                if let Some(query) = edited_query(&self.query, key) {
                    self.set_query(query);
                }
            }
        }
        OverlayOutcome::Stay
    }

    fn paste(&mut self, text: &str) {
        self.set_query(format!("{}{}", self.query, text.replace('\n', " ")));
    }

    fn view(&self, area: OverlayArea) -> Frame {
        let mut lines = search_head("Prompt history", &self.query);
        let height = area.rows.saturating_sub(4).clamp(1, MAX_ROWS);
        let from = (self.selected + 1).saturating_sub(height);
        lines.extend(
            (from..(from + height).min(self.matches.len())).map(|row| self.draw_row(row, area.columns)),
        );
        if self.matches.is_empty() {
            lines.push(Line::styled(ColorRole::Dim, "  no match"));
        }
        let at = if self.matches.is_empty() { 0 } else { self.selected + 1 };
        let count = format!("({at}/{})", self.matches.len());
        let keys = [count.as_str(), "enter use", "ctrl+r older", "ctrl+s newer", "esc cancel"];
        lines.push(Line::styled(ColorRole::Dim, &join_fitting(keys, area.columns, 1).concat()));
        search_frame(lines, &self.query, area)
    }
}
