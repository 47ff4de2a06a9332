//! What the keys do to the selected entry: the questions before an action, and the actions.

use osier_agent::{ClientCommand, Navigation};
use osier_tree::{MoveRequest, Seq};

use super::Tree;
use crate::editor::Editor;
use crate::key::{Key, KeyCode};
use crate::msg::{Action, Purpose};
use crate::overlay::{Ask, Choose, Outcome, Progress, Room};
use crate::text::width;

/// A label while it is edited.
#[derive(Debug)]
pub(super) struct Naming {
    entry: String,
    editor: Editor,
}

impl Naming {
    pub(super) fn text(&self) -> &str {
        self.editor.text()
    }

    /// The width of the text before the cursor.
    pub(super) fn before(&self) -> usize {
        width(&self.editor.text()[..self.editor.cursor()])
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.editor.paste(&text.replace(['\n', '\r'], " "));
    }
}

impl Tree {
    pub(super) fn choose(&self) -> Outcome {
        let Some((_, id)) = self.selected() else { return Outcome::Stay };
        if !self.ask_summary || !self.leaves_something(&id) {
            return Outcome::Do(vec![go(&id, false, None)]);
        }
        let (bare, summed, own) = (id.clone(), id.clone(), id);
        Outcome::Open(Box::new(
            Choose::new("Summarize the branch you are leaving?")
                .with("no summary", move || Outcome::Do(vec![go(&bare, false, None)]))
                .with("summarize", move || {
                    Outcome::OpenAnd(Box::new(Progress::moving()), vec![go(&summed, true, None)])
                })
                .with("summarize with custom instructions", move || {
                    let id = own.clone();
                    Outcome::Open(Box::new(Ask::new("Extra instructions for the summary", "", move |text| {
                        let text = Some(text).filter(|text| !text.is_empty());
                        Outcome::OpenAnd(Box::new(Progress::moving()), vec![go(&id, true, text)])
                    })))
                }),
        ))
    }

    /// Whether a move to an entry leaves anything that could be summarized.
    fn leaves_something(&self, id: &str) -> bool {
        let (tree, at) = (&self.forest.tree, self.forest.leaf);
        let landing =
            tree.resolve_move(at, &MoveRequest::entry(id)).ok().filter(|landing| landing.needs_move);
        landing.is_some_and(|landing| {
            !tree.abandoned_branch(at, landing.editor_entry.or(landing.place)).entries.is_empty()
        })
    }

    pub(super) fn begin_naming(&self) -> Option<Naming> {
        let (seq, entry) = self.selected()?;
        let mut editor = Editor::default();
        editor.set(self.forest.tree.label(seq).map_or("", |label| &label.text));
        Some(Naming { entry, editor })
    }

    /// Handles a key while a label is edited.
    pub(super) fn name(&mut self, key: Key, room: Room) -> Outcome {
        let Some(naming) = &mut self.naming else { return Outcome::Stay };
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) => self.naming = None,
            (KeyCode::Enter, _) => {
                let label = Some(naming.text().trim().to_owned()).filter(|label| !label.is_empty());
                let entry = Some(naming.entry.clone());
                self.naming = None;
                return Outcome::Do(vec![Action::Label { entry, label }]);
            }
            (KeyCode::Up | KeyCode::Down, _) => {}
            _ => drop(naming.editor.handle_key(key, room.columns)),
        }
        Outcome::Stay
    }

    /// Marks an entry. The second mark compares both entries.
    pub(super) fn mark(&mut self) -> Outcome {
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

    pub(super) fn read(&self) -> Outcome {
        Outcome::Do(self.selected().map(|(_, id)| Action::ReadEntry(id)).into_iter().collect())
    }

    /// Grafts the conclusion of the branch that ends at the selected entry onto the current position.
    pub(super) fn graft(&self) -> Outcome {
        let Some((_, tip)) = self.selected() else { return Outcome::Stay };
        let graft = ClientCommand::Graft { tip, summarize: false, instructions: None };
        Outcome::OpenAnd(Box::new(Progress::grafting()), vec![Action::Send(graft, Purpose::Graft)])
    }

    pub(super) fn delete(&self) -> Outcome {
        let Some((_, id)) = self.selected() else { return Outcome::Stay };
        if self.outline.rows[self.at].deleted {
            return Outcome::Do(vec![Action::RestoreBranch(id)]);
        }
        let title = format!(
            "Delete this entry and everything below it ({} rows)? You can restore it.",
            self.rows_below() + 1
        );
        Outcome::Open(Box::new(
            Choose::new(&title)
                .with("keep", || Outcome::Close)
                .with("delete", move || Outcome::End(vec![Action::DeleteBranch(id.clone())])),
        ))
    }

    /// Rows are in depth-first order, so the descendants of a row follow it.
    fn rows_below(&self) -> usize {
        let below = self.outline.rows.iter().skip(self.at + 1);
        below.take_while(|row| row.parent.is_some_and(|parent| parent as usize >= self.at)).count()
    }

    pub(super) fn selected(&self) -> Option<(Seq, String)> {
        let row = self.outline.rows.get(self.at)?;
        Some((row.seq, self.forest.tree.id(row.seq).to_string()))
    }
}

/// Moves to an entry. Stops a running turn first.
fn go(target: &str, summarize: bool, instructions: Option<String>) -> Action {
    let wish = Navigation {
        target: Some(target.to_owned()),
        summarize,
        instructions,
        stop_turn: true,
        ..Navigation::default()
    };
    Action::Send(ClientCommand::Navigate(wish), Purpose::Navigate)
}
