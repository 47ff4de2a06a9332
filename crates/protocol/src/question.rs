//! Questions to the user, and answers. A question stays open until a client answers it or its turn stops.

use osier_tools::approvals::{Allowance, AskReason};
use osier_tools::{ProposedChange, ToolCall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "QuestionJson", into = "QuestionJson")]
#[schemars(with = "QuestionJson")]
#[allow(clippy::large_enum_variant, reason = "few questions are open at a time")]
pub enum Question {
    /// Whether a tool may run.
    Tool(ToolQuestion),
    /// Whether the turn may continue after this many model calls.
    Continue { model_calls: u32 },
    /// A dialog of an extension.
    Dialog(DialogQuestion),
}

/// A dialog of an extension. A refusal closes it without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DialogQuestion {
    pub title: String,
    #[serde(flatten)]
    pub dialog: Dialog,
    /// After this many milliseconds, the dialog closes without an answer. The agent does that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// The extension that asks, by its file. `None` if Osier asks about an extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
}

/// What a dialog asks for. `confirm` is answered with `once` or `no`, the others with `text` or `no`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "dialog", rename_all = "camelCase")]
pub enum Dialog {
    /// One of these texts.
    Select {
        options: Vec<String>,
    },
    Confirm {
        message: String,
    },
    /// One line.
    Input {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        placeholder: Option<String>,
    },
    /// A text of any length.
    Editor {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefill: Option<String>,
    },
    /// A component that the extension draws with [`crate::ExtensionEvent::Component`]. Keys go to it with
    /// [`crate::ClientCommand::ExtensionInput`]. It ends by itself; `no` ends it early.
    Component {
        component: u64,
        /// It floats over the screen, at the place that its lines come with.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        floating: bool,
    },
}

/// Asks whether a tool call may run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolQuestion {
    pub call: ToolCall,
    /// What exactly the call runs or changes.
    #[serde(rename = "what")]
    pub change: ProposedChange,
    #[serde(rename = "why")]
    pub reason: AskReason,
    /// What the user can allow for the rest of the session, narrowest first.
    #[serde(rename = "offers")]
    pub allowances: Vec<Allowance>,
    /// Why the first attempt failed, if the call already ran in the sandbox.
    #[serde(rename = "because", default, skip_serializing_if = "Option::is_none")]
    pub sandbox_denial: Option<String>,
}

/// An open question and the id that its answer names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenQuestion {
    pub id: u64,
    pub question: Question,
    /// The sub-agent that asks, if it is not the agent of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The user's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum UserAnswer {
    Once,
    Always {
        allowance: Allowance,
    },
    /// Refused, with the reason that the model gets.
    No {
        #[serde(default)]
        reason: String,
    },
    /// The answer to a dialog of an extension.
    Text {
        text: String,
    },
}

/// A question in JSON: `why` and `dialog` tell the kinds apart.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "it exists only while a question is converted")]
enum QuestionJson {
    Tool(ToolQuestion),
    Continue {
        why: StepLimit,
        #[serde(rename = "modelCalls")]
        model_calls: u32,
    },
    Dialog(DialogQuestion),
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum StepLimit {
    #[serde(rename = "step_limit")]
    StepLimit,
}

impl From<Question> for QuestionJson {
    fn from(question: Question) -> QuestionJson {
        match question {
            Question::Tool(question) => QuestionJson::Tool(question),
            Question::Continue { model_calls } => {
                QuestionJson::Continue { why: StepLimit::StepLimit, model_calls }
            }
            Question::Dialog(question) => QuestionJson::Dialog(question),
        }
    }
}

impl From<QuestionJson> for Question {
    fn from(question: QuestionJson) -> Question {
        match question {
            QuestionJson::Tool(question) => Question::Tool(question),
            QuestionJson::Continue { model_calls, .. } => Question::Continue { model_calls },
            QuestionJson::Dialog(question) => Question::Dialog(question),
        }
    }
}
