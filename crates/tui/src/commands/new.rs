//! `/new`: starts an empty session.

use super::SlashCommand;
use crate::msg::{Action, OpenTarget};
use crate::state::UiState;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "new",
    aliases: &["clear"],
    arguments: "",
    help: "start a new, empty session; this one is kept",
    run,
};

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    vec![Action::Open(OpenTarget::New)]
}
