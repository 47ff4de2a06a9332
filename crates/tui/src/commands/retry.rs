//! `/retry`: continues an unfinished turn.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::State;
use crate::update::send;
use osier_agent::Command;

pub(super) const COMMAND: Spec = Spec {
    name: "retry",
    aliases: &[],
    arguments: "",
    help: "continue an unfinished turn, after an error or a crash",
    run,
};

fn run(_state: &mut State, _words: &str) -> Vec<Action> {
    send(Command::Resume, Purpose::Change("Continuing the turn".to_owned()))
}
