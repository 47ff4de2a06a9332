//! `/tour`: shows branches, summaries, undo and comparison on a demo session.

use super::SlashCommand;
use crate::msg::{Action, OpenTarget};
use crate::state::UiState;
use crate::tour::TourStep;
use crate::update::show_notice;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "tour",
    aliases: &[],
    arguments: "",
    help: "take a two-minute tour of the tree on a demo session; again to end it",
    run,
};

fn run(state: &mut UiState, _words: &str) -> Vec<Action> {
    if state.tour.take().is_some() {
        show_notice(state, "The tour has ended; /resume opens your other sessions");
        return Vec::new();
    }
    state.tour = Some(TourStep::Opening);
    vec![Action::Open(OpenTarget::Demo)]
}
