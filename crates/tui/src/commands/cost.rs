//! `/cost`: what the session cost so far.

use super::Spec;
use crate::msg::Action;
use crate::state::UiState;

pub(super) const COMMAND: Spec = Spec {
    name: "cost",
    aliases: &["usage"],
    arguments: "",
    help: "tokens and cost of the session, by model and branch",
    run,
};

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    vec![Action::PrintCost]
}
