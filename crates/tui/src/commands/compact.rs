//! `/compact`: replaces the older part of the context with a summary.

use super::Spec;
use crate::msg::{Action, Purpose};
use crate::state::State;
use crate::update::send;
use osier_agent::Command;

pub(super) const COMMAND: Spec = Spec {
    name: "compact",
    aliases: &[],
    arguments: "[focus]",
    help: "summarize the older part of the conversation",
    run,
};

fn run(_state: &mut State, words: &str) -> Vec<Action> {
    let focus = Some(words.to_owned()).filter(|focus| !focus.is_empty());
    send(Command::Compact { focus }, Purpose::Compact)
}
