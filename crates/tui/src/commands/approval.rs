//! `/approval`: sets what tools may do without asking.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::overlay::{Outcome, Pick, Row};
use crate::state::UiState;
use crate::update::{send_command, show_error};
use osier_agent::ClientCommand;
use osier_tools::approvals::Mode;

pub(super) const COMMAND: Spec = Spec {
    name: "approval",
    aliases: &[],
    arguments: "[mode]",
    help: "set what runs without asking: default, autoEdit, sandbox, yolo",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    if let Some(mode) = Mode::named(words) {
        return choose(mode);
    }
    if words.is_empty() {
        let row = |mode: &Mode| Row {
            name: mode.name().to_owned(),
            told: told(*mode, state),
            now: state.status_info.approval_mode == Some(*mode),
            ..Row::default()
        };
        let rows = Mode::ALL.iter().map(row).collect();
        let pick = Pick::new("Approval", rows, |at| Outcome::End(choose(Mode::ALL[at])));
        state.overlays.push(Box::new(pick));
        return Vec::new();
    }
    let names = Mode::ALL.map(Mode::name).join(", ");
    show_error(state, &format!("unknown approval mode {words}; use one of {names}"));
    Vec::new()
}

fn told(mode: Mode, state: &UiState) -> String {
    match mode {
        Mode::Default => "asks before writing files or running commands".to_owned(),
        Mode::AutoEdit => "asks before running commands".to_owned(),
        Mode::Sandbox => match state.config.sandbox_state() {
            Ok(protection) => format!("runs commands in the sandbox without asking ({protection})"),
            Err(reason) => format!("not available, asks before running commands: {reason}"),
        },
        Mode::Yolo => "never asks, no sandbox".to_owned(),
    }
}

fn choose(mode: Mode) -> Vec<Action> {
    send_command(ClientCommand::SetApproval(mode), Purpose::Change(format!("approval: {}", mode.name())))
}
