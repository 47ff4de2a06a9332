//! `/agents`: lists agents and tasks, and steers or cancels tasks.

use osier_protocol::ClientCommand;

use super::SlashCommand;
use crate::msg::{Action, CommandPurpose};
use crate::state::UiState;
use crate::update::show_error;

pub(super) const COMMAND: SlashCommand = SlashCommand {
    name: "agents",
    aliases: &[],
    arguments: "[cancel | steer]",
    help: "list agents and tasks, or steer or cancel tasks",
    run,
};

fn run(state: &mut UiState, words: &str) -> Vec<Action> {
    let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let rest = rest.trim();
    match (first, rest.split_once(char::is_whitespace)) {
        ("", _) => vec![Action::PrintAgents],
        ("cancel", None) => {
            let task = Some(rest.to_owned()).filter(|task| !task.is_empty());
            let notice = if task.is_some() { "Canceled the task" } else { "Canceled all tasks" };
            vec![Action::Send(ClientCommand::CancelTasks { task }, CommandPurpose::Change(notice.to_owned()))]
        }
        ("steer", Some((task, text))) => {
            let command = ClientCommand::SteerTask { task: task.to_owned(), text: text.trim().to_owned() };
            vec![Action::Send(command, CommandPurpose::Change("Sent to the task".to_owned()))]
        }
        _ => {
            show_error(state, "use /agents, /agents cancel [task] or /agents steer task text");
            Vec::new()
        }
    }
}
