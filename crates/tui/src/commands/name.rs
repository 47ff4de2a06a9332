//! `/name`: shows or sets the session name.

use super::SlashCommand;
use crate::msg::Action;
use crate::state::UiState;
use crate::update::show_notice;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "name",
    aliases: &[],
    arguments: "[text]",
    help: "show or set the session name",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    if words.is_empty() {
        let name = state.status_info.name.clone().unwrap_or_else(|| "This session has no name".to_owned());
        show_notice(state, &name);
        return Vec::new();
    }
    vec![Action::Rename(words.to_owned())]
}
