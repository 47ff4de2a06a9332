//! `/branch`: copies this path to a new session.

use super::Spec;
use crate::msg::{Action, Which};
use crate::state::State;

pub(super) const COMMAND: Spec = Spec {
    name: "branch",
    aliases: &["clone"],
    arguments: "",
    help: "copy this path to a new session and switch to it",
    run,
};

fn run(_state: &mut State, _words: &str) -> Vec<Action> {
    vec![Action::Open(Which::Fork { before: None })]
}
