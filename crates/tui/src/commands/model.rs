//! `/model`: chooses the model.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::overlay::{Outcome, Pick, Row};
use crate::state::UiState;
use crate::update::send_command;
use osier_agent::ClientCommand;

pub(super) const COMMAND: Spec = Spec {
    name: "model",
    aliases: &[],
    arguments: "[name]",
    help: "choose the model, from a list or by name",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    if !words.is_empty() {
        return choose(words);
    }
    let names = state.config.models.clone();
    let row =
        |name: &String| Row { name: name.clone(), now: *name == state.status_info.model, ..Row::default() };
    let rows = names.iter().map(row).collect();
    let pick = Pick::new("Model", rows, move |at| Outcome::End(choose(&names[at])));
    state.overlays.push(Box::new(pick));
    Vec::new()
}

fn choose(name: &str) -> Vec<Action> {
    send_command(ClientCommand::SetModel(name.to_owned()), Purpose::Change(format!("model: {name}")))
}
