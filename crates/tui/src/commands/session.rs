//! `/session`: what the session holds and what it cost.

use super::Spec;
use crate::msg::Action;
use crate::state::State;

pub(super) const COMMAND: Spec = Spec {
    name: "session",
    aliases: &[],
    arguments: "",
    help: "size, tokens and cost, by branch and model",
    run,
};

fn run(_state: &mut State, _words: &str) -> Vec<Action> {
    vec![Action::TellUsage]
}
