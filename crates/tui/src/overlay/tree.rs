//! The whole tree over half the terminal: one goes through it, looks, folds, searches, names entries, and moves the leaf.
//!
//! What is shown and where keys lead is the outline's business; this keeps the cursor and asks for what is chosen.

mod draw;
mod keys;

use std::borrow::Cow;
use std::collections::BTreeMap;

use osier_agent::{Command, Navigation};
use osier_tree::projection::outline::{Filter, Options, Outline};
use osier_tree::{Choice, Seq};

use super::{Ask, Choose, News, Outcome, Overlay, Progress, Room};
use crate::key::Key;
use crate::msg::{Action, Forest, Purpose};
use crate::screen::Frame;
use keys::{Deed, Keys};

/// See the module.
#[derive(Debug)]
pub(crate) struct Tree {
    forest: Forest,
    options: Options,
    outline: Outline,
    /// The entry that was chosen last by the user. The cursor stands on it or on its nearest shown ancestor.
    chosen: Option<Seq>,
    at: usize,
    marked: Option<Seq>,
    label_times: bool,
    ask_summary: bool,
    keys: Keys,
}

impl Tree {
    pub(crate) fn new(forest: Forest, changed_keys: &BTreeMap<String, String>, ask_summary: bool) -> Tree {
        let mut tree = Tree {
            chosen: forest.leaf,
            forest,
            options: Options::default(),
            outline: Outline::default(),
            at: 0,
            marked: None,
            label_times: false,
            ask_summary,
            keys: Keys::new(changed_keys),
        };
        tree.rebuild();
        tree
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.outline.rows.is_empty()
    }

    fn rebuild(&mut self) {
        let Forest { tree, leaf, texts } = &self.forest;
        let texts = |seq: Seq| -> Cow<'_, str> { texts.get(seq) };
        self.outline = Outline::new(tree, *leaf, &self.options, &texts);
        self.at = self.outline.cursor(self.chosen).unwrap_or(0);
    }

    fn go_to(&mut self, row: usize) {
        if let Some(found) = self.outline.rows.get(row) {
            (self.at, self.chosen) = (row, Some(found.seq));
        }
    }

    fn filter(&mut self, filter: Filter) {
        self.options.set_filter(filter);
        self.rebuild();
    }

    fn search(&mut self, search: String) {
        self.options.set_search(search);
        self.rebuild();
    }

    fn selected(&self) -> Option<(Seq, String)> {
        let row = self.outline.rows.get(self.at)?;
        Some((row.seq, self.forest.tree.id(row.seq).to_string()))
    }

    fn page(&self, room: Room) -> usize {
        draw::list_height(room).max(1)
    }

    fn choose(&self) -> Outcome {
        let Some((_, id)) = self.selected() else { return Outcome::Stay };
        let landing = self.forest.tree.land(self.forest.leaf, &Choice::entry(&id));
        let moves = landing.is_ok_and(|landing| landing.moves);
        if !moves || !self.ask_summary {
            return Outcome::Do(vec![go(&id, false, None)]);
        }
        let (bare, summed, own) = (id.clone(), id.clone(), id);
        Outcome::Open(Box::new(
            Choose::new("What of the branch you leave?")
                .with("no summary", move || Outcome::Do(vec![go(&bare, false, None)]))
                .with("summarize", move || {
                    Outcome::OpenAnd(Box::<Progress>::default(), vec![go(&summed, true, None)])
                })
                .with("summarize with own instructions", move || {
                    let id = own.clone();
                    Outcome::Open(Box::new(Ask::new("What should the summary keep?", "", move |said| {
                        let said = Some(said).filter(|said| !said.is_empty());
                        Outcome::OpenAnd(Box::<Progress>::default(), vec![go(&id, true, said)])
                    })))
                }),
        ))
    }

    fn edit_label(&self) -> Outcome {
        let Some((seq, entry)) = self.selected() else { return Outcome::Stay };
        let now = self.forest.tree.label(seq).map(|label| label.text.clone()).unwrap_or_default();
        Outcome::Open(Box::new(Ask::new("Label (empty takes it away)", &now, move |label| {
            let label = Some(label).filter(|label| !label.is_empty());
            Outcome::End(vec![Action::Label { entry: Some(entry.clone()), label }])
        })))
    }

    /// Marks an entry; the second one is compared with the first.
    fn mark(&mut self) -> Outcome {
        let Some((seq, id)) = self.selected() else { return Outcome::Stay };
        match self.marked.take() {
            Some(first) if first != seq => {
                let first = self.forest.tree.id(first).to_string();
                Outcome::Do(vec![Action::Compare(first, id)])
            }
            Some(_) => Outcome::Stay,
            None => {
                self.marked = Some(seq);
                Outcome::Stay
            }
        }
    }

    fn delete(&self) -> Outcome {
        let Some((seq, id)) = self.selected() else { return Outcome::Stay };
        if self.outline.rows[self.at].deleted {
            return Outcome::Do(vec![Action::RestoreBranch(id)]);
        }
        let below =
            self.outline.rows.iter().filter(|row| self.forest.tree.heads().is_ancestor(seq, Some(row.seq)));
        let title =
            format!("Hide this entry and what is below it ({} rows)? It can be restored.", below.count());
        Outcome::Open(Box::new(
            Choose::new(&title)
                .with("no", || Outcome::Close)
                .with("yes", move || Outcome::End(vec![Action::DeleteBranch(id.clone())])),
        ))
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
            Deed::Fold | Deed::Unfold => {
                let leap = match deed {
                    Deed::Fold => self.outline.leap_left(self.at),
                    _ => self.outline.leap_right(self.at),
                };
                match leap.and_then(|leap| self.options.leap(leap)) {
                    Some(row) => self.go_to(row),
                    None => self.rebuild(),
                }
            }
            Deed::Choose => return self.choose(),
            Deed::Back if !self.options.search.is_empty() => self.search(String::new()),
            Deed::Back | Deed::Leave => return Outcome::Close,
            Deed::Filter(Filter::Default) => self.filter(Filter::Default),
            Deed::Filter(wanted) => self.filter(self.options.filter.toggled(wanted)),
            Deed::NextFilter => self.filter(self.options.filter.next()),
            Deed::PreviousFilter => self.filter(self.options.filter.previous()),
            Deed::Label => return self.edit_label(),
            Deed::LabelTimes => self.label_times = !self.label_times,
            Deed::Copy => {
                let text = self.selected().map(|(seq, _)| self.forest.texts.get(seq).into_owned());
                return Outcome::Do(text.map(Action::Copy).into_iter().collect());
            }
            Deed::Mark => return self.mark(),
            Deed::Delete => return self.delete(),
            Deed::ShowDeleted => {
                self.options.deleted = !self.options.deleted;
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

/// A turn that runs is stopped first.
fn go(target: &str, summarize: bool, instructions: Option<String>) -> Action {
    let wish = Navigation {
        target: Some(target.to_owned()),
        summarize,
        instructions,
        stop_turn: true,
        ..Navigation::default()
    };
    Action::Send(Command::Navigate(wish), Purpose::Navigate)
}

impl Overlay for Tree {
    fn key(&mut self, key: Key, room: Room) -> Outcome {
        match (self.keys.deed(key), key.typed()) {
            (Some(deed), _) => self.deed(deed, room),
            (None, Some(typed)) => {
                self.search(format!("{}{typed}", self.options.search));
                Outcome::Stay
            }
            (None, None) => Outcome::Stay,
        }
    }

    fn paste(&mut self, text: &str) {
        self.search(format!("{}{}", self.options.search, text.replace('\n', " ")));
    }

    fn view(&self, room: Room) -> Frame {
        self.draw(room)
    }

    fn hear(&mut self, news: &News<'_>) -> Outcome {
        if let News::Forest(forest) = news {
            self.forest = (*forest).clone();
            self.rebuild();
        }
        Outcome::Stay
    }
}

#[cfg(test)]
mod tests;
