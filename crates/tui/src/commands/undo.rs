//! `/undo`: undoes the last move.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::State;
use crate::update::send;
use osier_agent::Command;

pub(super) const COMMAND: Spec =
    Spec { name: "undo", aliases: &[], arguments: "", help: "undo the last move", run };

fn run(_state: &mut State, _words: &str) -> Vec<Action> {
    send(Command::Undo, Purpose::Undo)
}
