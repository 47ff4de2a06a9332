//! The session tree: browse, fold, search and label entries, and move the leaf.
//!
//! The outline decides which rows are shown and where keys lead. This component keeps the cursor and requests actions.

mod entry_actions;
mod keys;
mod render;

use std::borrow::Cow;

use osier_protocol::outline::{Outline, OutlineFilter, OutlineOptions, SiblingOrder};
use osier_protocol::{ClientCommand, EntryId, Seq, TreeSnapshot};
use rustc_hash::FxHashSet;

use super::{Overlay, OverlayArea, OverlayEvent, OverlayOutcome};
use crate::key::Key;
use crate::msg::{Action, CommandPurpose};
use crate::screen::Frame;
use crate::state::UiConfig;
use entry_actions::LabelEdit;
pub use keys::key_problem;
use keys::{KeyMap, TreeAction};

/// Columns per horizontal scroll step.
const SCROLL_COLUMNS: usize = 16;

/// The tree, its outline and the cursor.
#[derive(Debug)]
pub(crate) struct TreeView {
    snapshot: TreeSnapshot,
    /// The texts that the snapshot does not have could not be read.
    reading_failed: bool,
    options: OutlineOptions,
    outline: Outline,
    /// The entry at the cursor. While the list is empty: the last one.
    selected_entry: Option<Seq>,
    selected_row: usize,
    marked: Option<Seq>,
    /// You are typing a search: letters belong to it, also those that are keys.
    is_searching: bool,
    /// The label being edited.
    label_edit: Option<LabelEdit>,
    show_label_times: bool,
    /// Columns of long rows that are scrolled off on the left.
    scroll: usize,
    ask_summary: bool,
    keys: KeyMap,
}

impl TreeView {
    pub(crate) fn new(snapshot: TreeSnapshot, config: &UiConfig) -> TreeView {
        let order = if config.active_first { SiblingOrder::ActiveFirst } else { SiblingOrder::OldestFirst };
        let mut tree = TreeView {
            selected_entry: snapshot.leaf,
            snapshot,
            reading_failed: false,
            options: OutlineOptions {
                filter: config.tree_filter,
                order,
                style: config.tree_style,
                ..OutlineOptions::default()
            },
            outline: Outline::default(),
            selected_row: 0,
            marked: None,
            is_searching: false,
            label_edit: None,
            show_label_times: false,
            scroll: 0,
            ask_summary: !config.never_summarize,
            keys: KeyMap::new(&config.keys),
        };
        tree.rebuild_outline();
        tree
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.snapshot.tree.is_empty()
            || (self.outline.rows.is_empty() && self.options.filter == OutlineFilter::Default)
    }

    fn rebuild_outline(&mut self) {
        self.rebuild_outline_of(None);
    }

    /// Only entries in `searched` can match the search, if it is given.
    fn rebuild_outline_of(&mut self, searched: Option<&FxHashSet<Seq>>) {
        let snapshot = &self.snapshot;
        let text = |seq: Seq| match searched.is_none_or(|searched| searched.contains(&seq)) {
            true => snapshot.preview(seq),
            false => Cow::Borrowed(""),
        };
        self.outline = Outline::new(&snapshot.tree, snapshot.leaf, &self.options, &text);
        let at = self.outline.cursor(self.selected_entry);
        self.selected_row = at.unwrap_or(0);
        // While the list is empty, remember the entry.
        self.selected_entry = at.map(|at| self.outline.rows[at].seq).or(self.selected_entry);
    }

    fn select_row(&mut self, row: usize) {
        if let Some(found) = self.outline.rows.get(row) {
            (self.selected_row, self.selected_entry) = (row, Some(found.seq));
        }
    }

    /// Selects an entry, or its nearest ancestor on the list.
    pub(crate) fn select_entry(&mut self, id: &EntryId) {
        let row = self.snapshot.tree.find(id.as_str()).and_then(|seq| self.outline.row_of(seq));
        row.into_iter().for_each(|row| self.select_row(row));
    }

    fn set_filter(&mut self, filter: OutlineFilter) {
        self.options.set_filter(filter);
        self.rebuild_outline();
    }

    fn set_search(&mut self, search: String) {
        self.is_searching = !search.is_empty();
        // A longer search matches only what the shorter one matched, so the other texts need not be read.
        let before = self.options.search.to_lowercase();
        let is_narrower = !before.trim().is_empty()
            && self.options.folded.is_empty()
            && search.to_lowercase().starts_with(&before);
        let matched = is_narrower.then(|| self.outline.rows.iter().map(|row| row.seq).collect());
        self.options.set_search(search);
        self.rebuild_outline_of(matched.as_ref());
    }

    /// Two snapshots may arrive in either order; the longer one is newer. A partial one must not replace known texts.
    fn is_newer(&self, snapshot: &TreeSnapshot) -> bool {
        let (new, shown) = (snapshot.tree.len(), self.snapshot.tree.len());
        new > shown || (new == shown && !snapshot.is_partial)
    }

    fn page_height(&self, area: OverlayArea) -> usize {
        render::list_height(area).max(1)
    }

    fn run_action(&mut self, action: TreeAction, area: OverlayArea) -> OverlayOutcome {
        let last = self.outline.rows.len().saturating_sub(1);
        match action {
            TreeAction::Up => self.select_row(self.selected_row.checked_sub(1).unwrap_or(last)),
            TreeAction::Down => {
                self.select_row(if self.selected_row >= last { 0 } else { self.selected_row + 1 });
            }
            TreeAction::PageUp => self.select_row(self.selected_row.saturating_sub(self.page_height(area))),
            TreeAction::PageDown => self.select_row((self.selected_row + self.page_height(area)).min(last)),
            TreeAction::First => self.select_row(0),
            TreeAction::Last => self.select_row(last),
            TreeAction::ScrollLeft => self.scroll = self.scroll.saturating_sub(SCROLL_COLUMNS),
            TreeAction::ScrollRight => {
                self.scroll = (self.scroll + SCROLL_COLUMNS).min(self.overflow(area)).max(self.scroll);
            }
            TreeAction::Fold | TreeAction::Unfold => {
                let jump = match action {
                    TreeAction::Fold => self.outline.jump_left(self.selected_row),
                    _ => self.outline.jump_right(self.selected_row),
                };
                match jump.and_then(|jump| self.options.apply_jump(jump)) {
                    Some(row) => self.select_row(row),
                    None => self.rebuild_outline(),
                }
            }
            TreeAction::Select => return self.move_to_selected(),
            TreeAction::Cancel if self.is_searching => self.set_search(String::new()),
            TreeAction::Cancel | TreeAction::Close => return OverlayOutcome::Close,
            TreeAction::Filter(OutlineFilter::Default) => self.set_filter(OutlineFilter::Default),
            TreeAction::Filter(wanted) => self.set_filter(self.options.filter.toggled(wanted)),
            TreeAction::NextFilter => self.set_filter(self.options.filter.next()),
            TreeAction::PreviousFilter => self.set_filter(self.options.filter.previous()),
            TreeAction::Label => self.label_edit = self.start_label_edit(),
            TreeAction::LabelTimes => self.show_label_times = !self.show_label_times,
            TreeAction::Copy => {
                let entry = self.selected().map(|(_, id)| Action::CopyEntry(id));
                return OverlayOutcome::Run(entry.into_iter().collect());
            }
            TreeAction::ViewEntry => return self.view_entry(),
            TreeAction::Graft => return self.graft(),
            TreeAction::Undo => {
                return OverlayOutcome::Run(vec![Action::Send(ClientCommand::Undo, CommandPurpose::Undo)]);
            }
            TreeAction::Redo => {
                return OverlayOutcome::Run(vec![Action::Send(ClientCommand::Redo, CommandPurpose::Redo)]);
            }
            TreeAction::Mark => return self.mark(),
            TreeAction::Delete => return self.delete(),
            TreeAction::ShowDeleted => {
                self.options.show_deleted = !self.options.show_deleted;
                self.rebuild_outline();
            }
            TreeAction::DeleteSearchChar => {
                let mut search = self.options.search.clone();
                search.pop();
                self.set_search(search);
            }
        }
        OverlayOutcome::Stay
    }
}

/// The keys of the tree, for `/help`.
pub(crate) fn key_help(config: &UiConfig) -> Vec<(String, &'static str)> {
    KeyMap::new(&config.keys).help_entries().map(|(key, word)| (key.to_owned(), word)).collect()
}

impl Overlay for TreeView {
    fn handle_key(&mut self, key: Key, area: OverlayArea) -> OverlayOutcome {
        if self.label_edit.is_some() {
            return self.handle_label_key(key, area);
        }
        match (self.keys.action(key), key.typed_char()) {
            (Some(action), None) => return self.run_action(action, area),
            (Some(action), Some(_)) if !self.is_searching => return self.run_action(action, area),
            (None, Some('/')) if !self.is_searching => self.is_searching = true,
            (_, Some(typed)) => self.set_search(format!("{}{typed}", self.options.search)),
            (None, None) => {}
        }
        OverlayOutcome::Stay
    }

    fn paste(&mut self, text: &str) {
        if let Some(label_edit) = &mut self.label_edit {
            return label_edit.paste(text);
        }
        self.set_search(format!("{}{}", self.options.search, text.replace('\n', " ")));
    }

    fn view(&self, area: OverlayArea) -> Frame {
        self.draw(area)
    }

    fn handle_event(&mut self, event: &OverlayEvent<'_>) -> OverlayOutcome {
        match event {
            OverlayEvent::Tree(snapshot) if self.is_newer(snapshot) => {
                self.snapshot = (*snapshot).clone();
                self.reading_failed = false;
                self.rebuild_outline();
                match self.snapshot.is_partial {
                    true => OverlayOutcome::Run(vec![Action::RefreshTree]),
                    false => OverlayOutcome::Stay,
                }
            }
            OverlayEvent::TreeFailed => {
                self.reading_failed = self.snapshot.is_partial;
                OverlayOutcome::Stay
            }
            OverlayEvent::Committed => OverlayOutcome::Run(vec![Action::RefreshTree]),
            _ => OverlayOutcome::Stay,
        }
    }
}

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod style_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wide_tests;
