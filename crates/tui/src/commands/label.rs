//! `/label`: labels the current entry.

use super::SlashCommand;
use crate::msg::Action;
use crate::state::UiState;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "label",
    aliases: &[],
    arguments: "[text]",
    help: "label the current entry; without text, remove its label",
    run,
};

fn run(_state: &mut UiState, words: &str) -> Vec<Action> {
    let label = Some(words.to_owned()).filter(|label| !label.is_empty());
    vec![Action::Label { entry: None, label }]
}
