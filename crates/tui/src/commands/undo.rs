//! `/undo`: undoes the last move.

use super::SlashCommand;
use crate::msg::{Action, CommandPurpose};
use crate::state::UiState;
use crate::update::send_command;
use osier_protocol::ClientCommand;

pub(super) const COMMAND: SlashCommand =
    SlashCommand { name: "undo", aliases: &[], arguments: "", help: "undo the last move", run };

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    send_command(ClientCommand::Undo, CommandPurpose::Undo)
}
