//! `/compare`: two branches side by side.

use super::Spec;
use crate::msg::Action;
use crate::state::UiState;
use crate::update::{request_tree, show_notice};

pub(super) const COMMAND: Spec = Spec {
    name: "compare",
    aliases: &[],
    arguments: "[entry entry]",
    help: "compare two branches; in /tree mark them with alt+c",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    match words.split_once(' ') {
        Some((left, right)) => vec![Action::Compare(left.trim().to_owned(), right.trim().to_owned())],
        None => {
            show_notice(state, "mark the first with alt+c, then the second");
            request_tree(state, false)
        }
    }
}
