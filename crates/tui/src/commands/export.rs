//! `/export`: writes the path to a file.

use super::SlashCommand;
use crate::msg::Action;
use crate::state::UiState;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "export",
    aliases: &[],
    arguments: "[file]",
    help: "export to a file: Markdown, a page if it ends in .html, a session if it ends in .jsonl",
    run,
};

fn run(_state: &mut UiState, words: &str) -> Vec<Action> {
    vec![Action::Export(Some(words.to_owned()).filter(|path| !path.is_empty()))]
}
