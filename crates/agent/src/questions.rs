//! Asking the user: a question stays open until a client answers it or its turn stops. Approvals wait for a user who comes back;
//! a dialog of an extension, which may have nothing to do with the turn, does not.

use std::collections::BTreeMap;

use osier_model::CancellationToken;
use osier_protocol::{ClientEvent, OpenQuestion, Question, UserAnswer};
use osier_tools::approvals::AskReason;
use tokio::sync::oneshot;

use crate::context::AgentContext;
use crate::error::AgentError;

/// The questions that are waiting for an answer.
#[derive(Debug, Default)]
pub(crate) struct OpenQuestions {
    pending: BTreeMap<u64, PendingQuestion>,
    last_id: u64,
}

#[derive(Debug)]
struct PendingQuestion {
    question: Question,
    /// The sub-agent that asks.
    agent: Option<String>,
    answer: oneshot::Sender<UserAnswer>,
}

impl OpenQuestions {
    fn open(
        &mut self,
        question: Question,
        agent: Option<String>,
        answer: oneshot::Sender<UserAnswer>,
    ) -> u64 {
        self.last_id += 1;
        self.pending.insert(self.last_id, PendingQuestion { question, agent, answer });
        self.last_id
    }

    pub(crate) fn list(&self) -> Vec<OpenQuestion> {
        let open = |(id, pending): (&u64, &PendingQuestion)| OpenQuestion {
            id: *id,
            question: pending.question.clone(),
            agent: pending.agent.clone(),
        };
        self.pending.iter().map(open).collect()
    }
}

impl AgentContext {
    /// Asks the attached clients. Returns `None` if the turn stops first.
    pub(crate) async fn ask_user(
        &self,
        question: Question,
        cancel: &CancellationToken,
    ) -> Option<UserAnswer> {
        if !self.config.has_user {
            let reason = match question {
                Question::Tool(question) => self.unattended_refusal(question.reason),
                Question::Continue { .. } | Question::Dialog(_) => String::new(),
            };
            return Some(UserAnswer::No { reason });
        }
        self.ask_clients(question, None, cancel).await
    }

    /// Asks the attached clients, for this agent or for the sub-agent with a name. If nobody is there, a dialog is canceled.
    pub(crate) async fn ask_clients(
        &self,
        question: Question,
        agent: Option<String>,
        cancel: &CancellationToken,
    ) -> Option<UserAnswer> {
        tracing::debug!("asking the user");
        let is_dialog = matches!(question, Question::Dialog(_));
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut agent_state = self.state();
            let id = agent_state.questions.open(question.clone(), agent.clone(), answer);
            self.live.send(ClientEvent::Asked { id, question: Box::new(question), agent });
            id
        };
        let answer = tokio::select! {
            answer = answered => answer.ok(),
            () = cancel.cancelled() => None,
            () = self.live.clients.wait_until_absent(), if is_dialog => {
                Some(UserAnswer::No { reason: String::new() })
            }
        };
        let mut agent_state = self.state();
        agent_state.questions.pending.remove(&id);
        let allowed = matches!(answer, Some(UserAnswer::Once | UserAnswer::Always { .. }));
        tracing::debug!(question = id, allowed, "a question was answered or withdrawn");
        self.live.send(ClientEvent::Answered { id, allowed });
        answer
    }

    pub(crate) fn answer_question(&self, id: u64, answer: UserAnswer) -> Result<(), AgentError> {
        let open = self.state().questions.pending.remove(&id).ok_or(AgentError::QuestionNotOpen { id })?;
        open.answer.send(answer).map_err(|_| AgentError::QuestionNotOpen { id })
    }

    /// Why a call is refused in a run without a user to ask, and how to allow it.
    fn unattended_refusal(&self, ask_reason: AskReason) -> String {
        let sandbox = self.config.tool_context.sandbox.as_ref().map(|sandbox| sandbox.state());
        let hints = &self.config.unattended_hints;
        let (hint, unavailable) = match (ask_reason, sandbox) {
            (AskReason::Writes, _) => (&hints.writes, String::new()),
            (AskReason::Runs, Some(Ok(_))) => (&hints.runs, String::new()),
            (AskReason::Runs, Some(Err(reason))) => {
                (&hints.other, format!("; the sandbox is not available: {reason}"))
            }
            _ => (&hints.other, String::new()),
        };
        let hint = if hint.is_empty() { String::new() } else { format!("; {hint}") };
        format!("no user is present to approve it{unavailable}{hint}")
    }
}
