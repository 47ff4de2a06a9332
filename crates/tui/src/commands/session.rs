//! `/session`: shows the size and cost of the session.

use super::SlashCommand;
use crate::msg::Action;
use crate::state::UiState;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "session",
    aliases: &[],
    arguments: "",
    help: "show file, size, tokens and cost of the session",
    run,
};

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    vec![Action::PrintUsage]
}
