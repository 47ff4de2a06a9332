//! `/redo`: redoes the last undone move.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::State;
use crate::update::send;
use osier_agent::Command;

pub(super) const COMMAND: Spec =
    Spec { name: "redo", aliases: &[], arguments: "", help: "redo the last undone move", run };

fn run(_state: &mut State, _words: &str) -> Vec<Action> {
    send(Command::Redo, Purpose::Redo)
}
