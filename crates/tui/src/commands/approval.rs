//! `/approval`: what may be done without asking.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::overlay::{Outcome, Pick, Row};
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
    if let Some(mode) = Mode::named(words) {
        return choose(mode);
    }
    if words.is_empty() {
        let row = |mode: &Mode| Row {
            name: mode.name().to_owned(),
            told: told(*mode).to_owned(),
            now: state.facts.approval == Some(*mode),
            ..Row::default()
        };
        let rows = Mode::ALL.iter().map(row).collect();
        let pick = Pick::new("Approval", rows, |at| Outcome::End(choose(Mode::ALL[at])));
        state.overlays.push(Box::new(pick));
        return Vec::new();
    }
    let names = Mode::ALL.map(Mode::name).join(", ");
    complain(state, &format!("there is no mode {words}; modes: {names}"));
    Vec::new()
}

fn told(mode: Mode) -> &'static str {
    match mode {
        Mode::Default => "asks before anything that writes or runs",
        Mode::AutoEdit => "asks before anything that runs",
        Mode::Yolo => "asks for nothing",
    }
}

fn choose(mode: Mode) -> Vec<Action> {
    send(Command::SetApproval(mode), Purpose::Change(format!("approval: {}", mode.name())))
}
