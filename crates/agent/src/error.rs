//! Errors of agent commands. Failures of models and tools are not errors here: they are recorded as entries.

use osier_model::LookupError;
use osier_store::StoreError;
use osier_tree::compaction_cut::NothingToCompact;
use osier_tree::{ErrorCode, PlanError};
use serde_json::{Value, json};

use crate::summarizer::SummaryError;

/// Why a command failed. Entries that were already stored stay stored.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error(transparent)]
    Session(#[from] osier_session::SessionError),
    #[error("a gate refused the entry")]
    RefusedByGate,
    #[error("a turn is running; stop it first, or queue the message as steering or a follow-up")]
    TurnRunning,
    #[error("a move or a summary is in progress; wait until it finishes, or stop it")]
    ExclusiveRunning,
    #[error("your shell command is still running; wait until it finishes, or stop it")]
    ShellCommandRunning,
    #[error("the message is empty; type something first")]
    EmptyPrompt,
    #[error("canceled before the prompt was sent")]
    PromptCanceled,
    #[error("there is nothing to resume; send a message to continue")]
    NothingToResume,
    #[error("question {id} is not open; it was answered, or its turn has ended")]
    QuestionNotOpen { id: u64 },
    #[error(transparent)]
    Model(#[from] LookupError),
    #[error("no skill named {name}; to add one, create a folder with a SKILL.md that has a description")]
    UnknownSkill { name: String },
    #[error("{0}")]
    Attachment(String),
    #[error("an extension refused the command: {reason}")]
    CommandRefused { reason: String },
    #[error("cannot start the command")]
    Command(#[source] std::io::Error),
    #[error(transparent)]
    Summary(#[from] SummaryError),
    #[error(transparent)]
    NothingToCompact(#[from] NothingToCompact),
    #[error("this path has no compaction")]
    NoCompaction,
    #[error("{id} is not a compaction")]
    NotACompaction { id: String },
    #[error("the agent has stopped; open the session again")]
    Closed,
}

impl AgentError {
    /// Whether the store is temporarily unavailable.
    pub(crate) fn is_unavailable(&self) -> bool {
        matches!(
            self,
            AgentError::Session(osier_session::SessionError::Store(StoreError::Unavailable { .. }))
        )
    }

    /// The log was replaced while it was read.
    pub(crate) fn is_log_replaced(&self) -> bool {
        matches!(self, AgentError::Session(osier_session::SessionError::Store(StoreError::Replaced)))
    }

    /// The machine-readable error code.
    pub fn code(&self) -> ErrorCode {
        match self {
            AgentError::Session(error) => error.code(),
            AgentError::TurnRunning | AgentError::ExclusiveRunning | AgentError::ShellCommandRunning => {
                ErrorCode::SessionBusy
            }
            AgentError::RefusedByGate | AgentError::PromptCanceled | AgentError::CommandRefused { .. } => {
                ErrorCode::Cancelled
            }
            AgentError::EmptyPrompt => ErrorCode::Empty,
            AgentError::NothingToResume => ErrorCode::NothingToResume,
            AgentError::QuestionNotOpen { .. } => ErrorCode::QuestionClosed,
            AgentError::Model(_) => ErrorCode::ModelNotFound,
            AgentError::UnknownSkill { .. } => ErrorCode::SkillNotFound,
            AgentError::Attachment(_) => ErrorCode::Attachment,
            AgentError::Command(_) => ErrorCode::Io,
            AgentError::Summary(SummaryError::Canceled) => ErrorCode::Cancelled,
            AgentError::Summary(_) => ErrorCode::SummaryFailed,
            AgentError::NothingToCompact(_) => ErrorCode::NothingToCompact,
            AgentError::NoCompaction | AgentError::NotACompaction { .. } => ErrorCode::NotACompaction,
            AgentError::Closed => ErrorCode::SessionClosed,
        }
    }

    /// What programs need to know in addition to the code: an object whose fields `docs/json.md` lists.
    pub fn fields(&self) -> Value {
        match self {
            AgentError::Session(error) => error.fields(),
            AgentError::NotACompaction { id } => json!({ "entry": id }),
            _ => json!({}),
        }
    }
}

impl From<StoreError> for AgentError {
    fn from(error: StoreError) -> AgentError {
        AgentError::Session(error.into())
    }
}

impl From<PlanError> for AgentError {
    fn from(error: PlanError) -> AgentError {
        AgentError::Session(error.into())
    }
}
