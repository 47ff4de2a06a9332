//! `/graft`: adds the conclusion of another branch to this one.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::State;
use crate::update::{read_tree, send, tell};
use osier_agent::Command;

pub(super) const COMMAND: Spec = Spec {
    name: "graft",
    aliases: &[],
    arguments: "[entry]",
    help: "add the conclusion of another branch to this one",
    run,
};

fn run(state: &mut State, words: &str) -> Vec<Action> {
    if words.is_empty() {
        tell(state, "Select the end of the branch and press alt+g to graft it");
        return read_tree(state, false);
    }
    let graft = Command::Graft { tip: words.to_owned(), summarize: false, instructions: None };
    send(graft, Purpose::Graft)
}
