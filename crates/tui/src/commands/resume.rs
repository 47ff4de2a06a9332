//! `/resume`: opens another session.

use super::SlashCommand;
use crate::msg::{Action, OpenTarget};
use crate::overlay::SessionPicker;
use crate::state::UiState;

pub(super) const COMMAND: SlashCommand =
    SlashCommand { name: "resume", aliases: &[], arguments: "[id]", help: "open another session", run };

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    if words.is_empty() {
        let sessions = SessionPicker::new(state);
        state.overlays.push(Box::new(sessions));
        return vec![Action::ListSessions];
    }
    vec![Action::Open(OpenTarget::Named(words.to_owned()))]
}
