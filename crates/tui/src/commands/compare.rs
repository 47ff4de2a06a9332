//! `/compare`: shows two branches side by side.

use super::SlashCommand;
use crate::msg::Action;
use crate::state::UiState;
use crate::update::{request_tree, show_notice};

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "compare",
    aliases: &[],
    arguments: "[entry entry]",
    help: "compare two branches; mark them with alt+c in /tree",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    match words.split_once(' ') {
        Some((left, right)) => vec![Action::Compare(left.trim().into(), right.trim().into())],
        None => {
            show_notice(state, "Mark two entries with alt+c to compare them");
            request_tree(state, false)
        }
    }
}
