//! The picker of sessions: of this directory or of all, by thread, by time or by how well they fit; named, renamed, deleted.

mod matching;

use nucleo_matcher::{Config, Matcher};
use osier_tree::projection::card::{Card, short_id};
use osier_tree::projection::preview::one_line;

use super::{Ask, Choose, News, Outcome, Overlay, Room};
use crate::key::{Code, Key};
use crate::msg::{Action, Spot, Which};
use crate::screen::Frame;
use crate::state::State;
use crate::text::{Line, Style, width};
use crate::theme::Role;
use matching::{Query, threaded};

/// Rows that are shown.
const MOST: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Threaded,
    Recent,
    Fitting,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Sessions {
    cwd: String,
    /// The session that is open, and its store: it is not deleted.
    current: String,
    store: String,
    cards: Option<Vec<Card>>,
    /// The cards are of more than one store.
    many_stores: bool,
    everywhere: bool,
    named: bool,
    paths: bool,
    sort: Sort,
    query: String,
    /// Cards that are shown, with how deep they lie in their thread.
    shown: Vec<(usize, usize)>,
    at: usize,
}

impl Sessions {
    pub(crate) fn new(state: &State) -> Sessions {
        Sessions {
            cwd: state.setting.cwd.clone(),
            current: state.facts.session.clone(),
            store: state.setting.store.clone(),
            cards: None,
            many_stores: false,
            everywhere: false,
            named: false,
            paths: false,
            sort: Sort::Threaded,
            query: String::new(),
            shown: Vec::new(),
            at: 0,
        }
    }

    /// Decides anew what is shown.
    fn sift(&mut self) {
        let cards = self.cards.as_deref().unwrap_or_default();
        let query = Query::new(&self.query);
        let is_named = |card: &Card| card.name.as_ref().is_some_and(|name| !name.trim().is_empty());
        let here = |card: &Card| (self.everywhere || card.cwd == self.cwd) && (!self.named || is_named(card));
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut found: Vec<(u32, usize)> = cards
            .iter()
            .enumerate()
            .filter(|(_, card)| here(card))
            .filter_map(|(at, card)| query.score(card, &mut matcher).map(|score| (score, at)))
            .collect();
        // The store gives the one used last first.
        if self.sort == Sort::Fitting || (self.sort == Sort::Threaded && !self.query.is_empty()) {
            found.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
        }
        let found: Vec<usize> = found.into_iter().map(|(_, at)| at).collect();
        self.shown = match self.sort == Sort::Threaded && self.query.is_empty() {
            true => threaded(cards, &found),
            false => found.into_iter().map(|at| (at, 0)).collect(),
        };
        self.at = self.at.min(self.shown.len().saturating_sub(1));
    }

    fn selected(&self) -> Option<&Card> {
        self.cards.as_ref()?.get(self.shown.get(self.at)?.0)
    }

    fn rename(&self) -> Outcome {
        let Some(card) = self.selected() else { return Outcome::Stay };
        let spot = Spot::of(card);
        let name = card.name.clone().unwrap_or_default();
        Outcome::Open(Box::new(Ask::new("Name of the session", &name, move |name| {
            Outcome::End(vec![Action::RenameSession { spot: spot.clone(), name }])
        })))
    }

    fn delete(&self) -> Outcome {
        let Some(card) = self.selected() else { return Outcome::Stay };
        if card.store == self.store && short_id(&card.id) == short_id(&self.current) {
            return Outcome::Open(Box::new(
                Choose::new("This session is open; go to another one first.")
                    .with("all right", || Outcome::Close),
            ));
        }
        let spot = Spot::of(card);
        let place =
            if self.many_stores { format!(" from {}", one_line(&card.store, 20)) } else { String::new() };
        Outcome::Open(Box::new(
            Choose::new(&format!("Delete \"{}\"{place} for good?", one_line(card.title(), 60)))
                .with("keep it", || Outcome::Close)
                .with("delete it", move || Outcome::End(vec![Action::DeleteSession(spot.clone())])),
        ))
    }

    fn row(&self, at: usize, room: Room) -> Line {
        let (card, depth) = self.shown[at];
        let Some(card) = self.cards.as_ref().and_then(|cards| cards.get(card)) else { return Line::new() };
        let thread =
            if depth == 0 { String::new() } else { format!("{}└─ ", "   ".repeat((depth - 1).min(5))) };
        let place = if self.everywhere || self.paths { format!("{}  ", card.cwd) } else { String::new() };
        let store = if self.many_stores { format!("{}  ", one_line(&card.store, 20)) } else { String::new() };
        let age = room.clock.age(card.modified);
        let right = format!("  {place}{store}{} · {age} · {}", card.message_count, &card.short_id);
        let room = room.columns.saturating_sub(width(&right) + 2);
        let role = if card.name.is_some() { Role::Label } else { Role::Text };
        let left = Line::of(Role::Border, &thread).with(role, &one_line(card.title(), 200)).cut(room);
        let selected = at == self.at;
        let pad = " ".repeat(room.saturating_sub(left.width()));
        let mut line = left.behind(Role::Accent, if selected { "› " } else { "  " });
        line.push(Role::Dim, &format!("{pad}{right}"));
        if selected { line.on(Role::SelectedBg) } else { line }
    }
}

impl Overlay for Sessions {
    fn key(&mut self, key: Key, room: Room) -> Outcome {
        let last = self.shown.len().saturating_sub(1);
        match (key.code, key.ctrl) {
            (Code::Escape, _) if !self.query.is_empty() => self.query.clear(),
            (Code::Escape, _) | (Code::Char('c'), true) => return Outcome::Close,
            (Code::Up, _) => self.at = self.at.checked_sub(1).unwrap_or(last),
            (Code::Down, _) => self.at = if self.at >= last { 0 } else { self.at + 1 },
            (Code::PageUp, _) => self.at = self.at.saturating_sub(MOST.min(room.rows)),
            (Code::PageDown, _) => self.at = (self.at + MOST.min(room.rows)).min(last),
            (Code::Tab, _) => self.everywhere = !self.everywhere,
            (Code::Char('s'), true) => {
                self.sort = match self.sort {
                    Sort::Threaded => Sort::Recent,
                    Sort::Recent => Sort::Fitting,
                    Sort::Fitting => Sort::Threaded,
                }
            }
            (Code::Char('n'), true) => self.named = !self.named,
            (Code::Char('p'), true) => self.paths = !self.paths,
            (Code::Char('r'), true) => return self.rename(),
            (Code::Char('d'), true) => return self.delete(),
            (Code::Backspace, true) if self.query.is_empty() => return self.delete(),
            (Code::Backspace, _) => drop(self.query.pop()),
            (Code::Enter, _) => {
                let Some(card) = self.selected() else { return Outcome::Stay };
                return Outcome::End(vec![Action::Open(Which::Listed(Spot::of(card)))]);
            }
            _ => {
                if let Some(typed) = key.typed() {
                    self.query.push(typed);
                    self.at = 0;
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
            Sort::Fitting => "best fit",
        };
        let named = if self.named { " · named only" } else { "" };
        let mut lines = vec![
            Line::of(Style::from(Role::Accent).bold(), "Sessions ")
                .with(Role::Dim, &format!("{scope} · {sort}{named}")),
            Line::of(Role::Accent, "/ ").with(
                if self.query.is_empty() { Role::Dim } else { Role::Text },
                if self.query.is_empty() { "words, \"a phrase\" or re:pattern" } else { &self.query },
            ),
        ];
        let height = room.rows.saturating_sub(4).clamp(1, MOST);
        let from = (self.at + 1).saturating_sub(height);
        lines.extend((from..(from + height).min(self.shown.len())).map(|at| self.row(at, room)));
        match &self.cards {
            None => lines.push(Line::of(Role::Dim, "  reading …")),
            Some(_) if self.shown.is_empty() => {
                lines.push(Line::of(Role::Dim, "  none; tab looks everywhere"));
            }
            Some(_) => {}
        }
        let at = if self.shown.is_empty() { 0 } else { self.at + 1 };
        let keys =
            "enter · tab scope · ctrl+s sort · ctrl+n named · ctrl+r rename · ctrl+d delete · ctrl+p paths";
        lines.push(Line::of(Role::Dim, &format!("({at}/{}) {keys}", self.shown.len())));
        let cursor = Some((1, (2 + width(&self.query)).min(room.columns.saturating_sub(1))));
        Frame { lines: lines.into_iter().map(|line| line.cut(room.columns)).collect(), cursor }
    }

    fn hear(&mut self, news: &News<'_>) -> Outcome {
        if let News::Sessions(cards) = news {
            self.cards = Some(cards.to_vec());
            self.many_stores = cards.iter().any(|card| card.store != cards[0].store);
            self.sift();
        }
        Outcome::Stay
    }
}

#[cfg(test)]
mod tests;
