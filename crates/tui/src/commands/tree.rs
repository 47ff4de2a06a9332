//! `/tree`: shows the session tree.

use super::Spec;
use crate::msg::Action;
use crate::state::State;
use crate::update::read_tree;

pub(super) const COMMAND: Spec = Spec {
    name: "tree",
    aliases: &[],
    arguments: "",
    help: "show the tree: browse, search, label, move",
    run,
};

fn run(state: &mut State, _words: &str) -> Vec<Action> {
    read_tree(state, false)
}
