//! `/retry`: go on where the turn stopped.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::UiState;
use crate::update::send_command;
use osier_agent::ClientCommand;

pub(super) const COMMAND: Spec = Spec {
    name: "retry",
    aliases: &[],
    arguments: "",
    help: "go on where the path asks for something: after a failure or a crash",
    run,
};

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    send_command(ClientCommand::Resume, Purpose::Change("going on".to_owned()))
}
