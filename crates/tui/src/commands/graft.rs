//! `/graft`: the conclusion of another branch, here.`

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::State;
use crate::update::{complain, send};
use osier_agent::Command;

pub(super) const COMMAND: Spec = Spec {
    name: "graft",
    aliases: &[],
    arguments: "<entry>",
    help: "bring the conclusion of another branch here",
    run,
};

fn run(state: &mut State, words: &str) -> Vec<Action> {
    if words.is_empty() {
        complain(state, "name the last entry of that branch; /tree shows its id");
        return Vec::new();
    }
    let graft = Command::Graft { tip: words.to_owned(), summarize: true, instructions: None };
    send(graft, Purpose::Change("grafted".to_owned()))
}
