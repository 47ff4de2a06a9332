//! Lists your messages on the path, latest first, to fork before one of them: in this session or in a new one. Tab lists all
//! branches.

use osier_protocol::{
    ClientCommand, EntryId, ForkPosition, MessageRole, MoveCommand, Seq, TreeSnapshot, one_line,
    without_markdown,
};

use super::{Overlay, OverlayArea, OverlayEvent, OverlayOutcome};
use crate::key::{Key, KeyCode};
use crate::msg::{Action, CommandPurpose, OpenTarget};
use crate::screen::Frame;
use crate::text::{Line, Style, join_fitting};
use crate::theme::ColorRole;

/// The list of messages to fork before.
#[derive(Debug)]
pub(crate) struct ForkPicker {
    snapshot: TreeSnapshot,
    all_branches: bool,
    rows: Vec<Seq>,
    selected: usize,
}

impl ForkPicker {
    pub(crate) fn new(snapshot: TreeSnapshot) -> ForkPicker {
        let mut fork = ForkPicker { snapshot, all_branches: false, rows: Vec::new(), selected: 0 };
        fork.update_rows();
        fork
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn update_rows(&mut self) {
        let tree = &self.snapshot.tree;
        let all = match self.all_branches {
            true => tree.heads().iter().map(|(seq, _)| seq).collect(),
            false => tree.path(self.snapshot.leaf),
        };
        let said = |seq: &Seq| tree.head(*seq).role == MessageRole::User && !tree.is_hidden(*seq);
        self.rows = all.into_iter().filter(said).collect();
        self.rows.reverse();
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
    }

    fn selected_id(&self) -> Option<EntryId> {
        self.rows.get(self.selected).map(|seq| self.snapshot.id(*seq))
    }

    fn draw_row(&self, seq: Seq, area: OverlayArea) -> Line {
        let tree = &self.snapshot.tree;
        let time = tree.head(seq).time().map(|time| area.clock.format_full(time)).unwrap_or_default();
        let text = self.snapshot.preview(seq);
        let text = without_markdown(&text);
        let text = text.strip_prefix("user: ").unwrap_or(&text);
        let text = text.strip_prefix('"').unwrap_or(text);
        let text = one_line(text.strip_suffix('"').unwrap_or(text), 80);
        let area = area.columns.saturating_sub(time.len() + 4);
        Line::styled(ColorRole::Dim, &format!("{time}  "))
            .with(ColorRole::Text, &Line::styled(ColorRole::Text, &text).truncate(area).plain())
    }
}

impl Overlay for ForkPicker {
    fn handle_key(&mut self, key: Key, _area: OverlayArea) -> OverlayOutcome {
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) => return OverlayOutcome::Close,
            (KeyCode::Up, _) => self.selected = self.selected.saturating_sub(1),
            (KeyCode::Down, _) => self.selected = (self.selected + 1).min(self.rows.len().saturating_sub(1)),
            (KeyCode::Tab, _) => {
                self.all_branches = !self.all_branches;
                self.update_rows();
            }
            (KeyCode::Enter, _) => {
                let Some(target) = self.selected_id() else { return OverlayOutcome::Stay };
                return OverlayOutcome::Run(vec![navigate_action(target)]);
            }
            (KeyCode::Char('n'), _) => {
                let Some(target) = self.selected_id() else { return OverlayOutcome::Stay };
                return OverlayOutcome::CloseAndRun(vec![Action::Open(OpenTarget::Fork {
                    from: ForkPosition::Entry { entry_id: target },
                })]);
            }
            _ => {}
        }
        OverlayOutcome::Stay
    }

    fn view(&self, area: OverlayArea) -> Frame {
        let scope = if self.all_branches { "on all branches" } else { "on this path" };
        let mut lines = vec![
            Line::styled(Style::from(ColorRole::Accent).bold(), "Fork before a message ")
                .with(ColorRole::Dim, scope),
        ];
        let height = area.rows.saturating_sub(2).clamp(1, 10);
        let from = self.selected.saturating_sub(height - 1);
        for (at, seq) in self.rows.iter().enumerate().skip(from).take(height) {
            let line = self.draw_row(*seq, area);
            let line = line.prepend(ColorRole::Accent, if at == self.selected { "› " } else { "  " });
            lines.push(if at == self.selected { line.filled(ColorRole::SelectedBg) } else { line });
        }
        let first = format!("({}/{}) enter fork here", self.selected + 1, self.rows.len());
        let keys = [first.as_str(), "n in new session", "tab all branches", "esc cancel"];
        lines.push(Line::styled(ColorRole::Dim, &join_fitting(keys, area.columns, 1).concat()));
        Frame { lines: lines.into_iter().map(|line| line.truncate(area.columns)).collect(), cursor: None }
    }

    fn handle_event(&mut self, event: &OverlayEvent<'_>) -> OverlayOutcome {
        match event {
            OverlayEvent::Tree(snapshot) => {
                self.snapshot = (*snapshot).clone();
                self.update_rows();
            }
            OverlayEvent::Replied(CommandPurpose::Navigate, Ok(_)) => return OverlayOutcome::Close,
            _ => {}
        }
        OverlayOutcome::Stay
    }
}

fn navigate_action(target: EntryId) -> Action {
    let command = MoveCommand { target_id: Some(target), stop_turn: true, ..MoveCommand::default() };
    Action::Send(ClientCommand::Move(command), CommandPurpose::Navigate)
}
