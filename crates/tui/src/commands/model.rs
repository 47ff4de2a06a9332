//! `/model`: who answers.`

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::State;
use crate::update::send;
use osier_agent::Command;

pub(super) const COMMAND: Spec =
    Spec { name: "model", aliases: &[], arguments: "[name]", help: "show the models, or choose one", run };

fn run(_state: &mut State, words: &str) -> Vec<Action> {
    match words {
        "" => vec![Action::TellModels],
        name => send(Command::SetModel(name.to_owned()), Purpose::Change(format!("model: {name}"))),
    }
}
