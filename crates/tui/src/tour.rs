//! The tour: a few steps on a demo session, in lines above the status line. Each step ends when you have done what it says.

use osier_protocol::MoveReason;

use crate::panel::rule;
use crate::state::UiState;
use crate::text::{Line, Style, wrap};
use crate::theme::ColorRole;

/// Where the tour is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TourStep {
    /// The demo session is being opened.
    Opening,
    Tree,
    Branch,
    Undo,
    Compare,
    Done,
}

/// Something that may end a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TourEvent {
    SessionOpened,
    OpeningFailed,
    TreeShown,
    Moved(MoveReason),
    Compared,
}

impl TourStep {
    /// The step after an event; `None` ends the tour.
    fn after(self, event: TourEvent) -> Option<TourStep> {
        match (self, event) {
            (TourStep::Opening, TourEvent::SessionOpened) => Some(TourStep::Tree),
            (TourStep::Opening, TourEvent::OpeningFailed) | (_, TourEvent::SessionOpened) => None,
            (TourStep::Tree, TourEvent::TreeShown) => Some(TourStep::Branch),
            (TourStep::Branch, TourEvent::Moved(MoveReason::Move)) => Some(TourStep::Undo),
            (TourStep::Undo, TourEvent::Moved(MoveReason::Undo)) => Some(TourStep::Compare),
            (TourStep::Compare, TourEvent::Compared) => Some(TourStep::Done),
            _ => Some(self),
        }
    }

    /// What to do. Keys and commands stand in backticks.
    fn text(self) -> &'static str {
        match self {
            TourStep::Opening => "",
            TourStep::Tree => {
                "1/5 The tree: this session tried two ways to add a flag. Press `alt+t` to see both."
            }
            TourStep::Branch => {
                "2/5 Branch and summarize: select \"Then page the array\" with `↑` and press `enter`. Choose \"summarize\" to take along what this branch learned."
            }
            TourStep::Undo => {
                "3/5 Undo: you are before that message, and its text is in the editor to rephrase. Press `ctrl+c` to clear it, then `alt+u` to undo the move."
            }
            TourStep::Compare => {
                "4/5 Compare: open the tree with `alt+t` and press `alt+c` on two rows of different branches."
            }
            TourStep::Done => {
                "5/5 Both branches, side by side. Nothing was lost on the way: every entry stays in the session. Press `esc` twice; then `/tour` ends the tour, and `/resume` opens your sessions."
            }
        }
    }
}

/// Tells the tour about an event.
pub(crate) fn note(state: &mut UiState, event: TourEvent) {
    state.tour = state.tour.and_then(|step| step.after(event));
}

/// The lines of the current step.
pub(crate) fn tour_lines(state: &UiState) -> Vec<Line> {
    let Some(step) = state.tour.filter(|step| *step != TourStep::Opening) else { return Vec::new() };
    let title = Line::styled(Style::from(ColorRole::Good).bold(), "Tour");
    let mut lines = vec![rule("──", title, state.columns, ColorRole::Good)];
    lines.extend(wrap(&Line::with_keys(ColorRole::Text, step.text()), state.columns));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_ends_with_what_it_asks_for() {
        use MoveReason::{Move, Undo};
        let mut step = TourStep::Opening;
        let mut after = |event| {
            step = step.after(event).unwrap();
            step
        };
        assert_eq!(after(TourEvent::SessionOpened), TourStep::Tree);
        assert_eq!(after(TourEvent::Compared), TourStep::Tree, "another event changes nothing");
        assert_eq!(after(TourEvent::TreeShown), TourStep::Branch);
        assert_eq!(after(TourEvent::Moved(Move)), TourStep::Undo);
        assert_eq!(after(TourEvent::Moved(Undo)), TourStep::Compare);
        assert_eq!(after(TourEvent::Compared), TourStep::Done);
        assert_eq!(step.after(TourEvent::SessionOpened), None, "another session ends the tour");
        assert_eq!(TourStep::Opening.after(TourEvent::OpeningFailed), None);
    }
}
