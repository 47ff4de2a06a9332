//! The session picker: lists the sessions of this directory or of all directories by thread, by time or by match. It also
//! renames and deletes sessions.

mod search;
mod threads;

use std::cmp::Reverse;
use std::sync::Arc;

use osier_protocol::search_query::{ExcerptLine, MessageHit};
use osier_protocol::{Card, SessionId, SessionRef, one_line};

use super::{ChoicePrompt, Overlay, OverlayArea, OverlayEvent, OverlayOutcome, TextPrompt};
use crate::key::{Key, KeyCode};
use crate::msg::{Action, OpenTarget, SearchHit};
use crate::screen::Frame;
use crate::state::UiState;
use crate::text::{Line, Style, join_fitting, width};
use crate::theme::ColorRole;
use search::SessionSearch;
use threads::order_by_thread;

/// The keys in the last line, most important first.
const KEY_HELP: [&str; 7] = [
    "tab scope",
    "ctrl+s sort",
    "ctrl+n named",
    "ctrl+r rename",
    "ctrl+d delete",
    "ctrl+p paths",
    "esc cancel",
];

/// Rows on the screen at once.
const MAX_ROWS: usize = 10;

/// Lines of a message that matches, below its session.
const MAX_MESSAGE_LINES: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionOrder {
    Threaded,
    Recent,
    BestMatch,
}

/// The session list, its scope, order and search.
#[derive(Debug)]
pub(crate) struct SessionPicker {
    cwd: String,
    /// The open session and its store. It cannot be deleted.
    current: SessionId,
    store: String,
    cards: Option<Arc<Vec<Card>>>,
    /// The cards come from more than one store.
    many_stores: bool,
    all_directories: bool,
    named_only: bool,
    show_paths: bool,
    sort: SessionOrder,
    search: SessionSearch,
    /// The cards on the list, each with its depth in its thread.
    rows: Vec<(usize, usize)>,
    selected: usize,
    /// A key moved the cursor since the query changed.
    selected_by_key: bool,
}

impl SessionPicker {
    pub(crate) fn new(state: &UiState) -> SessionPicker {
        SessionPicker {
            cwd: state.config.cwd.clone(),
            current: state.status.id.clone(),
            store: state.status.store.clone(),
            cards: None,
            many_stores: false,
            all_directories: false,
            named_only: false,
            show_paths: false,
            sort: SessionOrder::Threaded,
            search: SessionSearch::default(),
            rows: Vec::new(),
            selected: 0,
            selected_by_key: false,
        }
    }

    fn cards(&self) -> &[Card] {
        self.cards.as_deref().map(Vec::as_slice).unwrap_or_default()
    }

    /// The cards in scope.
    fn cards_in_scope(&self) -> impl Iterator<Item = usize> {
        (0..self.cards().len()).filter(|at| self.is_in_scope(*at))
    }

    fn is_in_scope(&self, card: usize) -> bool {
        let is_named = |card: &Card| card.name.as_ref().is_some_and(|name| !name.trim().is_empty());
        self.cards().get(card).is_some_and(|card| {
            (self.all_directories || card.cwd == self.cwd) && (!self.named_only || is_named(card))
        })
    }

    /// The sort key of rows outside of threads. The store lists the most recently used card first.
    fn sort_key(&self, card: usize) -> (Reverse<Option<u32>>, usize) {
        let score = self.search.score(card).filter(|_| self.sort != SessionOrder::Recent);
        (Reverse(score), card)
    }

    /// Recomputes which cards are on the list.
    fn update_rows(&mut self) {
        let by_thread = self.sort == SessionOrder::Threaded && self.search.is_empty();
        let mut found: Vec<usize> =
            self.cards_in_scope().filter(|card| self.search.score(*card).is_some()).collect();
        if !by_thread {
            found.sort_by_key(|card| self.sort_key(*card));
        }
        self.rows = match by_thread {
            true => order_by_thread(self.cards(), &found),
            false => found.into_iter().map(|at| (at, 0)).collect(),
        };
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
    }

    /// Searches the conversations of the cards that do not match by themselves. Replaces a search that is still running.
    fn search_conversations(&mut self) -> OverlayOutcome {
        let among: Vec<usize> =
            self.cards_in_scope().filter(|at| self.search.needs_conversation(*at)).collect();
        let was_reading = std::mem::replace(&mut self.search.is_running, !among.is_empty());
        let Some(cards) = self.cards.clone().filter(|_| !among.is_empty()) else {
            return OverlayOutcome::Run(was_reading.then_some(Action::StopSearch).into_iter().collect());
        };
        let query = self.search.query().to_owned();
        OverlayOutcome::Run(vec![Action::Search { query, cards, among }])
    }

    fn set_query(&mut self, text: String) -> OverlayOutcome {
        let cards = self.cards.clone().unwrap_or_default();
        self.search.set_query(text, &cards);
        (self.selected, self.selected_by_key) = (0, false);
        self.update_rows();
        self.search_conversations()
    }

    /// Applies a changed scope.
    fn apply_scope(&mut self) -> OverlayOutcome {
        self.update_rows();
        self.search_conversations()
    }

    /// Adds a session whose conversation matches; `None` ends the search. The cursor stays on the selected session.
    fn add_search_hit(&mut self, hit: Option<&SearchHit>) {
        let Some(hit) = hit else {
            self.search.is_running = false;
            return;
        };
        let card = hit.card;
        if !self.search.needs_conversation(card) || !self.is_in_scope(card) {
            return;
        }
        self.search.add_match(hit);
        let rank = self.sort_key(card);
        let row = self.rows.partition_point(|(other, _)| self.sort_key(*other) < rank);
        let moves = self.selected_by_key && row <= self.selected && !self.rows.is_empty();
        self.rows.insert(row, (card, 0));
        self.selected += usize::from(moves);
    }

    fn select_row(&mut self, row: usize) {
        (self.selected, self.selected_by_key) = (row, true);
    }

    fn close_with(&self, action: Option<Action>) -> OverlayOutcome {
        let stop = self.search.is_running.then_some(Action::StopSearch);
        OverlayOutcome::CloseAndRun(stop.into_iter().chain(action).collect())
    }

    fn is_current(&self, card: &Card) -> bool {
        card.store == self.store && self.current == *card.id
    }

    fn selected_card(&self) -> Option<&Card> {
        self.cards.as_ref()?.get(self.rows.get(self.selected)?.0)
    }

    /// The message of the selected session that matches the search.
    fn selected_message(&self) -> Option<&MessageHit> {
        self.search.message(self.rows.get(self.selected)?.0)
    }

    /// The lines around the match in the selected session. There is nothing to add if the row has the only one.
    fn draw_message(&self) -> Vec<Line> {
        let Some(message) = self.selected_message().filter(|message| message.lines.len() > 1) else {
            return Vec::new();
        };
        let line = |line: &ExcerptLine| {
            let role = if line.is_match { ColorRole::Text } else { ColorRole::Dim };
            Line::styled(ColorRole::Border, "  │ ").with(role, &one_line(&line.text, 200))
        };
        message.lines.iter().take(MAX_MESSAGE_LINES).map(line).collect()
    }

    fn ask_rename(&self) -> OverlayOutcome {
        let Some(card) = self.selected_card() else { return OverlayOutcome::Stay };
        let target = SessionRef::from_card(card);
        let name = card.name.clone().unwrap_or_default();
        OverlayOutcome::Open(Box::new(TextPrompt::new("Session name", &name, move |name| {
            OverlayOutcome::CloseAndRun(vec![Action::RenameSession { target: target.clone(), name }])
        })))
    }

    fn ask_delete(&self) -> OverlayOutcome {
        let Some(card) = self.selected_card() else { return OverlayOutcome::Stay };
        if self.is_current(card) {
            return OverlayOutcome::Open(Box::new(
                ChoicePrompt::new("Cannot delete the open session; switch to another one first.")
                    .with_answer("ok", || OverlayOutcome::Close),
            ));
        }
        let target = SessionRef::from_card(card);
        let place =
            if self.many_stores { format!(" from {}", one_line(&card.store, 20)) } else { String::new() };
        OverlayOutcome::Open(Box::new(
            ChoicePrompt::new(&format!("Delete \"{}\"{place} permanently?", one_line(card.title(), 60)))
                .with_answer("keep", || OverlayOutcome::Close)
                .with_answer("delete", move || {
                    OverlayOutcome::CloseAndRun(vec![Action::DeleteSession(target.clone())])
                }),
        ))
    }

    /// Explains an empty list.
    fn empty_notice(&self) -> Option<Line> {
        let text = match (&self.cards, self.search.error()) {
            (None, _) => "loading…",
            (_, Some(wrong)) => return Some(Line::styled(ColorRole::Bad, &format!("  {wrong}"))),
            _ if !self.rows.is_empty() || self.search.is_running => return None,
            _ if self.all_directories => "no sessions",
            _ => "no sessions here; tab lists all directories",
        };
        Some(Line::styled(ColorRole::Dim, &format!("  {text}")))
    }

    fn draw_row(&self, at: usize, area: OverlayArea) -> Line {
        let (card, depth) = self.rows[at];
        let found = self.search.matching_line(card);
        let Some(card) = self.cards.as_ref().and_then(|cards| cards.get(card)) else { return Line::new() };
        let thread =
            if depth == 0 { String::new() } else { format!("{}└─ ", "   ".repeat((depth - 1).min(5))) };
        let place =
            if self.all_directories || self.show_paths { format!("{}  ", card.cwd) } else { String::new() };
        let store = if self.many_stores { format!("{}  ", one_line(&card.store, 20)) } else { String::new() };
        let age = area.clock.format_age(card.modified);
        let right = format!("  {place}{store}{} · {age} · {}", card.message_count, &card.short_id);
        let mark = if self.is_current(card) { "  ← current" } else { "" };
        let area = area.columns.saturating_sub(width(&right) + width(mark) + 2);
        let role = if card.name.is_some() { ColorRole::Label } else { ColorRole::Text };
        let mut left = Line::styled(ColorRole::Border, &thread).with(role, &one_line(card.title(), 200));
        if let Some(found) = found {
            // The title leaves room for the line that explains why the session is listed.
            left = left.truncate(area / 2).with(ColorRole::Dim, &format!("  {}", one_line(found, 200)));
        }
        let left = left.truncate(area);
        let selected = at == self.selected;
        let pad = " ".repeat(area.saturating_sub(left.width()));
        let mut line = left.prepend(ColorRole::Accent, if selected { "› " } else { "  " });
        line.push(ColorRole::Active, mark);
        line.push(ColorRole::Dim, &format!("{pad}{right}"));
        if selected { line.filled(ColorRole::SelectedBg) } else { line }
    }
}

impl Overlay for SessionPicker {
    fn handle_key(&mut self, key: Key, area: OverlayArea) -> OverlayOutcome {
        let last = self.rows.len().saturating_sub(1);
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) if !self.search.query().is_empty() => return self.set_query(String::new()),
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) => return self.close_with(None),
            (KeyCode::Up, _) => self.select_row(self.selected.checked_sub(1).unwrap_or(last)),
            (KeyCode::Down, _) => self.select_row(if self.selected >= last { 0 } else { self.selected + 1 }),
            (KeyCode::PageUp, _) => self.select_row(self.selected.saturating_sub(MAX_ROWS.min(area.rows))),
            (KeyCode::PageDown, _) => self.select_row((self.selected + MAX_ROWS.min(area.rows)).min(last)),
            (KeyCode::Tab, _) => {
                self.all_directories = !self.all_directories;
                return self.apply_scope();
            }
            (KeyCode::Char('s'), true) => {
                self.sort = match self.sort {
                    SessionOrder::Threaded => SessionOrder::Recent,
                    SessionOrder::Recent => SessionOrder::BestMatch,
                    SessionOrder::BestMatch => SessionOrder::Threaded,
                }
            }
            (KeyCode::Char('n'), true) => {
                self.named_only = !self.named_only;
                return self.apply_scope();
            }
            (KeyCode::Char('p'), true) => self.show_paths = !self.show_paths,
            (KeyCode::Char('r'), true) => return self.ask_rename(),
            (KeyCode::Char('d'), true) => return self.ask_delete(),
            (KeyCode::Backspace, true) if self.search.query().is_empty() => return self.ask_delete(),
            (KeyCode::Backspace, _) => {
                let mut text = self.search.query().to_owned();
                text.pop();
                return self.set_query(text);
            }
            (KeyCode::Enter, _) => {
                let Some(card) = self.selected_card() else { return OverlayOutcome::Stay };
                let session = SessionRef::from_card(card);
                let target = match self.selected_message() {
                    Some(message) => OpenTarget::Found(session, message.entry_id.clone()),
                    None => OpenTarget::Listed(session),
                };
                return self.close_with(Some(Action::Open(target)));
            }
            _ => {
                if let Some(typed) = key.typed_char() {
                    return self.set_query(format!("{}{typed}", self.search.query()));
                }
            }
        }
        self.update_rows();
        OverlayOutcome::Stay
    }

    fn view(&self, area: OverlayArea) -> Frame {
        let scope = if self.all_directories { "all directories" } else { "this directory" };
        let sort = match self.sort {
            SessionOrder::Threaded => "threads",
            SessionOrder::Recent => "recent",
            SessionOrder::BestMatch => "best match",
        };
        let named = if self.named_only { " · named only" } else { "" };
        let reading = if self.search.is_running { " · searching messages…" } else { "" };
        let query = self.search.query();
        let mut lines = vec![
            Line::styled(Style::from(ColorRole::Accent).bold(), "Sessions ")
                .with(ColorRole::Dim, &format!("{scope} · {sort}{named}{reading}")),
            Line::styled(ColorRole::Accent, "/ ").with(
                if query.is_empty() { ColorRole::Dim } else { ColorRole::Text },
                if query.is_empty() { "words, \"a phrase\" or re:pattern" } else { query },
            ),
        ];
        let message = self.draw_message();
        let height = area.rows.saturating_sub(4 + message.len()).clamp(1, MAX_ROWS);
        let from = (self.selected + 1).saturating_sub(height);
        for at in from..(from + height).min(self.rows.len()) {
            lines.push(self.draw_row(at, area));
            if at == self.selected {
                lines.extend_from_slice(&message);
            }
        }
        lines.extend(self.empty_notice());
        let at = if self.rows.is_empty() { 0 } else { self.selected + 1 };
        let enter = if self.selected_message().is_some() { "open at the match" } else { "open" };
        let first = format!("({at}/{}) enter {enter}", self.rows.len());
        let foot = join_fitting(std::iter::once(first.as_str()).chain(KEY_HELP), area.columns, 1);
        lines.push(Line::styled(ColorRole::Dim, &foot.concat()));
        let cursor = Some((1, (2 + width(query)).min(area.columns.saturating_sub(1))));
        Frame { lines: lines.into_iter().map(|line| line.truncate(area.columns)).collect(), cursor }
    }

    fn handle_event(&mut self, event: &OverlayEvent<'_>) -> OverlayOutcome {
        match event {
            OverlayEvent::Sessions(cards) => {
                self.cards = Some(Arc::new(cards.to_vec()));
                self.many_stores = cards.iter().any(|card| card.store != cards[0].store);
                self.search.match_cards(cards);
                self.apply_scope()
            }
            OverlayEvent::SearchHit(hit) => {
                self.add_search_hit(hit.as_ref());
                OverlayOutcome::Stay
            }
            _ => OverlayOutcome::Stay,
        }
    }
}

#[cfg(test)]
mod tests;
