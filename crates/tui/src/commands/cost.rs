//! `/cost`: shows tokens and cost.

use super::SlashCommand;
use crate::msg::Action;
use crate::state::UiState;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "cost",
    aliases: &["usage"],
    arguments: "",
    help: "show tokens and cost by model and branch",
    run,
};

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    vec![Action::PrintCost]
}
