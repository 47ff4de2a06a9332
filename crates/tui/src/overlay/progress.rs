//! Shows the summary of a move or a graft while it is written. Escape cancels it, and nothing changes.

use osier_protocol::ClientCommand;

use super::{Overlay, OverlayArea, OverlayEvent, OverlayOutcome};
use crate::key::{Key, KeyCode};
use crate::msg::{Action, CommandPurpose};
use crate::screen::Frame;
use crate::text::{Line, Style};
use crate::theme::ColorRole;
use crate::transcript::{RenderOptions, output_tail};

/// A title and the text so far.
#[derive(Debug)]
pub(crate) struct SummaryProgress {
    title: &'static str,
    purpose: CommandPurpose,
    text: String,
    canceling: bool,
}

impl SummaryProgress {
    pub(crate) fn moving() -> SummaryProgress {
        SummaryProgress::new("Summarizing the branch you are leaving…", CommandPurpose::Navigate)
    }

    pub(crate) fn grafting() -> SummaryProgress {
        SummaryProgress::new("Grafting the branch…", CommandPurpose::Graft)
    }

    fn new(title: &'static str, purpose: CommandPurpose) -> SummaryProgress {
        SummaryProgress { title, purpose, text: String::new(), canceling: false }
    }
}

impl Overlay for SummaryProgress {
    fn handle_key(&mut self, key: Key, _area: OverlayArea) -> OverlayOutcome {
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) if !self.canceling => {
                self.canceling = true;
                OverlayOutcome::Run(vec![Action::Send(ClientCommand::Cancel, CommandPurpose::Cancel)])
            }
            _ => OverlayOutcome::Stay,
        }
    }

    fn view(&self, area: OverlayArea) -> Frame {
        let title = if self.canceling { "Canceling…" } else { self.title };
        let mut lines = vec![Line::styled(Style::from(ColorRole::Accent).bold(), title)];
        let options = RenderOptions { width: area.columns, ..RenderOptions::default() };
        lines.extend(output_tail(&self.text, area.rows.saturating_sub(2).min(8), options));
        lines.push(Line::styled(ColorRole::Dim, "esc cancel (nothing changes)"));
        Frame { lines: lines.into_iter().map(|line| line.truncate(area.columns)).collect(), cursor: None }
    }

    fn handle_event(&mut self, event: &OverlayEvent<'_>) -> OverlayOutcome {
        match event {
            OverlayEvent::SummaryText(text) => self.text.push_str(text),
            // Close on success and on failure. After a move the components below close too.
            OverlayEvent::Replied(purpose, _) if **purpose == self.purpose => return OverlayOutcome::Close,
            _ => {}
        }
        OverlayOutcome::Stay
    }
}
