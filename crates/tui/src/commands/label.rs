//! `/label`: a name for the place where one is.

use super::Spec;
use crate::msg::Action;
use crate::state::UiState;

pub(super) const COMMAND: Spec = Spec {
    name: "label",
    aliases: &[],
    arguments: "[text]",
    help: "name the entry where you are; without text takes the name away",
    run,
};

fn run(_state: &mut UiState, words: &str) -> Vec<Action> {
    let label = Some(words.to_owned()).filter(|label| !label.is_empty());
    vec![Action::Label { entry: None, label }]
}
