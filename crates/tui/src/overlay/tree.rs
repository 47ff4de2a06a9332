//! The session tree over half the terminal: browse, fold, search and label entries, and move the leaf.
//!
//! The outline decides which rows are shown and where keys lead. This component keeps the cursor and requests actions.

mod asking;
mod draw;
mod keys;

use std::borrow::Cow;

use osier_agent::ClientCommand;
use osier_tree::Seq;
use osier_tree::projection::outline::{Outline, OutlineFilter, OutlineOptions, SiblingOrder};

use super::{News, Outcome, Overlay, Room};
use crate::key::Key;
use crate::msg::{Action, Purpose, TreeSnapshot};
use crate::screen::Frame;
use crate::state::UiConfig;
use asking::Naming;
pub use keys::key_problem;
use keys::{Deed, Keys};

/// Columns per horizontal scroll step.
const ASIDE: usize = 16;

/// The tree, its outline and the cursor.
#[derive(Debug)]
pub(crate) struct Tree {
    forest: TreeSnapshot,
    options: OutlineOptions,
    outline: Outline,
    /// The entry at the cursor. While the list is empty: the last one.
    chosen: Option<Seq>,
    at: usize,
    marked: Option<Seq>,
    /// The label being edited.
    naming: Option<Naming>,
    label_times: bool,
    /// Columns of long rows that are scrolled off on the left.
    aside: usize,
    ask_summary: bool,
    keys: Keys,
}

impl Tree {
    pub(crate) fn new(forest: TreeSnapshot, setting: &UiConfig) -> Tree {
        let order = if setting.active_first { SiblingOrder::ActiveFirst } else { SiblingOrder::OldestFirst };
        let mut tree = Tree {
            chosen: forest.leaf,
            forest,
            options: OutlineOptions { filter: setting.tree_filter, order, ..OutlineOptions::default() },
            outline: Outline::default(),
            at: 0,
            marked: None,
            naming: None,
            label_times: false,
            aside: 0,
            ask_summary: !setting.never_summarize,
            keys: Keys::new(&setting.keys),
        };
        tree.rebuild();
        tree
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.forest.tree.is_empty()
            || (self.outline.rows.is_empty() && self.options.filter == OutlineFilter::Default)
    }

    fn rebuild(&mut self) {
        let TreeSnapshot { tree, leaf, texts } = &self.forest;
        let texts = |seq: Seq| -> Cow<'_, str> { texts.get(seq) };
        self.outline = Outline::new(tree, *leaf, &self.options, &texts);
        let at = self.outline.cursor(self.chosen);
        self.at = at.unwrap_or(0);
        // While the list is empty, remember the entry.
        self.chosen = at.map(|at| self.outline.rows[at].seq).or(self.chosen);
    }

    fn go_to(&mut self, row: usize) {
        if let Some(found) = self.outline.rows.get(row) {
            (self.at, self.chosen) = (row, Some(found.seq));
        }
    }

    fn filter(&mut self, filter: OutlineFilter) {
        self.options.set_filter(filter);
        self.rebuild();
    }

    fn search(&mut self, search: String) {
        self.options.set_search(search);
        self.rebuild();
    }

    fn page(&self, room: Room) -> usize {
        draw::list_height(room).max(1)
    }

    fn deed(&mut self, deed: Deed, room: Room) -> Outcome {
        let last = self.outline.rows.len().saturating_sub(1);
        match deed {
            Deed::Up => self.go_to(self.at.checked_sub(1).unwrap_or(last)),
            Deed::Down => self.go_to(if self.at >= last { 0 } else { self.at + 1 }),
            Deed::PageUp => self.go_to(self.at.saturating_sub(self.page(room))),
            Deed::PageDown => self.go_to((self.at + self.page(room)).min(last)),
            Deed::First => self.go_to(0),
            Deed::Last => self.go_to(last),
            Deed::Left => self.aside = self.aside.saturating_sub(ASIDE),
            Deed::Right => self.aside = (self.aside + ASIDE).min(self.overflow(room)).max(self.aside),
            Deed::Fold | Deed::Unfold => {
                let leap = match deed {
                    Deed::Fold => self.outline.jump_left(self.at),
                    _ => self.outline.jump_right(self.at),
                };
                match leap.and_then(|leap| self.options.apply_jump(leap)) {
                    Some(row) => self.go_to(row),
                    None => self.rebuild(),
                }
            }
            Deed::Choose => return self.choose(),
            Deed::Back if !self.options.search.is_empty() => self.search(String::new()),
            Deed::Back | Deed::Leave => return Outcome::Close,
            Deed::Filter(OutlineFilter::Default) => self.filter(OutlineFilter::Default),
            Deed::Filter(wanted) => self.filter(self.options.filter.toggled(wanted)),
            Deed::NextFilter => self.filter(self.options.filter.next()),
            Deed::PreviousFilter => self.filter(self.options.filter.previous()),
            Deed::Label => self.naming = self.begin_naming(),
            Deed::LabelTimes => self.label_times = !self.label_times,
            Deed::Copy => {
                let entry = self.selected().map(|(_, id)| Action::CopyEntry(id));
                return Outcome::Do(entry.into_iter().collect());
            }
            Deed::Read => return self.read(),
            Deed::Graft => return self.graft(),
            Deed::Undo => return Outcome::Do(vec![Action::Send(ClientCommand::Undo, Purpose::Undo)]),
            Deed::Redo => return Outcome::Do(vec![Action::Send(ClientCommand::Redo, Purpose::Redo)]),
            Deed::Mark => return self.mark(),
            Deed::Delete => return self.delete(),
            Deed::ShowDeleted => {
                self.options.show_deleted = !self.options.show_deleted;
                self.rebuild();
            }
            Deed::Shorten => {
                let mut search = self.options.search.clone();
                search.pop();
                self.search(search);
            }
        }
        Outcome::Stay
    }
}

/// The keys of the tree, for `/help`.
pub(crate) fn key_words(setting: &UiConfig) -> Vec<(String, &'static str)> {
    Keys::new(&setting.keys).words().map(|(key, word)| (key.to_owned(), word)).collect()
}

impl Overlay for Tree {
    fn key(&mut self, key: Key, room: Room) -> Outcome {
        if self.naming.is_some() {
            return self.name(key, room);
        }
        match (self.keys.deed(key), key.typed_char()) {
            (Some(deed), _) => self.deed(deed, room),
            (None, Some(typed)) => {
                self.search(format!("{}{typed}", self.options.search));
                Outcome::Stay
            }
            (None, None) => Outcome::Stay,
        }
    }

    fn paste(&mut self, text: &str) {
        if let Some(naming) = &mut self.naming {
            return naming.paste(text);
        }
        self.search(format!("{}{}", self.options.search, text.replace('\n', " ")));
    }

    fn view(&self, room: Room) -> Frame {
        self.draw(room)
    }

    fn hear(&mut self, news: &News<'_>) -> Outcome {
        match news {
            // Two snapshots may arrive in either order; the longer one is newer.
            News::Forest(forest) if forest.tree.len() >= self.forest.tree.len() => {
                self.forest = (*forest).clone();
                self.rebuild();
                Outcome::Stay
            }
            News::Committed => Outcome::Do(vec![Action::RefreshTree]),
            _ => Outcome::Stay,
        }
    }
}

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wide;
