//! `/name`: shows or sets the session name.

use super::SlashCommand;
use crate::msg::{Action, CommandPurpose};
use crate::state::UiState;
use crate::update::{send_command, show_notice};
use osier_protocol::ClientCommand;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "name",
    aliases: &["rename"],
    arguments: "[text]",
    help: "show or set the session name",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    if words.is_empty() {
        let name = state.status.name.clone().unwrap_or_else(|| "This session has no name".to_owned());
        show_notice(state, &name);
        return Vec::new();
    }
    let notice = format!("Renamed the session to {words}");
    send_command(ClientCommand::Rename { name: words.to_owned() }, CommandPurpose::Change(notice))
}
