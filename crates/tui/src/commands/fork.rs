//! `/fork`: forks before one of your messages, here or in a new session.

use super::Spec;
use crate::msg::Action;
use crate::state::State;
use crate::update::read_tree;

pub(super) const COMMAND: Spec = Spec {
    name: "fork",
    aliases: &[],
    arguments: "",
    help: "fork before a message, here or in a new session",
    run,
};

fn run(state: &mut State, _words: &str) -> Vec<Action> {
    read_tree(state, true)
}
