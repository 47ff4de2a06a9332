//! `/retry`: go on where the turn stopped.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::State;
use crate::update::send;
use osier_agent::Command;

pub(super) const COMMAND: Spec = Spec {
    name: "retry",
    aliases: &[],
    arguments: "",
    help: "go on where the path asks for something: after a failure or a crash",
    run,
};

fn run(_state: &mut State, _words: &str) -> Vec<Action> {
    send(Command::Resume, Purpose::Change("going on".to_owned()))
}
