//! `/compare`: two branches side by side.

use super::Spec;
use crate::msg::Action;
use crate::state::State;
use crate::update::{read_tree, tell};

pub(super) const COMMAND: Spec = Spec {
    name: "compare",
    aliases: &[],
    arguments: "[entry entry]",
    help: "compare two branches; in /tree mark them with alt+c",
    run,
};

fn run(state: &mut State, words: &str) -> Vec<Action> {
    match words.split_once(' ') {
        Some((left, right)) => vec![Action::Compare(left.trim().to_owned(), right.trim().to_owned())],
        None => {
            tell(state, "mark the first with alt+c, then the second");
            read_tree(state, false)
        }
    }
}
