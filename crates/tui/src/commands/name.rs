//! `/name`: shows or sets the session name.

use super::Spec;
use crate::msg::Action;
use crate::state::State;
use crate::update::tell;

pub(super) const COMMAND: Spec =
    Spec { name: "name", aliases: &[], arguments: "[text]", help: "show or set the session name", run };

fn run(state: &mut State, words: &str) -> Vec<Action> {
    if words.is_empty() {
        let name = state.facts.name.clone().unwrap_or_else(|| "This session has no name".to_owned());
        tell(state, &name);
        return Vec::new();
    }
    vec![Action::Rename(words.to_owned())]
}
