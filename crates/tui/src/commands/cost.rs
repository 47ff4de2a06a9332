//! `/cost`: shows tokens and cost.

use super::Spec;
use crate::msg::Action;
use crate::state::UiState;

pub(super) const COMMAND: Spec = Spec {
    name: "cost",
    aliases: &["usage"],
    arguments: "",
    help: "show tokens and cost by model and branch",
    run,
};

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    vec![Action::PrintCost]
}
