//! A dialog of an extension: a list to choose from, a yes-or-no question, or a text to enter.
//!
//! A list leaves your draft visible, and keys answer it as they answer an approval.

use osier_protocol::{ClientCommand, Dialog, DialogQuestion, UserAnswer, one_line, visible, visible_line};

use super::{ANSWER_PAUSE_MS, Overlay, OverlayArea, OverlayEvent, OverlayOutcome};
use crate::editor::Editor;
use crate::key::{Key, KeyCode};
use crate::msg::{Action, CommandPurpose};
use crate::screen::Frame;
use crate::text::{Line, Style, width};
use crate::theme::ColorRole;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct DialogPrompt {
    id: u64,
    question: DialogQuestion,
    /// What can be chosen; empty if a text is entered.
    options: Vec<String>,
    selected: usize,
    editor: Editor,
    first_shown: Option<u64>,
}

impl DialogPrompt {
    pub(crate) fn new(id: u64, question: DialogQuestion) -> DialogPrompt {
        let mut editor = Editor::default();
        let options = match &question.dialog {
            Dialog::Select { options } => options.clone(),
            Dialog::Confirm { .. } => vec!["Yes".to_owned(), "No".to_owned()],
            Dialog::Input { .. } | Dialog::Component { .. } => Vec::new(),
            Dialog::Editor { prefill } => {
                editor.set(prefill.as_deref().unwrap_or_default());
                Vec::new()
            }
        };
        // Without a look at the question, Enter must not agree to anything.
        let selected = usize::from(matches!(question.dialog, Dialog::Confirm { .. }));
        DialogPrompt { id, question, options, selected, editor, first_shown: None }
    }

    fn is_list(&self) -> bool {
        matches!(self.question.dialog, Dialog::Select { .. } | Dialog::Confirm { .. })
    }

    fn send(&self, answer: UserAnswer) -> OverlayOutcome {
        let command = ClientCommand::Answer { question: self.id, answer };
        OverlayOutcome::CloseAndRun(vec![Action::Send(command, CommandPurpose::Answer)])
    }

    fn submit(&self) -> OverlayOutcome {
        let refusal = UserAnswer::No { reason: String::new() };
        match (&self.question.dialog, self.options.get(self.selected)) {
            (Dialog::Confirm { .. }, _) if self.selected == 0 => self.send(UserAnswer::Once),
            (Dialog::Confirm { .. }, _) => self.send(refusal),
            (Dialog::Select { .. }, Some(option)) => self.send(UserAnswer::Text { text: option.clone() }),
            (Dialog::Select { .. }, None) => self.send(refusal),
            _ => self.send(UserAnswer::Text { text: self.editor.text().to_owned() }),
        }
    }

    /// The title, and always the extension that asks: its question may look like one of Osier.
    fn title_line(&self, columns: usize) -> Line {
        let from = self.question.extension.as_deref();
        let from = from.map(|name| format!("  from {}", one_line(name, 40))).unwrap_or_default();
        let title = Line::styled(Style::from(ColorRole::Accent).bold(), &visible_line(&self.question.title));
        let room = columns.saturating_sub(width(&from));
        title.truncate(room).with(ColorRole::Dim, &from).truncate(columns)
    }

    /// What to show in place of a text that is still empty.
    fn placeholder(&self) -> Option<String> {
        match &self.question.dialog {
            Dialog::Input { placeholder: Some(text) } if self.editor.is_empty() => Some(visible_line(text)),
            _ => None,
        }
    }

    fn option_lines(&self, area: OverlayArea, rows: usize) -> Vec<Line> {
        let first = self.selected.saturating_sub(rows.saturating_sub(1));
        let shown = self.options.iter().enumerate().skip(first).take(rows.max(1));
        let letters = self.answer_letters();
        let draw = |(at, option): (usize, &String)| {
            let is_selected = at == self.selected;
            let letter = letters.get(at).map(|letter| format!("{letter}  ")).unwrap_or_default();
            let line = Line::styled(ColorRole::Accent, if is_selected { "› " } else { "  " })
                .with(Style::from(ColorRole::Accent).bold(), &letter)
                .with(ColorRole::Text, &visible_line(option))
                .truncate(area.columns);
            if is_selected { line.filled(ColorRole::SelectedBg) } else { line }
        };
        shown.map(draw).collect()
    }
}

impl Overlay for DialogPrompt {
    fn handle_key(&mut self, key: Key, area: OverlayArea) -> OverlayOutcome {
        let count = self.options.len().max(1);
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) => {
                return self.send(UserAnswer::No { reason: String::new() });
            }
            // An Enter that was typed before the dialog was visible is not an answer.
            (KeyCode::Enter, _) if !key.shift && !key.alt => {
                if self.is_seen(area.now) {
                    return self.submit();
                }
            }
            (KeyCode::Up, _) if self.is_list() => self.selected = (self.selected + count - 1) % count,
            (KeyCode::Down | KeyCode::Tab, _) if self.is_list() => {
                self.selected = (self.selected + 1) % count;
            }
            (KeyCode::Char(typed), false)
                if !key.alt && self.answer_letters().contains(&typed.to_ascii_lowercase()) =>
            {
                self.selected = usize::from(!typed.eq_ignore_ascii_case(&'y'));
                return self.submit();
            }
            _ if self.is_list() => return OverlayOutcome::Pass,
            _ => {
                self.editor.handle_key(key, area.columns.saturating_sub(3));
            }
        }
        OverlayOutcome::Stay
    }

    fn shares_draft(&self) -> bool {
        self.is_list()
    }

    fn answer_letters(&self) -> Vec<char> {
        match self.question.dialog {
            Dialog::Confirm { .. } => vec!['y', 'n'],
            _ => Vec::new(),
        }
    }

    fn is_seen(&self, now: u64) -> bool {
        self.first_shown.is_some_and(|at| now.saturating_sub(at) >= ANSWER_PAUSE_MS)
    }

    fn paste(&mut self, text: &str) {
        if !self.is_list() {
            self.editor.set(&(self.editor.text().to_owned() + text));
        }
    }

    fn note_shown(&mut self, area: OverlayArea) {
        self.first_shown.get_or_insert(area.now);
    }

    fn view(&self, area: OverlayArea) -> Frame {
        let mut lines = vec![self.title_line(area.columns)];
        if let Dialog::Confirm { message } = &self.question.dialog {
            let message = visible(message);
            lines.extend(
                message.lines().map(|line| Line::styled(ColorRole::Text, line).truncate(area.columns)),
            );
        }
        let mut cursor = None;
        if self.is_list() {
            lines.extend(self.option_lines(area, area.rows.saturating_sub(lines.len() + 1)));
        } else {
            let rows = area.rows.saturating_sub(2);
            let (mut text, (row, column)) = self.editor.view(area.columns, rows, ColorRole::Accent);
            cursor = Some((row + lines.len(), column));
            if let (Some(hint), Some(first)) = (self.placeholder(), text.first_mut()) {
                *first = std::mem::take(first).with(ColorRole::Dim, &hint).truncate(area.columns);
            }
            lines.extend(text);
        }
        let help = if self.is_list() {
            "↑↓ move · enter select · esc cancel"
        } else {
            "enter confirm · esc cancel"
        };
        lines.push(Line::styled(ColorRole::Dim, help).truncate(area.columns));
        Frame { lines, cursor }
    }

    fn handle_event(&mut self, event: &OverlayEvent<'_>) -> OverlayOutcome {
        match event {
            OverlayEvent::Answered(id) if *id == self.id => OverlayOutcome::Close,
            _ => OverlayOutcome::Stay,
        }
    }
}
