//! `/model`: chooses the model.

use super::SlashCommand;
use crate::msg::{Action, CommandPurpose};
use crate::overlay::{ListPicker, ListRow, OverlayOutcome};
use crate::state::UiState;
use crate::update::send_command;
use osier_protocol::ClientCommand;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "model",
    aliases: &[],
    arguments: "[name]",
    help: "choose the model, from a list or by name",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    if !words.is_empty() {
        return set_model(words);
    }
    let names = state.models.clone();
    let row = |name: &String| ListRow {
        name: name.clone(),
        is_current: *name == state.status.model,
        ..ListRow::default()
    };
    let rows = names.iter().map(row).collect();
    let pick = ListPicker::new("Model", rows, move |at| OverlayOutcome::CloseAndRun(set_model(&names[at])));
    state.overlays.push(Box::new(pick));
    Vec::new()
}

fn set_model(name: &str) -> Vec<Action> {
    send_command(
        ClientCommand::SetModel { model: name.to_owned() },
        CommandPurpose::Change(format!("model: {name}")),
    )
}
