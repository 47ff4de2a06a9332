//! `/graft`: adds the conclusion of another branch to this one.

use super::SlashCommand;
use crate::msg::{Action, CommandPurpose};
use crate::state::UiState;
use crate::update::{request_tree, send_command, show_notice};
use osier_protocol::ClientCommand;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "graft",
    aliases: &[],
    arguments: "[entry]",
    help: "add the conclusion of another branch to this one",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    if words.is_empty() {
        show_notice(state, "Select the end of the branch and press alt+g to graft it");
        return request_tree(state, false);
    }
    let graft = ClientCommand::Graft { tip: words.into(), summarize: false, instructions: None };
    send_command(graft, CommandPurpose::Graft)
}
