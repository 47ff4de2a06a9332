//! `/session`: what the session holds and what it cost.

use super::Spec;
use crate::msg::Action;
use crate::state::UiState;

pub(super) const COMMAND: Spec = Spec {
    name: "session",
    aliases: &[],
    arguments: "",
    help: "file, size, tokens and cost of the session",
    run,
};

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    vec![Action::PrintUsage]
}
