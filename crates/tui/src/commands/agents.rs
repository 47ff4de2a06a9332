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
        assert_eq!(sent("cancel b-1"), Some(cancel(Some("b-1"))));
        let steer = ClientCommand::SteerTask { task: "b-1".to_owned(), text: "only  the parser".to_owned() };
        assert_eq!(sent("steer b-1 only  the parser"), Some(steer));
        for wrong in ["steer b-1", "steer", "cancel b-1 now", "stop"] {
            assert_eq!(sent(wrong), None, "{wrong}");
        }
        assert!(matches!(run(&mut state, "")[..], [Action::PrintAgents]));
    }
}
