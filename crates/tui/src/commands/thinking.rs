//! `/thinking`: how much the model thinks.`

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::State;
use crate::update::{complain, send, tell};
use osier_agent::Command;
use osier_model::ThinkingLevel;

pub(super) const COMMAND: Spec = Spec {
    name: "thinking",
    aliases: &[],
    arguments: "[level]",
    help: "how much the model thinks: off, minimal, low, medium, high, …",
    run,
};

fn run(state: &mut State, words: &str) -> Vec<Action> {
    let names = ThinkingLevel::ALL.map(ThinkingLevel::name).join(", ");
    match ThinkingLevel::parse(words) {
        Some(level) => {
            send(Command::SetThinking(level), Purpose::Change(format!("thinking: {}", level.name())))
        }
        None if words.is_empty() => {
            tell(state, &format!("thinking is {}; levels: {names}", state.facts.thinking.name()));
            Vec::new()
        }
        None => {
            complain(state, &format!("there is no level {words}; levels: {names}"));
            Vec::new()
        }
    }
}
