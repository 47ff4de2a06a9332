//! What the keys do to the selected entry: the questions before an action, and the actions.

use osier_protocol::{ClientCommand, EntryId, MoveCommand, MoveRequest, Seq};

use super::TreeView;
use crate::editor::Editor;
use crate::key::{Key, KeyCode};
use crate::msg::{Action, CommandPurpose};
use crate::overlay::{ChoicePrompt, OverlayArea, OverlayOutcome, SummaryProgress, TextPrompt};
use crate::text::width;
use crate::update::send_command;

/// A label while it is edited.
#[derive(Debug)]
pub(super) struct LabelEdit {
    entry: EntryId,
    editor: Editor,
}

impl LabelEdit {
    pub(super) fn text(&self) -> &str {
        self.editor.text()
    }

    /// The width of the text before the cursor.
    pub(super) fn cursor_column(&self) -> usize {
        width(&self.editor.text()[..self.editor.cursor()])
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.editor.paste(&text.replace(['\n', '\r'], " "));
    }
}

impl TreeView {
    pub(super) fn move_to_selected(&self) -> OverlayOutcome {
        let Some((_, id)) = self.selected() else { return OverlayOutcome::Stay };
        if !self.ask_summary || !self.leaves_summarizable(&id) {
            return OverlayOutcome::Run(vec![navigate_action(&id, false, None)]);
        }
        let (bare, summed, own) = (id.clone(), id.clone(), id);
        OverlayOutcome::Open(Box::new(
            ChoicePrompt::new("Summarize the branch you are leaving?")
                .with_answer("no summary", move || {
                    OverlayOutcome::Run(vec![navigate_action(&bare, false, None)])
                })
                .with_answer("summarize", move || {
                    OverlayOutcome::OpenAndRun(
                        Box::new(SummaryProgress::moving()),
                        vec![navigate_action(&summed, true, None)],
                    )
                })
                .with_answer("summarize with custom instructions", move || {
                    let id = own.clone();
                    OverlayOutcome::Open(Box::new(TextPrompt::new(
                        "Extra instructions for the summary",
                        "",
                        move |text| {
                            let text = Some(text).filter(|text| !text.is_empty());
                            OverlayOutcome::OpenAndRun(
                                Box::new(SummaryProgress::moving()),
                                vec![navigate_action(&id, true, text)],
                            )
                        },
                    )))
                }),
        ))
    }

    /// Whether a move to an entry leaves anything that could be summarized.
    fn leaves_summarizable(&self, id: &EntryId) -> bool {
        let (tree, at) = (&self.snapshot.tree, self.snapshot.leaf);
        let target = tree.resolve_move(at, &MoveRequest::entry(id)).ok().filter(|target| target.needs_move);
        target.is_some_and(|target| {
            !tree.abandoned_branch(at, target.editor_entry.or(target.position)).entries.is_empty()
        })
    }

    pub(super) fn start_label_edit(&self) -> Option<LabelEdit> {
        let (seq, entry) = self.selected()?;
        let mut editor = Editor::default();
        editor.set(self.snapshot.tree.label(seq).map_or("", |label| &label.text));
        Some(LabelEdit { entry, editor })
    }

    /// Handles a key while a label is edited.
    pub(super) fn handle_label_key(&mut self, key: Key, area: OverlayArea) -> OverlayOutcome {
        let Some(label_edit) = &mut self.label_edit else { return OverlayOutcome::Stay };
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) => self.label_edit = None,
            (KeyCode::Enter, _) => {
                let label = Some(label_edit.text().trim().to_owned()).filter(|label| !label.is_empty());
                let entry = Some(label_edit.entry.clone());
                self.label_edit = None;
                return OverlayOutcome::Run(send_command(
                    ClientCommand::Label { entry, label },
                    CommandPurpose::Mark,
                ));
            }
            (KeyCode::Up | KeyCode::Down, _) => {}
            _ => drop(label_edit.editor.handle_key(key, area.columns)),
        }
        OverlayOutcome::Stay
    }

    /// Marks an entry. The second mark compares both entries.
    pub(super) fn mark(&mut self) -> OverlayOutcome {
        let Some((seq, id)) = self.selected() else { return OverlayOutcome::Stay };
        match self.marked.take() {
            Some(first) if first != seq => {
                let first = self.snapshot.id(first);
                OverlayOutcome::Run(vec![Action::Compare(first, id)])
            }
            Some(_) => OverlayOutcome::Stay,
            None => {
                self.marked = Some(seq);
                OverlayOutcome::Stay
            }
        }
    }

    pub(super) fn view_entry(&self) -> OverlayOutcome {
        OverlayOutcome::Run(self.selected().map(|(_, id)| Action::ReadEntry(id)).into_iter().collect())
    }

    /// Grafts the conclusion of the branch that ends at the selected entry onto the current position.
    pub(super) fn graft(&self) -> OverlayOutcome {
        let Some((_, tip)) = self.selected() else { return OverlayOutcome::Stay };
        let graft = ClientCommand::Graft { tip, summarize: false, instructions: None };
        OverlayOutcome::OpenAndRun(
            Box::new(SummaryProgress::grafting()),
            vec![Action::Send(graft, CommandPurpose::Graft)],
        )
    }

    pub(super) fn delete(&self) -> OverlayOutcome {
        let Some((_, id)) = self.selected() else { return OverlayOutcome::Stay };
        if self.outline.rows[self.selected_row].deleted {
            let restore = ClientCommand::RestoreBranch { entry: id };
            return OverlayOutcome::Run(send_command(restore, CommandPurpose::Mark));
        }
        let title = format!(
            "Delete this entry and everything below it ({} rows)? You can restore it.",
            self.rows_below() + 1
        );
        OverlayOutcome::Open(Box::new(
            ChoicePrompt::new(&title).with_answer("keep", || OverlayOutcome::Close).with_answer(
                "delete",
                move || {
                    let delete = ClientCommand::DeleteBranch { entry: id.clone() };
                    OverlayOutcome::CloseAndRun(send_command(delete, CommandPurpose::Mark))
                },
            ),
        ))
    }

    /// Rows are in depth-first order, so the descendants of a row follow it.
    fn rows_below(&self) -> usize {
        let below = self.outline.rows.iter().skip(self.selected_row + 1);
        below.take_while(|row| row.parent().is_some_and(|parent| parent >= self.selected_row)).count()
    }

    pub(super) fn selected(&self) -> Option<(Seq, EntryId)> {
        let row = self.outline.rows.get(self.selected_row)?;
        Some((row.seq, self.snapshot.id(row.seq)))
    }
}

/// Moves to an entry. Stops a running turn first.
fn navigate_action(target: &EntryId, summarize: bool, instructions: Option<String>) -> Action {
    let command = MoveCommand {
        target_id: Some(target.clone()),
        summarize,
        custom_instructions: instructions,
        stop_turn: true,
        ..MoveCommand::default()
    };
    Action::Send(ClientCommand::Move(command), CommandPurpose::Navigate)
}
