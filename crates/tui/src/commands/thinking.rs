//! `/thinking`: sets how much the model thinks.

use super::SlashCommand;
use crate::msg::{Action, CommandPurpose};
use crate::overlay::{ListPicker, ListRow, OverlayOutcome};
use crate::state::UiState;
use crate::update::{send_command, show_error};
use osier_protocol::{ClientCommand, ThinkingLevel};

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "thinking",
    aliases: &[],
    arguments: "[level]",
    help: "set how much the model thinks: off, minimal, low, medium, high, …",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    let all = ThinkingLevel::ALL;
    if let Some(level) = ThinkingLevel::parse(words) {
        return set_level(level);
    }
    if words.is_empty() {
        let row = |level: &ThinkingLevel| ListRow {
            name: level.name().to_owned(),
            is_current: *level == state.status.thinking,
            ..ListRow::default()
        };
        let pick = ListPicker::new("Thinking", all.iter().map(row).collect(), move |at| {
            OverlayOutcome::CloseAndRun(set_level(all[at]))
        });
        state.overlays.push(Box::new(pick));
        return Vec::new();
    }
    let names = all.map(ThinkingLevel::name).join(", ");
    show_error(state, &format!("unknown thinking level {words}; use one of {names}"));
    Vec::new()
}

fn set_level(level: ThinkingLevel) -> Vec<Action> {
    send_command(
        ClientCommand::SetThinking { level },
        CommandPurpose::Change(format!("thinking: {}", level.name())),
    )
}
