//! `/compaction`: shows what the last compaction left out, or undoes it.

use super::SlashCommand;
use crate::msg::{Action, CommandPurpose};
use crate::state::UiState;
use crate::update::{send_command, show_error};
use osier_protocol::ClientCommand;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "compaction",
    aliases: &[],
    arguments: "[undo]",
    help: "show what the last compaction left out; undo: go back to before it",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    match words {
        "" => vec![Action::ShowCompaction],
        "undo" => send_command(ClientCommand::UndoCompaction { entry: None }, CommandPurpose::UndoCompaction),
        _ => {
            show_error(state, &format!("unknown argument {words}; use /compaction or /compaction undo"));
            Vec::new()
        }
    }
}
