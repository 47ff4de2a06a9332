//! Shows the summary of a move or a graft while it is written. Escape cancels it, and nothing changes.

use osier_protocol::ClientCommand;

use super::{Overlay, OverlayArea, OverlayEvent, OverlayOutcome};
use crate::key::{Key, KeyCode};
use crate::msg::{Action, Purpose};
use crate::screen::Frame;
use crate::text::{Line, Style};
use crate::theme::ColorRole;
use crate::transcript::{RenderOptions, output_tail};

/// A title and the text so far.
#[derive(Debug)]
pub(crate) struct SummaryProgress {
    title: &'static str,
    purpose: Purpose,
    text: String,
    canceling: bool,
}

impl SummaryProgress {
    pub(crate) fn moving() -> SummaryProgress {
        SummaryProgress::new("Summarizing the branch you are leaving…", Purpose::Navigate)
    }

    pub(crate) fn grafting() -> SummaryProgress {
        SummaryProgress::new("Grafting the branch…", Purpose::Graft)
    }

    fn new(title: &'static str, purpose: Purpose) -> SummaryProgress {
        SummaryProgress { title, purpose, text: String::new(), canceling: false }
    }
}

impl Overlay for SummaryProgress {
    fn handle_key(&mut self, key: Key, _room: OverlayArea) -> OverlayOutcome {
        match (key.code, key.ctrl) {
            (KeyCode::Escape, _) | (KeyCode::Char('c'), true) if !self.canceling => {
                self.canceling = true;
                OverlayOutcome::Run(vec![Action::Send(ClientCommand::Cancel, Purpose::Cancel)])
            }
            _ => OverlayOutcome::Stay,
        }
    }

    fn view(&self, room: OverlayArea) -> Frame {
        let title = if self.canceling { "Canceling…" } else { self.title };
        let mut lines = vec![Line::styled(Style::from(ColorRole::Accent).bold(), title)];
        let look = RenderOptions { width: room.columns, ..RenderOptions::default() };
        lines.extend(output_tail(&self.text, room.rows.saturating_sub(2).min(8), look));
        lines.push(Line::styled(ColorRole::Dim, "esc cancel (nothing changes)"));
        Frame { lines: lines.into_iter().map(|line| line.truncate(room.columns)).collect(), cursor: None }
    }

    fn handle_event(&mut self, news: &OverlayEvent<'_>) -> OverlayOutcome {
        match news {
            OverlayEvent::SummaryText(text) => self.text.push_str(text),
            // Close on success and on failure. After a move the components below close too.
            OverlayEvent::Replied(purpose, _) if **purpose == self.purpose => return OverlayOutcome::Close,
            _ => {}
        }
        OverlayOutcome::Stay
    }
}
