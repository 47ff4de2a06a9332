//! `/copy`: copies the last answer to the clipboard.

use super::SlashCommand;
use crate::msg::Action;
use crate::state::UiState;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "copy",
    aliases: &[],
    arguments: "",
    help: "copy the last answer to the clipboard",
    run,
};

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    vec![Action::CopyAnswer]
}
