//! `/new`: an empty session.

use super::Spec;
use crate::msg::{Action, Which};
use crate::state::State;

pub(super) const COMMAND: Spec =
    Spec { name: "new", aliases: &[], arguments: "", help: "begin a new session", run };

fn run(_state: &mut State, _words: &str) -> Vec<Action> {
    vec![Action::Open(Which::New)]
}
