//! `/new`: starts an empty session.

use super::Spec;
use crate::msg::{Action, Which};
use crate::state::State;

pub(super) const COMMAND: Spec = Spec {
    name: "new",
    aliases: &["clear"],
    arguments: "",
    help: "start a new, empty session; this one is kept",
    run,
};

fn run(_state: &mut State, _words: &str) -> Vec<Action> {
    vec![Action::Open(Which::New)]
}
