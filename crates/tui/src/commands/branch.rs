//! `/branch`: copies this path to a new session.

use osier_protocol::ForkPosition;

use super::SlashCommand;
use crate::msg::{Action, OpenTarget};
use crate::state::UiState;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "branch",
    aliases: &["clone"],
    arguments: "",
    help: "copy this path to a new session and switch to it",
    run,
};

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    vec![Action::Open(OpenTarget::Fork { from: ForkPosition::Current })]
}
