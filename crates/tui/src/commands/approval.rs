//! `/approval`: what may be done without asking.`

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::State;
use crate::update::{complain, send};
use osier_agent::Command;
use osier_tools::approvals::Mode;

pub(super) const COMMAND: Spec = Spec {
    name: "approval",
    aliases: &[],
    arguments: "[mode]",
    help: "what may be done without asking: default, autoEdit, yolo",
    run,
};

fn run(state: &mut State, words: &str) -> Vec<Action> {
    let names = Mode::ALL.map(Mode::name).join(", ");
    match Mode::named(words) {
        Some(mode) => send(Command::SetApproval(mode), Purpose::Change(format!("approval: {}", mode.name()))),
        None => {
            complain(state, &format!("say one of: {names}"));
            Vec::new()
        }
    }
}
