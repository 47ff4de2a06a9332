//! Questions to the user: may a tool run, may a long turn continue. A question waits until somebody answers it or its turn is
//! stopped.

use osier_model::CancellationToken;
use osier_tools::approvals::{Allowance, Why};
use osier_tools::{Change, ToolCall};
use serde::{Serialize, Serializer};
use serde_json::json;
use tokio::sync::oneshot;

use crate::error::Error;
use crate::live::Live;
use crate::workplace::Workplace;

/// What the user is asked.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "few questions are open at a time")]
pub enum Question {
    /// Whether a tool may run.
    Tool(ToolQuestion),
    /// Whether the turn may continue after this many model calls.
    Continue { model_calls: u32 },
}

/// A call that needs a word from the user.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolQuestion {
    pub call: ToolCall,
    /// Exactly what would run or change.
    pub what: Change,
    pub why: Why,
    /// What stopped it, if it was tried already.
    pub because: Option<String>,
    /// What may be allowed for the rest of the session, the narrowest first.
    pub offers: Vec<Allowance>,
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
        let offers: Vec<String> = question.offers.iter().map(ToString::to_string).collect();
        let call = json!({ "id": id, "name": name, "arguments": arguments });
        let mut shown =
            json!({ "call": call, "what": question.what, "why": question.why.name(), "offers": offers });
        if let Some(because) = &question.because {
            shown["because"] = json!(because);
        }
        shown.serialize(serializer)
    }
}

/// The user's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Once,
    Always(Allowance),
    /// The model is told so, and why.
    No(String),
}

/// A question that waits.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) question: Question,
    answer: oneshot::Sender<Answer>,
}

impl Workplace {
    /// Asks whoever is attached. `None` if the turn was stopped meanwhile.
    pub(crate) async fn ask(&self, question: Question, cancel: &CancellationToken) -> Option<Answer> {
        if !self.parts.attended {
            return Some(Answer::No(match question {
                Question::Tool(question) => self.nobody(question.why),
                Question::Continue { .. } => String::new(),
            }));
        }
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut now = self.now();
            now.last_question += 1;
            let id = now.last_question;
            self.teller.tell(Live::Asked { id, question: Box::new(question.clone()) });
            now.questions.insert(id, Open { question, answer });
            id
        };
        let answer = tokio::select! {
            answer = answered => answer.ok(),
            () = cancel.cancelled() => None,
        };
        let mut now = self.now();
        now.questions.remove(&id);
        let allowed = matches!(answer, Some(Answer::Once | Answer::Always(_)));
        self.teller.tell(Live::Answered { id, allowed });
        answer
    }

    pub(crate) fn answer(&self, id: u64, answer: Answer) -> Result<(), Error> {
        let open = self.now().questions.remove(&id).ok_or(Error::NoQuestion { id })?;
        open.answer.send(answer).map_err(|_| Error::NoQuestion { id })
    }
}

impl Workplace {
    /// Why a call is refused when nobody is there to ask, and what would have allowed it.
    fn nobody(&self, why: Why) -> String {
        let sandbox = self.parts.context.sandbox.as_ref().map(|sandbox| sandbox.state());
        let flag = match (why, sandbox) {
            (Why::Writes, _) => {
                "`--approval autoEdit` allows changes of files in the project, `--approval yolo` everything"
            }
            (Why::Runs, Some(Ok(_))) => {
                "`--approval sandbox` allows commands in the sandbox, `--approval yolo` everything"
            }
            (Why::Runs, Some(Err(reason))) => {
                return format!(
                    "nobody is here to approve it; the sandbox is not available: {reason}; `--approval yolo` allows it"
                );
            }
            _ => "`--approval yolo` allows it",
        };
        format!("nobody is here to approve it; {flag}")
    }
}
