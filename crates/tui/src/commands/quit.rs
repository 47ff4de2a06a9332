//! `/quit`: quits the program.

use super::SlashCommand;
use crate::msg::Action;
use crate::state::UiState;

pub(super) const COMMAND: SlashCommand =
    SlashCommand { name: "quit", aliases: &["exit"], arguments: "", help: "quit", run };

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    vec![Action::Quit]
}
