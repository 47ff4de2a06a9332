//! A component of an extension. The extension draws it and gets its keys.

use osier_protocol::{ClientCommand, ExtensionInput, UserAnswer};

use super::{ANSWER_PAUSE_MS, Overlay, OverlayArea, OverlayEvent, OverlayOutcome};
use crate::extension_ui::send_input;
use crate::key::{Key, KeyCode, key_sequence};
use crate::msg::{Action, CommandPurpose};
use crate::screen::Frame;
use crate::text::{Line, parse_lines};
use crate::theme::ColorRole;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct ComponentOverlay {
    question: u64,
    component: u64,
    client: u64,
    /// The name of the extension, until it has drawn something.
    name: String,
    lines: Option<Vec<String>>,
    first_shown: Option<u64>,
    /// The last key was Ctrl+C. Another one closes a component that does not close itself.
    interrupted: bool,
}

impl ComponentOverlay {
    pub(crate) fn new(question: u64, component: u64, client: u64, name: String) -> ComponentOverlay {
        let (lines, first_shown, interrupted) = (None, None, false);
        ComponentOverlay { question, component, client, name, lines, first_shown, interrupted }
    }

    fn send(&self, data: String) -> OverlayOutcome {
        let (component, client) = (self.component, self.client);
        OverlayOutcome::Run(vec![send_input(ExtensionInput::Key { component, data, client })])
    }
}

impl Overlay for ComponentOverlay {
    fn handle_key(&mut self, key: Key, area: OverlayArea) -> OverlayOutcome {
        if key == Key::ctrl('c') && std::mem::replace(&mut self.interrupted, true) {
            let answer = UserAnswer::No { reason: String::new() };
            let command = ClientCommand::Answer { question: self.question, answer };
            return OverlayOutcome::CloseAndRun(vec![Action::Send(command, CommandPurpose::Answer)]);
        }
        self.interrupted = key == Key::ctrl('c');
        // It was typed before the component was visible.
        let is_seen = self.first_shown.is_some_and(|at| area.now.saturating_sub(at) >= ANSWER_PAUSE_MS);
        match key.code == KeyCode::Enter && !is_seen {
            true => OverlayOutcome::Stay,
            false => self.send(key_sequence(key)),
        }
    }

    fn component(&self) -> Option<u64> {
        Some(self.component)
    }

    fn allows_floats(&self) -> bool {
        true
    }

    fn note_shown(&mut self, area: OverlayArea) {
        if self.lines.is_some() {
            self.first_shown.get_or_insert(area.now);
        }
    }

    fn has_frame(&self) -> bool {
        false
    }

    fn view(&self, area: OverlayArea) -> Frame {
        let Some(texts) = &self.lines else {
            let text = format!("{}… (ctrl+c to close)", self.name);
            return Frame {
                lines: vec![Line::styled(ColorRole::Dim, &text).truncate(area.columns)],
                cursor: None,
            };
        };
        let (lines, cursor) = parse_lines(&texts[..texts.len().min(area.rows)], area.columns);
        Frame { cursor: cursor.filter(|(row, _)| *row < lines.len()), lines }
    }

    fn handle_event(&mut self, event: &OverlayEvent<'_>) -> OverlayOutcome {
        match event {
            OverlayEvent::Answered(id) if *id == self.question => return OverlayOutcome::Close,
            OverlayEvent::Component(id, lines) if *id == self.component => self.lines = Some(lines.to_vec()),
            _ => {}
        }
        OverlayOutcome::Stay
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::LocalClock;

    fn area(now: u64) -> OverlayArea {
        OverlayArea { columns: 20, rows: 5, now, clock: LocalClock::default() }
    }

    #[test]
    fn enter_counts_only_after_the_component_was_seen() {
        let mut overlay = ComponentOverlay::new(1, 2, 0, "x".to_owned());
        let enter = Key::from(KeyCode::Enter);
        assert!(matches!(overlay.handle_key(enter, area(0)), OverlayOutcome::Stay));
        overlay.note_shown(area(0));
        let lines = ["\u{1b}[31mhello\u{1b}[0m".to_owned()];
        overlay.handle_event(&OverlayEvent::Component(2, &lines));
        assert_eq!(overlay.view(area(0)).lines[0].plain(), "hello");
        overlay.note_shown(area(1000));
        assert!(matches!(overlay.handle_key(enter, area(1001)), OverlayOutcome::Stay));
        assert!(matches!(overlay.handle_key(enter, area(1000 + ANSWER_PAUSE_MS)), OverlayOutcome::Run(_)));
    }

    #[test]
    fn the_second_ctrl_c_closes_it() {
        let mut overlay = ComponentOverlay::new(1, 2, 0, "x".to_owned());
        let key = Key::ctrl('c');
        assert!(matches!(overlay.handle_key(key, area(0)), OverlayOutcome::Run(_)));
        assert!(matches!(overlay.handle_key(key, area(0)), OverlayOutcome::CloseAndRun(_)));
    }
}
