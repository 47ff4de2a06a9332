//! `/compact`: replaces the older part of the context with a summary.

use super::SlashCommand;
use crate::msg::{Action, CommandPurpose};
use crate::state::UiState;
use crate::update::send_command;
use osier_protocol::ClientCommand;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "compact",
    aliases: &[],
    arguments: "[focus]",
    help: "summarize the older part of the conversation",
    run,
};

fn run(_state: &mut UiState, words: &str) -> Vec<Action> {
    let focus = Some(words.to_owned()).filter(|focus| !focus.is_empty());
    send_command(ClientCommand::Compact { focus }, CommandPurpose::Compact)
}
