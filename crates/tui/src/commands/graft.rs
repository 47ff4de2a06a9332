//! `/graft`: the conclusion of another branch, here.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::State;
use crate::update::{read_tree, send, tell};
use osier_agent::Command;

pub(super) const COMMAND: Spec = Spec {
    name: "graft",
    aliases: &[],
    arguments: "[entry]",
    help: "bring the conclusion of another branch here",
    run,
};

fn run(state: &mut State, words: &str) -> Vec<Action> {
    if words.is_empty() {
        tell(state, "go to the end of that branch and press alt+g");
        return read_tree(state, false);
    }
    let graft = Command::Graft { tip: words.to_owned(), summarize: false, instructions: None };
    send(graft, Purpose::Graft)
}
