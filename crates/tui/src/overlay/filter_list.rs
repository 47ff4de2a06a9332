//! A list that filters as you type. The component that owns the list decides what a selection does.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::OverlayArea;
use crate::key::{Key, KeyCode};
use crate::screen::Frame;
use crate::text::{Line, Style, join_fitting, width};
use crate::theme::ColorRole;

/// Stands for a value that is missing.
pub(super) const NOT_SET: &str = "(not set)";

/// A narrower list has no third column.
const MIN_SOURCE_COLUMNS: usize = 56;

/// Rows on the screen at once.
const MAX_ROWS: usize = 12;

/// A row: a name, a short description, and whether it is the current value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ListRow {
    pub(crate) name: String,
    pub(crate) description: String,
    /// A third column.
    pub(crate) source: String,
    /// A longer explanation, shown for the selected row.
    pub(crate) note: String,
    pub(crate) is_current: bool,
}

/// The result of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListEvent {
    StayOpen,
    Selected(usize),
    Closed,
}

/// The rows, the query and the selection.
#[derive(Debug, Clone, Default)]
pub(crate) struct FilterList {
    title: String,
    rows: Vec<ListRow>,
    query: String,
    /// The rows that match the query.
    matches: Vec<usize>,
    selected: usize,
}

impl FilterList {
    /// Selects the row with the current value.
    pub(crate) fn new(title: &str, rows: Vec<ListRow>) -> FilterList {
        let at = rows.iter().position(|row| row.is_current).unwrap_or(0);
        let shown = (0..rows.len()).collect();
        FilterList { title: title.to_owned(), rows, query: String::new(), matches: shown, selected: at }
    }

    /// Replaces the rows. Keeps the selection on the row with the same name.
    pub(crate) fn set_rows(&mut self, rows: Vec<ListRow>) {
        let name = self.matches.get(self.selected).map(|at| self.rows[*at].name.clone());
        self.rows = rows;
        self.update_matches();
        let found = self.matches.iter().position(|at| Some(&self.rows[*at].name) == name.as_ref());
        self.selected = found.unwrap_or(0);
    }

    fn update_matches(&mut self) {
        let pattern = Pattern::parse(&self.query, CaseMatching::Ignore, Normalization::Smart);
        let (mut matcher, mut letters) = (Matcher::new(Config::DEFAULT), Vec::new());
        let mut score = |row: &ListRow| pattern.score(Utf32Str::new(&row.name, &mut letters), &mut matcher);
        let mut found: Vec<(u32, usize)> =
            self.rows.iter().enumerate().filter_map(|(at, row)| Some((score(row)?, at))).collect();
        found.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
        self.matches = found.into_iter().map(|(_, at)| at).collect();
        self.selected = 0;
    }

    fn set_query(&mut self, query: String) {
        self.query = query;
        self.update_matches();
    }

    pub(crate) fn handle_key(&mut self, key: Key, area: OverlayArea) -> ListEvent {
        let (last, page) = (self.matches.len().saturating_sub(1), list_height(area));
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) if !self.query.is_empty() => self.set_query(String::new()),
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) => return ListEvent::Closed,
            (KeyCode::Up, _) => self.selected = self.selected.checked_sub(1).unwrap_or(last),
            (KeyCode::Down | KeyCode::Tab, _) => {
                self.selected = if self.selected >= last { 0 } else { self.selected + 1 }
            }
            (KeyCode::PageUp, _) => self.selected = self.selected.saturating_sub(page),
            (KeyCode::PageDown, _) => self.selected = (self.selected + page).min(last),
            (KeyCode::Home, _) => self.selected = 0,
            (KeyCode::End, _) => self.selected = last,
            (KeyCode::Enter, _) => {
                return self
                    .matches
                    .get(self.selected)
                    .map_or(ListEvent::StayOpen, |at| ListEvent::Selected(*at));
            }
            _ => {
                if let Some(query) = edited_query(&self.query, key) {
                    self.set_query(query);
                }
            }
        }
        ListEvent::StayOpen
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.set_query(format!("{}{}", self.query, text.replace('\n', " ")));
    }

    pub(crate) fn view(&self, area: OverlayArea) -> Frame {
        let mut lines = search_head(&self.title, &self.query);
        let height = list_height(area);
        let from = (self.selected + 1).saturating_sub(height);
        let wide = self.rows.iter().map(|row| width(&row.name)).max().unwrap_or(0).min(area.columns / 2);
        let has_source =
            area.columns >= MIN_SOURCE_COLUMNS && self.rows.iter().any(|row| !row.source.is_empty());
        let middle = self.rows.iter().map(|row| width(&row.description)).max().unwrap_or(0);
        let middle = if has_source { middle.min(area.columns / 3) } else { 0 };
        for (at, row) in self.matches.iter().enumerate().skip(from).take(height) {
            lines.push(self.draw_row(&self.rows[*row], at == self.selected, (wide, middle), area.columns));
        }
        if self.matches.is_empty() {
            lines.push(Line::styled(ColorRole::Dim, "  no match; esc clears the search"));
        }
        if let Some(row) =
            self.matches.get(self.selected).map(|at| &self.rows[*at]).filter(|row| !row.note.is_empty())
        {
            lines.push(Line::with_keys(ColorRole::Text, &row.note).prepend(ColorRole::Dim, "  "));
        }
        let at = if self.matches.is_empty() { 0 } else { self.selected + 1 };
        let position = format!("({at}/{}) ↑↓ move", self.matches.len());
        let keys = [position.as_str(), "enter select", "esc cancel"];
        lines.push(Line::styled(ColorRole::Dim, &join_fitting(keys, area.columns, 1).concat()));
        search_frame(lines, &self.query, area)
    }

    fn draw_row(
        &self,
        row: &ListRow,
        selected: bool,
        (wide, middle): (usize, usize),
        columns: usize,
    ) -> Line {
        let name = Line::styled(Style { bold: selected, ..ColorRole::Text.into() }, &row.name).truncate(wide);
        let pad = " ".repeat(wide.saturating_sub(name.width()));
        let mut line = name.prepend(ColorRole::Accent, if selected { "› " } else { "  " });
        line.push(ColorRole::Dim, &format!("{pad}  "));
        if middle > 0 {
            let role = if row.description == NOT_SET { ColorRole::Dim } else { ColorRole::Text };
            let value = Line::styled(role, &row.description).truncate(middle);
            let pad = " ".repeat(middle.saturating_sub(value.width()));
            line.spans.extend(value.spans);
            line.push(ColorRole::Dim, &format!("{pad}  {}", row.source));
        } else {
            line.push(ColorRole::Dim, &row.description);
        }
        line.push(ColorRole::Active, if row.is_current { "  ← current" } else { "" });
        let line = line.truncate(columns);
        if selected { line.filled(ColorRole::SelectedBg) } else { line }
    }
}

fn list_height(area: OverlayArea) -> usize {
    area.rows.saturating_sub(5).clamp(1, MAX_ROWS)
}

/// The query after a key that edits it; `None` for any other key.
pub(super) fn edited_query(query: &str, key: Key) -> Option<String> {
    match key.code {
        KeyCode::Backspace => {
            let mut shorter = query.to_owned();
            shorter.pop();
            Some(shorter)
        }
        _ => key.typed_char().map(|typed| format!("{query}{typed}")),
    }
}

/// The title and the query, drawn above the matching rows.
pub(super) fn search_head(title: &str, query: &str) -> Vec<Line> {
    let prompt = Line::styled(ColorRole::Accent, "/ ");
    let typed = match query {
        "" => prompt.with(ColorRole::Dim, "type to search"),
        query => prompt.with(ColorRole::Text, query),
    };
    vec![Line::styled(Style::from(ColorRole::Accent).bold(), title), typed]
}

/// A frame with the cursor after the query.
pub(super) fn search_frame(lines: Vec<Line>, query: &str, area: OverlayArea) -> Frame {
    let cursor = Some((1, (2 + width(query)).min(area.columns.saturating_sub(1))));
    Frame { lines: lines.into_iter().map(|line| line.truncate(area.columns)).collect(), cursor }
}
