//! Questions to the user: whether a tool may run, and whether a long turn may continue. A question stays open
//! until a client answers it or its turn stops.

use osier_model::CancellationToken;
use osier_tools::approvals::{Allowance, AskReason};
use osier_tools::{ProposedChange, ToolCall};
use serde::{Serialize, Serializer};
use serde_json::json;
use tokio::sync::oneshot;

use crate::context::AgentContext;
use crate::error::AgentError;
use crate::live::LiveUpdate;

/// A question to the user.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "few questions are open at a time")]
pub enum Question {
    /// Whether a tool may run.
    Tool(ToolQuestion),
    /// Whether the turn may continue after this many model calls.
    Continue { model_calls: u32 },
}

/// Asks whether a tool call may run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolQuestion {
    pub call: ToolCall,
    /// What exactly the call runs or changes.
    pub change: ProposedChange,
    pub reason: AskReason,
    /// Why the first attempt failed, if the call already ran in the sandbox.
    pub sandbox_denial: Option<String>,
    /// What the user can allow for the rest of the session, narrowest first.
    pub allowances: Vec<Allowance>,
}

impl Serialize for Question {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let question = match self {
            Question::Tool(question) => question,
            Question::Continue { model_calls } => {
                return json!({ "why": "step_limit", "modelCalls": model_calls }).serialize(serializer);
            }
        };
        let ToolCall { id, name, arguments } = &question.call;
        let offers: Vec<String> = question.allowances.iter().map(ToString::to_string).collect();
        let call = json!({ "id": id, "name": name, "arguments": arguments });
        let mut shown =
            json!({ "call": call, "what": question.change, "why": question.reason.name(), "offers": offers });
        if let Some(because) = &question.sandbox_denial {
            shown["because"] = json!(because);
        }
        shown.serialize(serializer)
    }
}

/// The user's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserAnswer {
    Once,
    Always(Allowance),
    /// Refused, with the reason that the model gets.
    No(String),
}

/// A question that is waiting for an answer.
#[derive(Debug)]
pub(crate) struct OpenQuestion {
    pub(crate) question: Question,
    answer: oneshot::Sender<UserAnswer>,
}

impl AgentContext {
    /// Asks the attached clients. Returns `None` if the turn stops first.
    pub(crate) async fn ask_user(
        &self,
        question: Question,
        cancel: &CancellationToken,
    ) -> Option<UserAnswer> {
        if !self.config.has_user {
            return Some(UserAnswer::No(match question {
                Question::Tool(question) => self.unattended_refusal(question.reason),
                Question::Continue { .. } => String::new(),
            }));
        }
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut agent_state = self.state();
            agent_state.last_question_id += 1;
            let id = agent_state.last_question_id;
            self.live.send(LiveUpdate::Asked { id, question: Box::new(question.clone()) });
            agent_state.open_questions.insert(id, OpenQuestion { question, answer });
            id
        };
        let answer = tokio::select! {
            answer = answered => answer.ok(),
            () = cancel.cancelled() => None,
        };
        let mut agent_state = self.state();
        agent_state.open_questions.remove(&id);
        let allowed = matches!(answer, Some(UserAnswer::Once | UserAnswer::Always(_)));
        self.live.send(LiveUpdate::Answered { id, allowed });
        answer
    }

    pub(crate) fn answer_question(&self, id: u64, answer: UserAnswer) -> Result<(), AgentError> {
        let open = self.state().open_questions.remove(&id).ok_or(AgentError::QuestionNotOpen { id })?;
        open.answer.send(answer).map_err(|_| AgentError::QuestionNotOpen { id })
    }
}

impl AgentContext {
    /// Why a call is refused in a run without a user to ask, and which flag would allow it.
    fn unattended_refusal(&self, why: AskReason) -> String {
        let sandbox = self.config.tool_context.sandbox.as_ref().map(|sandbox| sandbox.state());
        let flag = match (why, sandbox) {
            (AskReason::Writes, _) => {
                "`--approval autoEdit` allows file changes in the project, `--approval yolo` allows everything"
            }
            (AskReason::Runs, Some(Ok(_))) => {
                "`--approval sandbox` allows commands in the sandbox, `--approval yolo` allows everything"
            }
            (AskReason::Runs, Some(Err(reason))) => {
                return format!(
                    "no user is present to approve it; the sandbox is not available: {reason}; `--approval yolo` allows it"
                );
            }
            _ => "`--approval yolo` allows it",
        };
        format!("no user is present to approve it; {flag}")
    }
}
