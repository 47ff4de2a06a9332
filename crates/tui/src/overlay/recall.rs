//! Ctrl+R: searches the prompt history of this session and of others as you type.

use super::list::{edited_query, search_frame, search_head};
use super::{Outcome, Overlay, Room};
use crate::key::{Key, KeyCode};
use crate::screen::Frame;
use crate::text::{Line, join_fitting, width};
use crate::theme::ColorRole;
use osier_tree::projection::preview::one_line;

/// Rows on the screen at once.
const MOST: usize = 8;

/// The prompts, the query and the matches.
#[derive(Debug)]
pub(crate) struct Recall {
    /// Newest first, without duplicates.
    texts: Vec<String>,
    query: String,
    found: Vec<usize>,
    at: usize,
}

impl Recall {
    /// `texts` is ordered from oldest to newest.
    pub(crate) fn new<'t>(texts: impl DoubleEndedIterator<Item = &'t String>) -> Recall {
        let mut seen = std::collections::BTreeSet::new();
        let texts: Vec<String> = texts.rev().filter(|text| seen.insert(*text)).cloned().collect();
        let mut recall = Recall { texts, query: String::new(), found: Vec::new(), at: 0 };
        recall.search(String::new());
        recall
    }

    /// Finds prompts that contain every word of the query.
    fn search(&mut self, query: String) {
        let words: Vec<String> = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let fits = |text: &String| {
            let text = text.to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.found = (0..self.texts.len()).filter(|at| fits(&self.texts[*at])).collect();
        (self.query, self.at) = (query, 0);
    }

    fn row(&self, row: usize, columns: usize) -> Line {
        let text = &self.texts[self.found[row]];
        let more = text.trim().lines().count().saturating_sub(1);
        let more = match more {
            0 => String::new(),
            1 => "  +1 line".to_owned(),
            more => format!("  +{more} lines"),
        };
        let line = Line::styled(ColorRole::Accent, if row == self.at { "› " } else { "  " })
            .with(ColorRole::Text, &one_line(text.trim().lines().next().unwrap_or_default(), 400))
            .truncate(columns.saturating_sub(width(&more)))
            .with(ColorRole::Dim, &more);
        if row == self.at { line.with_background(ColorRole::SelectedBg) } else { line }
    }
}

impl Overlay for Recall {
    fn key(&mut self, key: Key, _room: Room) -> Outcome {
        let last = self.found.len().saturating_sub(1);
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) | (KeyCode::Char('c' | 'g'), true) => return Outcome::Close,
            (KeyCode::Char('r'), true) | (KeyCode::Down, _) => self.at = (self.at + 1).min(last),
            (KeyCode::Char('s'), true) | (KeyCode::Up, _) => self.at = self.at.saturating_sub(1),
            (KeyCode::PageDown, _) => self.at = (self.at + MOST).min(last),
            (KeyCode::PageUp, _) => self.at = self.at.saturating_sub(MOST),
            (KeyCode::Enter | KeyCode::Tab | KeyCode::Right, _) => {
                return match self.found.get(self.at) {
                    Some(text) => Outcome::Write(self.texts[*text].clone()),
                    None => Outcome::Stay,
                };
            }
            (KeyCode::Char('u'), true) => self.search(String::new()),
            _ => {
                if let Some(query) = edited_query(&self.query, key) {
                    self.search(query);
                }
            }
        }
        Outcome::Stay
    }

    fn paste(&mut self, text: &str) {
        self.search(format!("{}{}", self.query, text.replace('\n', " ")));
    }

    fn view(&self, room: Room) -> Frame {
        let mut lines = search_head("Prompt history", &self.query);
        let height = room.rows.saturating_sub(4).clamp(1, MOST);
        let from = (self.at + 1).saturating_sub(height);
        lines.extend((from..(from + height).min(self.found.len())).map(|row| self.row(row, room.columns)));
        if self.found.is_empty() {
            lines.push(Line::styled(ColorRole::Dim, "  no match"));
        }
        let at = if self.found.is_empty() { 0 } else { self.at + 1 };
        let count = format!("({at}/{})", self.found.len());
        let keys = [count.as_str(), "enter use", "ctrl+r older", "ctrl+s newer", "esc cancel"];
        lines.push(Line::styled(ColorRole::Dim, &join_fitting(keys, room.columns, 1).concat()));
        search_frame(lines, &self.query, room)
    }
}
