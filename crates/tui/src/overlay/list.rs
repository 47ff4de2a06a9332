//! A list that filters as you type. The component that owns the list decides what a selection does.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::Room;
use crate::key::{Key, KeyCode};
use crate::screen::Frame;
use crate::text::{Line, Style, width};
use crate::theme::ColorRole;

/// Rows on the screen at once.
const MOST: usize = 12;

/// A row: a name, a short description, and whether it is the current value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) told: String,
    /// A longer explanation, shown for the selected row.
    pub(crate) note: String,
    pub(crate) now: bool,
}

/// The result of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    Nothing,
    Chosen(usize),
    Closed,
}

/// The rows, the query and the selection.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    title: String,
    rows: Vec<Row>,
    query: String,
    /// The rows that match the query.
    shown: Vec<usize>,
    at: usize,
}

impl List {
    /// Selects the row with the current value.
    pub(crate) fn new(title: &str, rows: Vec<Row>) -> List {
        let at = rows.iter().position(|row| row.now).unwrap_or(0);
        let shown = (0..rows.len()).collect();
        List { title: title.to_owned(), rows, query: String::new(), shown, at }
    }

    /// Replaces the rows. Keeps the selection on the row with the same name.
    pub(crate) fn renew(&mut self, rows: Vec<Row>) {
        let name = self.shown.get(self.at).map(|at| self.rows[*at].name.clone());
        self.rows = rows;
        self.sift();
        let found = self.shown.iter().position(|at| Some(&self.rows[*at].name) == name.as_ref());
        self.at = found.unwrap_or(0);
    }

    fn sift(&mut self) {
        let pattern = Pattern::parse(&self.query, CaseMatching::Ignore, Normalization::Smart);
        let (mut matcher, mut letters) = (Matcher::new(Config::DEFAULT), Vec::new());
        let mut score = |row: &Row| pattern.score(Utf32Str::new(&row.name, &mut letters), &mut matcher);
        let mut found: Vec<(u32, usize)> =
            self.rows.iter().enumerate().filter_map(|(at, row)| Some((score(row)?, at))).collect();
        found.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
        self.shown = found.into_iter().map(|(_, at)| at).collect();
        self.at = 0;
    }

    fn search(&mut self, query: String) {
        self.query = query;
        self.sift();
    }

    pub(crate) fn key(&mut self, key: Key, room: Room) -> Taken {
        let (last, page) = (self.shown.len().saturating_sub(1), height(room));
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) if !self.query.is_empty() => self.search(String::new()),
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) => return Taken::Closed,
            (KeyCode::Up, _) => self.at = self.at.checked_sub(1).unwrap_or(last),
            (KeyCode::Down | KeyCode::Tab, _) => self.at = if self.at >= last { 0 } else { self.at + 1 },
            (KeyCode::PageUp, _) => self.at = self.at.saturating_sub(page),
            (KeyCode::PageDown, _) => self.at = (self.at + page).min(last),
            (KeyCode::Home, _) => self.at = 0,
            (KeyCode::End, _) => self.at = last,
            (KeyCode::Enter, _) => {
                return self.shown.get(self.at).map_or(Taken::Nothing, |at| Taken::Chosen(*at));
            }
            _ => {
                if let Some(query) = edited_query(&self.query, key) {
                    self.search(query);
                }
            }
        }
        Taken::Nothing
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.search(format!("{}{}", self.query, text.replace('\n', " ")));
    }

    pub(crate) fn view(&self, room: Room) -> Frame {
        let mut lines = search_head(&self.title, &self.query);
        let height = height(room);
        let from = (self.at + 1).saturating_sub(height);
        let wide = self.rows.iter().map(|row| width(&row.name)).max().unwrap_or(0).min(room.columns / 2);
        for (at, row) in self.shown.iter().enumerate().skip(from).take(height) {
            lines.push(self.row(&self.rows[*row], at == self.at, wide, room.columns));
        }
        if self.shown.is_empty() {
            lines.push(Line::styled(ColorRole::Dim, "  no match; esc clears the search"));
        }
        if let Some(row) =
            self.shown.get(self.at).map(|at| &self.rows[*at]).filter(|row| !row.note.is_empty())
        {
            lines.push(Line::styled(ColorRole::Dim, "  ").with(ColorRole::Text, &row.note));
        }
        let at = if self.shown.is_empty() { 0 } else { self.at + 1 };
        lines.push(Line::styled(
            ColorRole::Dim,
            &format!("({at}/{}) ↑↓ move · enter select · esc cancel", self.shown.len()),
        ));
        search_frame(lines, &self.query, room)
    }

    fn row(&self, row: &Row, selected: bool, wide: usize, columns: usize) -> Line {
        let name = Line::styled(Style { bold: selected, ..ColorRole::Text.into() }, &row.name).truncate(wide);
        let pad = " ".repeat(wide.saturating_sub(name.width()));
        let mut line = name.prepend(ColorRole::Accent, if selected { "› " } else { "  " });
        line.push(ColorRole::Dim, &format!("{pad}  {}", row.told));
        line.push(ColorRole::Active, if row.now { "  ← current" } else { "" });
        let line = line.truncate(columns);
        if selected { line.with_background(ColorRole::SelectedBg) } else { line }
    }
}

fn height(room: Room) -> usize {
    room.rows.saturating_sub(5).clamp(1, MOST)
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
pub(super) fn search_frame(lines: Vec<Line>, query: &str, room: Room) -> Frame {
    let cursor = Some((1, (2 + width(query)).min(room.columns.saturating_sub(1))));
    Frame { lines: lines.into_iter().map(|line| line.truncate(room.columns)).collect(), cursor }
}
