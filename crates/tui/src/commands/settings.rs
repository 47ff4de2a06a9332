//! `/settings`: how the program is set up, and to change it.

use super::Spec;
use crate::msg::Action;
use crate::state::UiState;

pub(super) const COMMAND: Spec = Spec {
    name: "settings",
    aliases: &["config"],
    arguments: "",
    help: "how it is set up, and to change it",
    run,
};

fn run(_state: &mut UiState, _words: &str) -> Vec<Action> {
    vec![Action::ReadSettings]
}
