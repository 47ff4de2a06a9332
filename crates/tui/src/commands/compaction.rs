//! `/compaction`: what the last compaction left out, and the way back to before it.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::State;
use crate::update::{complain, send};
use osier_agent::Command;

pub(super) const COMMAND: Spec = Spec {
    name: "compaction",
    aliases: &[],
    arguments: "[undo]",
    help: "what the last compaction left out; undo: go to before it",
    run,
};

fn run(state: &mut State, words: &str) -> Vec<Action> {
    match words {
        "" => vec![Action::TellCompaction],
        "undo" => send(Command::UndoCompaction { entry: None }, Purpose::Uncompact),
        _ => {
            complain(state, "/compaction shows what was left out, /compaction undo goes to before it");
            Vec::new()
        }
    }
}
