//! Questions of the agent as dialogs of pi's extensions, and the answers.

use osier_protocol::{
    Allowance, AskReason, Dialog as ExtensionDialog, DialogQuestion, ProposedChange, Question, ToolQuestion,
    UserAnswer, visible, visible_line,
};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::pi_event::Dialog;

/// The open dialogs of a session.
#[derive(Debug, Default)]
pub(crate) struct Dialogs {
    prefix: String,
    last: u64,
    open: FxHashMap<String, OpenDialog>,
}

#[derive(Debug)]
struct OpenDialog {
    question: u64,
    /// What `value` can name, with the answer that it means.
    options: Vec<(String, UserAnswer)>,
    /// Any `value` is an answer.
    takes_text: bool,
}

/// The answer of a client.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DialogResponse {
    pub(crate) id: String,
    value: Option<String>,
    confirmed: Option<bool>,
    cancelled: bool,
    /// Beyond pi: why the user refuses. The model gets it.
    reason: Option<String>,
}

impl Dialogs {
    /// Dialogs of several sessions have different ids.
    pub(crate) fn new(session_id: Option<&str>) -> Dialogs {
        let prefix = session_id.map(|id| format!("{id}-")).unwrap_or_default();
        Dialogs { prefix, ..Dialogs::default() }
    }

    /// The number of the last dialog.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Continues the numbers of a session that this one replaces: a late answer must not reach another dialog.
    pub(crate) fn continue_after(&mut self, last: u64) {
        self.last = last;
    }

    pub(crate) fn next_id(&mut self) -> String {
        self.last += 1;
        format!("{}ui-{}", self.prefix, self.last)
    }

    /// `agent` is the sub-agent that asks.
    pub(crate) fn open(
        &mut self,
        question_id: u64,
        question: &Question,
        agent: Option<&str>,
    ) -> (String, Dialog) {
        let id = self.next_id();
        let (title, message, options) = match question {
            Question::Dialog(question) => return self.open_extension_dialog(id, question_id, question),
            Question::Tool(question) => (title(question), message(question), tool_options(question)),
            Question::Continue { model_calls } => (
                "Continue the turn?".to_owned(),
                format!("The model was called {model_calls} times for this prompt."),
                vec![
                    ("Yes, continue".to_owned(), UserAnswer::Once),
                    ("No, stop here".to_owned(), UserAnswer::No { reason: String::new() }),
                ],
            ),
        };
        let title = match agent {
            Some(agent) => format!("[{}] {title}", visible_line(agent)),
            None => title,
        };
        let names = options.iter().map(|(name, _)| name.clone()).collect();
        let dialog = OpenDialog { question: question_id, options, takes_text: false };
        self.open.insert(id.clone(), dialog);
        (id, Dialog::Confirm { title, message, options: names })
    }

    fn open_extension_dialog(
        &mut self,
        id: String,
        question_id: u64,
        question: &DialogQuestion,
    ) -> (String, Dialog) {
        let title = question.title.clone();
        let dialog = match question.dialog.clone() {
            ExtensionDialog::Confirm { message } => Dialog::Confirm { title, message, options: Vec::new() },
            ExtensionDialog::Select { options } => Dialog::Select { title, options },
            ExtensionDialog::Input { placeholder } => Dialog::Input { title, placeholder },
            ExtensionDialog::Editor { prefill } => Dialog::Editor { title, prefill },
            ExtensionDialog::Component { .. } => {
                let message = "The extension shows this in the terminal.".to_owned();
                Dialog::Confirm { title, message, options: Vec::new() }
            }
        };
        let takes_text = !matches!(dialog, Dialog::Confirm { .. });
        let open = OpenDialog { question: question_id, options: Vec::new(), takes_text };
        self.open.insert(id.clone(), open);
        (id, dialog)
    }

    /// A question was answered elsewhere, or its turn stopped.
    pub(crate) fn close(&mut self, question_id: u64) {
        self.open.retain(|_, dialog| dialog.question != question_id);
    }

    /// The question that a response answers, and the answer. `None` for a dialog that is not open.
    pub(crate) fn answer(&mut self, response: &DialogResponse) -> Option<(u64, UserAnswer)> {
        let dialog = self.open.remove(&response.id)?;
        let named = response.value.as_ref().and_then(|value| {
            let option = dialog.options.iter().find(|(name, _)| name == value);
            option.map(|(_, answer)| answer.clone())
        });
        let refusal = UserAnswer::No { reason: response.reason.clone().unwrap_or_default() };
        let answer = match named {
            _ if response.cancelled => refusal,
            None if dialog.takes_text => match &response.value {
                Some(text) => UserAnswer::Text { text: text.clone() },
                None => refusal,
            },
            Some(UserAnswer::No { .. }) => refusal,
            Some(answer) => answer,
            None if response.confirmed == Some(true) => UserAnswer::Once,
            None => refusal,
        };
        Some((dialog.question, answer))
    }
}

fn title(question: &ToolQuestion) -> String {
    let name = &question.call.name;
    match question.reason {
        AskReason::Writes => format!("Allow {name} to change a file?"),
        AskReason::Runs => format!("Allow {name} to run this command?"),
        AskReason::Outside => format!("Allow {name} to change a file outside the project?"),
        AskReason::Guarded => format!("Allow {name} to change a file that other programs execute?"),
        AskReason::Sandbox => format!("Allow {name} to run this command outside the sandbox?"),
    }
}

/// Exactly what the call runs or changes, with control characters made visible.
fn message(question: &ToolQuestion) -> String {
    let change = match &question.change {
        ProposedChange::Nothing => String::new(),
        ProposedChange::Command { command } => visible(command),
        ProposedChange::Diff { path, diff, created } => {
            let verb = if *created { "Creates" } else { "Changes" };
            format!("{verb} {}\n\n{}", visible(path), visible(diff))
        }
        ProposedChange::Call { arguments } => visible(&arguments.to_string()),
    };
    match &question.sandbox_denial {
        Some(denial) => format!("{change}\n\n{}", visible(denial)),
        None => change,
    }
}

fn tool_options(question: &ToolQuestion) -> Vec<(String, UserAnswer)> {
    let mut options = vec![("Yes, once".to_owned(), UserAnswer::Once)];
    for allowance in &question.allowances {
        options.push((allowance_name(allowance), UserAnswer::Always { allowance: allowance.clone() }));
    }
    options.push(("No, and continue without it".to_owned(), UserAnswer::No { reason: String::new() }));
    options
}

fn allowance_name(allowance: &Allowance) -> String {
    match allowance {
        Allowance::Outside(_) => "Yes, always this command outside the sandbox".to_owned(),
        Allowance::Command(name) if allowance.is_family() => {
            format!("Yes, always `{name}` with harmless arguments")
        }
        Allowance::Command(_) => "Yes, always exactly this command".to_owned(),
        Allowance::Tool(name) if name == "bash" => "Yes, always any command in the sandbox".to_owned(),
        Allowance::Tool(name) => format!("Yes, always {}", visible_line(name)),
    }
}
