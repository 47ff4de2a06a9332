//! `/compaction`: what the last compaction left out, and the way back to before it.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::UiState;
use crate::update::{send_command, show_error};
use osier_agent::ClientCommand;

pub(super) const COMMAND: Spec = Spec {
    name: "compaction",
    aliases: &[],
    arguments: "[undo]",
    help: "what the last compaction left out; undo: go to before it",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    match words {
        "" => vec![Action::ShowCompaction],
        "undo" => send_command(ClientCommand::UndoCompaction { entry: None }, Purpose::UndoCompaction),
        _ => {
            show_error(state, "/compaction shows what was left out, /compaction undo goes to before it");
            Vec::new()
        }
    }
}
