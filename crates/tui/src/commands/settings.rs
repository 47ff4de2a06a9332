//! `/settings`: shows and changes the settings.

use super::SlashCommand;
use crate::msg::Action;
use crate::state::UiState;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "settings",
    aliases: &["config"],
    arguments: "",
    help: "show and change settings",
    run,
};

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    vec![Action::ReadSettings]
}
