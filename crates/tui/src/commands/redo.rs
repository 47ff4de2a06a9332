//! `/redo`: redoes the last undone move.

use super::SlashCommand;
use crate::msg::{Action, CommandPurpose};
use crate::state::UiState;
use crate::update::send_command;
use osier_protocol::ClientCommand;

pub(super) const COMMAND: SlashCommand =
    SlashCommand { name: "redo", aliases: &[], arguments: "", help: "redo the last undone move", run };

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    send_command(ClientCommand::Redo, CommandPurpose::Redo)
}
