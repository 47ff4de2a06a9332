//! `/tree`: shows the session tree.

use super::SlashCommand;
use crate::msg::Action;
use crate::state::UiState;
use crate::update::request_tree;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "tree",
    aliases: &[],
    arguments: "",
    help: "show the tree: browse, search, label, move",
    run,
};

fn run(state: &mut UiState, _words: &str) -> Vec<Action> {
    request_tree(state, false)
}
