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
            let task = one_task(rest);
            let notice = if task.is_some() { "Canceled the task" } else { "Canceled all tasks" };
            vec![Action::Send(ClientCommand::CancelTasks { task }, CommandPurpose::Change(notice.to_owned()))]
        }
        ("steer", Some((task, text))) => {
            let task = one_task(task);
            let notice = if task.is_some() { "Sent to the task" } else { "Sent to all tasks" };
            let command = ClientCommand::SteerTask { task, text: text.trim().to_owned() };
            vec![Action::Send(command, CommandPurpose::Change(notice.to_owned()))]
        }
        _ => {
            show_error(state, "use /agents, /agents cancel [task|all] or /agents steer task|all text");
            Vec::new()
        }
    }
}

/// `None` for all tasks.
fn one_task(word: &str) -> Option<String> {
    Some(word.to_owned()).filter(|task| !task.is_empty() && task != "all")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Harness;

    #[test]
    fn words_list_steer_or_cancel() {
        let mut state = Harness::with_session(80, 24, "say a").state;
        let mut sent = |words: &str| match run(&mut state, words).pop() {
            Some(Action::Send(command, _)) => Some(command),
            _ => None,
        };
        let cancel = |task: Option<&str>| ClientCommand::CancelTasks { task: task.map(str::to_owned) };
        assert_eq!(sent("cancel"), Some(cancel(None)));
        assert_eq!(sent("cancel all"), Some(cancel(None)));
        assert_eq!(sent("cancel b-1"), Some(cancel(Some("b-1"))));
        let steer = |task: Option<&str>| ClientCommand::SteerTask {
            task: task.map(str::to_owned),
            text: "only  the parser".to_owned(),
        };
        assert_eq!(sent("steer b-1 only  the parser"), Some(steer(Some("b-1"))));
        assert_eq!(sent("steer all only  the parser"), Some(steer(None)));
        for wrong in ["steer b-1", "steer", "cancel b-1 now", "stop"] {
            assert_eq!(sent(wrong), None, "{wrong}");
        }
        assert!(matches!(run(&mut state, "")[..], [Action::PrintAgents]));
    }
}
