//! `/name`: what the session is called.

use super::Spec;
use crate::msg::Action;
use crate::state::UiState;
use crate::update::show_notice;

pub(super) const COMMAND: Spec = Spec {
    name: "name",
    aliases: &[],
    arguments: "[text]",
    help: "show or set the name of the session",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    if words.is_empty() {
        let name = state.status_info.name.clone().unwrap_or_else(|| "this session has no name".to_owned());
        show_notice(state, &name);
        return Vec::new();
    }
    vec![Action::Rename(words.to_owned())]
}
