//! `/retry`: continues an unfinished turn.

use super::SlashCommand;
use crate::msg::{Action, CommandPurpose};
use crate::state::UiState;
use crate::update::send_command;
use osier_protocol::ClientCommand;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "retry",
    aliases: &[],
    arguments: "",
    help: "continue an unfinished turn, after an error or a crash",
    run,
};

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    send_command(ClientCommand::Resume, CommandPurpose::Mark)
}
