//! `/compaction`: shows what the last compaction left out, or undoes it.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::State;
use crate::update::{complain, send};
use osier_agent::Command;

pub(super) const COMMAND: Spec = Spec {
    name: "compaction",
    aliases: &[],
    arguments: "[undo]",
    help: "show what the last compaction left out; undo: go back to before it",
    run,
};

fn run(state: &mut State, words: &str) -> Vec<Action> {
    match words {
        "" => vec![Action::TellCompaction],
        "undo" => send(Command::UndoCompaction { entry: None }, Purpose::Uncompact),
        _ => {
            complain(state, &format!("unknown argument {words}; use /compaction or /compaction undo"));
            Vec::new()
        }
    }
}
