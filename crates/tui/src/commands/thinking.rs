//! `/thinking`: sets how much the model thinks.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::overlay::{Outcome, Pick, Row};
use crate::state::UiState;
use crate::update::{send_command, show_error};
use osier_agent::ClientCommand;
use osier_model::ThinkingLevel;

pub(super) const COMMAND: Spec = Spec {
    name: "thinking",
    aliases: &[],
    arguments: "[level]",
    help: "set how much the model thinks: off, minimal, low, medium, high, …",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    let all = ThinkingLevel::ALL;
    if let Some(level) = ThinkingLevel::parse(words) {
        return choose(level);
    }
    if words.is_empty() {
        let row = |level: &ThinkingLevel| Row {
            name: level.name().to_owned(),
            now: *level == state.status_info.thinking,
            ..Row::default()
        };
        let pick =
            Pick::new("Thinking", all.iter().map(row).collect(), move |at| Outcome::End(choose(all[at])));
        state.overlays.push(Box::new(pick));
        return Vec::new();
    }
    let names = all.map(ThinkingLevel::name).join(", ");
    show_error(state, &format!("unknown thinking level {words}; use one of {names}"));
    Vec::new()
}

fn choose(level: ThinkingLevel) -> Vec<Action> {
    send_command(ClientCommand::SetThinking(level), Purpose::Change(format!("thinking: {}", level.name())))
}
