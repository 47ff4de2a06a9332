//! `/fork`: forks before one of your messages, here or in a new session.

use super::SlashCommand;
use crate::msg::Action;
use crate::state::UiState;
use crate::update::request_tree;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "fork",
    aliases: &[],
    arguments: "",
    help: "fork before a message, here or in a new session",
    run,
};

fn run(state: &mut UiState, _words: &str) -> Vec<Action> {
    request_tree(state, true)
}
