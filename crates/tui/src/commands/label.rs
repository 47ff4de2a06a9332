//! `/label`: labels the current entry.

use super::SlashCommand;
use crate::msg::{Action, CommandPurpose};
use crate::state::UiState;
use crate::update::send_command;
use osier_protocol::ClientCommand;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "label",
    aliases: &[],
    arguments: "[text]",
    help: "label the current entry; without text, remove its label",
    run,
};

fn run(_state: &mut UiState, words: &str) -> Vec<Action> {
    let label = Some(words.to_owned()).filter(|label| !label.is_empty());
    let notice = match &label {
        Some(label) => format!("Labeled {label}"),
        None => "Label removed".to_owned(),
    };
    send_command(ClientCommand::Label { entry: None, label }, CommandPurpose::Change(notice))
}
