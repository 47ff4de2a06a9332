//! `/approval`: sets what tools may do without asking.

use super::SlashCommand;
use crate::msg::{Action, CommandPurpose};
use crate::overlay::{ListPicker, ListRow, OverlayOutcome};
use crate::state::UiState;
use crate::update::{send_command, show_error};
use osier_protocol::query::SandboxStatus;
use osier_protocol::{ApprovalMode, ClientCommand};

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "approval",
    aliases: &[],
    arguments: "[mode]",
    help: "set what runs without asking: default, autoEdit, sandbox, yolo",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    if let Some(mode) = ApprovalMode::from_name(words) {
        return set_mode(mode);
    }
    if words.is_empty() {
        let row = |mode: &ApprovalMode| ListRow {
            name: mode.name().to_owned(),
            description: describe_mode(*mode, state),
            is_current: state.status.approval_mode == Some(*mode),
            ..ListRow::default()
        };
        let rows = ApprovalMode::ALL.iter().map(row).collect();
        let pick = ListPicker::new("Approval", rows, |at| {
            OverlayOutcome::CloseAndRun(set_mode(ApprovalMode::ALL[at]))
        });
        state.overlays.push(Box::new(pick));
        return Vec::new();
    }
    let names = ApprovalMode::ALL.map(ApprovalMode::name).join(", ");
    show_error(state, &format!("unknown approval mode {words}; use one of {names}"));
    Vec::new()
}

fn describe_mode(mode: ApprovalMode, state: &UiState) -> String {
    match mode {
        ApprovalMode::Default => "asks before writing files or running commands".to_owned(),
        ApprovalMode::AutoEdit => "asks before running commands".to_owned(),
        ApprovalMode::Sandbox => match &state.sandbox {
            SandboxStatus::Active { protection } => {
                format!("runs commands in the sandbox without asking ({protection})")
            }
            SandboxStatus::Unavailable { reason } => {
                format!("not available, asks before running commands: {reason}")
            }
            SandboxStatus::Disabled => {
                "not available, asks before running commands: sandbox.when is set to never".to_owned()
            }
        },
        ApprovalMode::Yolo => "never asks, no sandbox".to_owned(),
    }
}

fn set_mode(mode: ApprovalMode) -> Vec<Action> {
    send_command(
        ClientCommand::SetApproval { mode },
        CommandPurpose::Change(format!("approval: {}", mode.name())),
    )
}
