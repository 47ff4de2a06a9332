//! `/resume`: opens another session.

use super::Spec;
use crate::msg::{Action, OpenTarget};
use crate::overlay::Sessions;
use crate::state::UiState;

pub(super) const COMMAND: Spec =
    Spec { name: "resume", aliases: &[], arguments: "[id]", help: "open another session", run };

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    if words.is_empty() {
        let sessions = Sessions::new(state);
        state.overlays.push(Box::new(sessions));
        return vec![Action::ListSessions];
    }
    vec![Action::Open(OpenTarget::Named(words.to_owned()))]
}
