//! A prompt for one line of text: a label, a name, instructions, a reason.

use std::fmt;

use super::{Overlay, OverlayArea, OverlayEvent, OverlayOutcome};
use crate::editor::Editor;
use crate::key::{Key, KeyCode};
use crate::msg::CommandPurpose;
use crate::screen::Frame;
use crate::text::{Line, Style};
use crate::theme::ColorRole;

type TextHandler = Box<dyn Fn(String) -> OverlayOutcome + Send>;

/// A title, and an editor for the answer.
pub(crate) struct TextPrompt {
    title: String,
    editor: Editor,
    on_submit: TextHandler,
}

impl TextPrompt {
    pub(crate) fn new(
        title: &str,
        text: &str,
        then: impl Fn(String) -> OverlayOutcome + Send + 'static,
    ) -> TextPrompt {
        let mut editor = Editor::default();
        editor.set(text);
        TextPrompt { title: title.to_owned(), editor, on_submit: Box::new(then) }
    }
}

impl fmt::Debug for TextPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask").field("title", &self.title).finish_non_exhaustive()
    }
}

impl Overlay for TextPrompt {
    fn handle_key(&mut self, key: Key, area: OverlayArea) -> OverlayOutcome {
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) => OverlayOutcome::Close,
            (KeyCode::Enter, _) if !key.shift && !key.alt => {
                (self.on_submit)(self.editor.text().trim().to_owned())
            }
            _ => {
                self.editor.handle_key(key, area.columns.saturating_sub(3));
                OverlayOutcome::Stay
            }
        }
    }

    fn paste(&mut self, text: &str) {
        self.editor.set(&(self.editor.text().to_owned() + text));
    }

    fn view(&self, area: OverlayArea) -> Frame {
        let mut lines =
            vec![Line::styled(Style::from(ColorRole::Accent).bold(), &self.title).truncate(area.columns)];
        let (text, (row, column)) =
            self.editor.view(area.columns, area.rows.saturating_sub(2), ColorRole::Accent);
        lines.extend(text);
        lines.push(Line::styled(ColorRole::Dim, "enter confirm · esc cancel").truncate(area.columns));
        Frame { lines, cursor: Some((row + 1, column)) }
    }

    fn handle_event(&mut self, event: &OverlayEvent<'_>) -> OverlayOutcome {
        match event {
            // The move that this prompt belongs to is over. If it failed, the tree below is visible again.
            OverlayEvent::Replied(CommandPurpose::Navigate, _) => OverlayOutcome::Close,
            _ => OverlayOutcome::Stay,
        }
    }
}
