//! The session picker: lists the sessions of this directory or of all directories by thread, by time or by match. It also
//! renames and deletes sessions.

mod search;
mod threads;

use std::cmp::Reverse;
use std::sync::Arc;

use osier_tree::projection::card::Card;
use osier_tree::projection::preview::one_line;

use super::{Ask, Choose, News, Outcome, Overlay, Room};
use crate::key::{Key, KeyCode};
use crate::msg::{Action, OpenTarget, SessionRef};
use crate::screen::Frame;
use crate::state::UiState;
use crate::text::{Line, Style, join_fitting, width};
use crate::theme::ColorRole;
use search::Search;
use threads::threaded;

/// The keys in the last line, most important first.
const KEYS: [&str; 7] = [
    "tab scope",
    "ctrl+s sort",
    "ctrl+n named",
    "ctrl+r rename",
    "ctrl+d delete",
    "ctrl+p paths",
    "esc cancel",
];

/// Rows on the screen at once.
const MOST: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Threaded,
    Recent,
    Fitting,
}

/// The session list, its scope, order and search.
#[derive(Debug)]
pub(crate) struct Sessions {
    cwd: String,
    /// The open session and its store. It cannot be deleted.
    current: String,
    store: String,
    cards: Option<Arc<Vec<Card>>>,
    /// The cards come from more than one store.
    many_stores: bool,
    everywhere: bool,
    named: bool,
    paths: bool,
    sort: Sort,
    search: Search,
    /// The cards on the list, each with its depth in its thread.
    shown: Vec<(usize, usize)>,
    at: usize,
    /// A key moved the cursor since the query changed.
    chosen: bool,
}

impl Sessions {
    pub(crate) fn new(state: &UiState) -> Sessions {
        Sessions {
            cwd: state.config.cwd.clone(),
            current: state.status_info.id.clone(),
            store: state.config.store.clone(),
            cards: None,
            many_stores: false,
            everywhere: false,
            named: false,
            paths: false,
            sort: Sort::Threaded,
            search: Search::default(),
            shown: Vec::new(),
            at: 0,
            chosen: false,
        }
    }

    fn cards(&self) -> &[Card] {
        self.cards.as_deref().map(Vec::as_slice).unwrap_or_default()
    }

    /// The cards in scope.
    fn scope(&self) -> impl Iterator<Item = usize> {
        (0..self.cards().len()).filter(|at| self.is_in_scope(*at))
    }

    fn is_in_scope(&self, card: usize) -> bool {
        let is_named = |card: &Card| card.name.as_ref().is_some_and(|name| !name.trim().is_empty());
        self.cards()
            .get(card)
            .is_some_and(|card| (self.everywhere || card.cwd == self.cwd) && (!self.named || is_named(card)))
    }

    /// The sort key of rows outside of threads. The store lists the most recently used card first.
    fn rank(&self, card: usize) -> (Reverse<Option<u32>>, usize) {
        let score = self.search.score(card).filter(|_| self.sort != Sort::Recent);
        (Reverse(score), card)
    }

    /// Recomputes which cards are on the list.
    fn sift(&mut self) {
        let by_thread = self.sort == Sort::Threaded && self.search.is_empty();
        let mut found: Vec<usize> = self.scope().filter(|card| self.search.score(*card).is_some()).collect();
        if !by_thread {
            found.sort_by_key(|card| self.rank(*card));
        }
        self.shown = match by_thread {
            true => threaded(self.cards(), &found),
            false => found.into_iter().map(|at| (at, 0)).collect(),
        };
        self.at = self.at.min(self.shown.len().saturating_sub(1));
    }

    /// Searches the conversations of the cards that do not match by themselves. Replaces a search that is still running.
    fn read(&mut self) -> Outcome {
        let among: Vec<usize> = self.scope().filter(|at| self.search.is_open(*at)).collect();
        let was_reading = std::mem::replace(&mut self.search.is_reading, !among.is_empty());
        let Some(cards) = self.cards.clone().filter(|_| !among.is_empty()) else {
            return Outcome::Do(was_reading.then_some(Action::StopSearch).into_iter().collect());
        };
        let query = self.search.text().to_owned();
        Outcome::Do(vec![Action::Search { query, cards, among }])
    }

    fn search(&mut self, text: String) -> Outcome {
        let cards = self.cards.clone().unwrap_or_default();
        self.search.change(text, &cards);
        (self.at, self.chosen) = (0, false);
        self.sift();
        self.read()
    }

    /// Applies a changed scope.
    fn look_elsewhere(&mut self) -> Outcome {
        self.sift();
        self.read()
    }

    /// Adds a session whose conversation matches; `None` ends the search. The cursor stays on the selected session.
    fn hear_found(&mut self, card: Option<usize>) {
        let Some(card) = card else {
            self.search.is_reading = false;
            return;
        };
        if !self.search.is_open(card) || !self.is_in_scope(card) {
            return;
        }
        self.search.found(card);
        let rank = self.rank(card);
        let row = self.shown.partition_point(|(other, _)| self.rank(*other) < rank);
        let moves = self.chosen && row <= self.at && !self.shown.is_empty();
        self.shown.insert(row, (card, 0));
        self.at += usize::from(moves);
    }

    fn go(&mut self, row: usize) {
        (self.at, self.chosen) = (row, true);
    }

    fn end(&self, action: Option<Action>) -> Outcome {
        let stop = self.search.is_reading.then_some(Action::StopSearch);
        Outcome::End(stop.into_iter().chain(action).collect())
    }

    fn is_current(&self, card: &Card) -> bool {
        card.store == self.store && card.id == self.current
    }

    fn selected(&self) -> Option<&Card> {
        self.cards.as_ref()?.get(self.shown.get(self.at)?.0)
    }

    fn rename(&self) -> Outcome {
        let Some(card) = self.selected() else { return Outcome::Stay };
        let spot = SessionRef::from_card(card);
        let name = card.name.clone().unwrap_or_default();
        Outcome::Open(Box::new(Ask::new("Session name", &name, move |name| {
            Outcome::End(vec![Action::RenameSession { spot: spot.clone(), name }])
        })))
    }

    fn delete(&self) -> Outcome {
        let Some(card) = self.selected() else { return Outcome::Stay };
        if self.is_current(card) {
            return Outcome::Open(Box::new(
                Choose::new("Cannot delete the open session; switch to another one first.")
                    .with("ok", || Outcome::Close),
            ));
        }
        let spot = SessionRef::from_card(card);
        let place =
            if self.many_stores { format!(" from {}", one_line(&card.store, 20)) } else { String::new() };
        Outcome::Open(Box::new(
            Choose::new(&format!("Delete \"{}\"{place} permanently?", one_line(card.title(), 60)))
                .with("keep", || Outcome::Close)
                .with("delete", move || Outcome::End(vec![Action::DeleteSession(spot.clone())])),
        ))
    }

    /// Explains an empty list.
    fn remark(&self) -> Option<Line> {
        let text = match (&self.cards, self.search.wrong()) {
            (None, _) => "loading…",
            (_, Some(wrong)) => return Some(Line::styled(ColorRole::Bad, &format!("  {wrong}"))),
            _ if !self.shown.is_empty() || self.search.is_reading => return None,
            _ if self.everywhere => "no sessions",
            _ => "no sessions here; tab lists all directories",
        };
        Some(Line::styled(ColorRole::Dim, &format!("  {text}")))
    }

    fn row(&self, at: usize, room: Room) -> Line {
        let (card, depth) = self.shown[at];
        let Some(card) = self.cards.as_ref().and_then(|cards| cards.get(card)) else { return Line::new() };
        let thread =
            if depth == 0 { String::new() } else { format!("{}└─ ", "   ".repeat((depth - 1).min(5))) };
        let place = if self.everywhere || self.paths { format!("{}  ", card.cwd) } else { String::new() };
        let store = if self.many_stores { format!("{}  ", one_line(&card.store, 20)) } else { String::new() };
        let age = room.clock.format_age(card.modified);
        let right = format!("  {place}{store}{} · {age} · {}", card.message_count, &card.short_id);
        let mark = if self.is_current(card) { "  ← current" } else { "" };
        let room = room.columns.saturating_sub(width(&right) + width(mark) + 2);
        let role = if card.name.is_some() { ColorRole::Label } else { ColorRole::Text };
        let left =
            Line::styled(ColorRole::Border, &thread).with(role, &one_line(card.title(), 200)).truncate(room);
        let selected = at == self.at;
        let pad = " ".repeat(room.saturating_sub(left.width()));
        let mut line = left.prepend(ColorRole::Accent, if selected { "› " } else { "  " });
        line.push(ColorRole::Active, mark);
        line.push(ColorRole::Dim, &format!("{pad}{right}"));
        if selected { line.with_background(ColorRole::SelectedBg) } else { line }
    }
}

impl Overlay for Sessions {
    fn key(&mut self, key: Key, room: Room) -> Outcome {
        let last = self.shown.len().saturating_sub(1);
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) if !self.search.text().is_empty() => return self.search(String::new()),
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) => return self.end(None),
            (KeyCode::Up, _) => self.go(self.at.checked_sub(1).unwrap_or(last)),
            (KeyCode::Down, _) => self.go(if self.at >= last { 0 } else { self.at + 1 }),
            (KeyCode::PageUp, _) => self.go(self.at.saturating_sub(MOST.min(room.rows))),
            (KeyCode::PageDown, _) => self.go((self.at + MOST.min(room.rows)).min(last)),
            (KeyCode::Tab, _) => {
                self.everywhere = !self.everywhere;
                return self.look_elsewhere();
            }
            (KeyCode::Char('s'), true) => {
                self.sort = match self.sort {
                    Sort::Threaded => Sort::Recent,
                    Sort::Recent => Sort::Fitting,
                    Sort::Fitting => Sort::Threaded,
                }
            }
            (KeyCode::Char('n'), true) => {
                self.named = !self.named;
                return self.look_elsewhere();
            }
            (KeyCode::Char('p'), true) => self.paths = !self.paths,
            (KeyCode::Char('r'), true) => return self.rename(),
            (KeyCode::Char('d'), true) => return self.delete(),
            (KeyCode::Backspace, true) if self.search.text().is_empty() => return self.delete(),
            (KeyCode::Backspace, _) => {
                let mut text = self.search.text().to_owned();
                text.pop();
                return self.search(text);
            }
            (KeyCode::Enter, _) => {
                let Some(card) = self.selected() else { return Outcome::Stay };
                return self.end(Some(Action::Open(OpenTarget::Listed(SessionRef::from_card(card)))));
            }
            _ => {
                if let Some(typed) = key.typed_char() {
                    return self.search(format!("{}{typed}", self.search.text()));
                }
            }
        }
        self.sift();
        Outcome::Stay
    }

    fn view(&self, room: Room) -> Frame {
        let scope = if self.everywhere { "all directories" } else { "this directory" };
        let sort = match self.sort {
            Sort::Threaded => "threads",
            Sort::Recent => "recent",
            Sort::Fitting => "best match",
        };
        let named = if self.named { " · named only" } else { "" };
        let reading = if self.search.is_reading { " · searching messages…" } else { "" };
        let query = self.search.text();
        let mut lines = vec![
            Line::styled(Style::from(ColorRole::Accent).bold(), "Sessions ")
                .with(ColorRole::Dim, &format!("{scope} · {sort}{named}{reading}")),
            Line::styled(ColorRole::Accent, "/ ").with(
                if query.is_empty() { ColorRole::Dim } else { ColorRole::Text },
                if query.is_empty() { "words, \"a phrase\" or re:pattern" } else { query },
            ),
        ];
        let height = room.rows.saturating_sub(4).clamp(1, MOST);
        let from = (self.at + 1).saturating_sub(height);
        lines.extend((from..(from + height).min(self.shown.len())).map(|at| self.row(at, room)));
        lines.extend(self.remark());
        let at = if self.shown.is_empty() { 0 } else { self.at + 1 };
        let first = format!("({at}/{}) enter open", self.shown.len());
        let foot = join_fitting(std::iter::once(first.as_str()).chain(KEYS), room.columns, 1);
        lines.push(Line::styled(ColorRole::Dim, &foot.concat()));
        let cursor = Some((1, (2 + width(query)).min(room.columns.saturating_sub(1))));
        Frame { lines: lines.into_iter().map(|line| line.truncate(room.columns)).collect(), cursor }
    }

    fn hear(&mut self, news: &News<'_>) -> Outcome {
        match news {
            News::Sessions(cards) => {
                self.cards = Some(Arc::new(cards.to_vec()));
                self.many_stores = cards.iter().any(|card| card.store != cards[0].store);
                self.search.begin(cards);
                self.look_elsewhere()
            }
            News::Found(card) => {
                self.hear_found(*card);
                Outcome::Stay
            }
            _ => Outcome::Stay,
        }
    }
}

#[cfg(test)]
mod tests;
