//! Errors of agent commands. Failures of models and tools are not errors here: they are recorded as entries.

use osier_model::LookupError;
use osier_store::StoreError;
use osier_tree::cutting::NothingToCut;
use osier_tree::{ErrorCode, PlanError};
use serde_json::{Value, json};

use crate::summarizing::NoSummary;

/// Why a command failed. Entries that were already stored stay stored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Session(#[from] osier_session::Error),
    #[error("a gate refused the entry")]
    Refused,
    #[error("a turn is running; stop it first, or queue the message as steering or a follow-up")]
    Busy,
    #[error("a move or a summary is in progress; wait until it finishes, or stop it")]
    OnTheWay,
    #[error("your shell command is still running; wait until it finishes, or stop it")]
    CommandRuns,
    #[error("the message is empty; type something first")]
    Empty,
    #[error("there is nothing to resume; send a message to continue")]
    NothingToResume,
    #[error("question {id} is not open; it was answered, or its turn has ended")]
    NoQuestion { id: u64 },
    #[error(transparent)]
    Model(#[from] LookupError),
    #[error("no skill named {name}; to add one, create a folder with a SKILL.md that has a description")]
    NoSkill { name: String },
    #[error("{0}")]
    Attachment(String),
    #[error("cannot start the command")]
    Command(#[source] std::io::Error),
    #[error(transparent)]
    NoSummary(#[from] NoSummary),
    #[error(transparent)]
    NothingToCut(#[from] NothingToCut),
    #[error("this path has no compaction")]
    NoCompaction,
    #[error("{id} is not a compaction")]
    NotACompaction { id: String },
    #[error("the agent has stopped; open the session again")]
    Closed,
}

impl Error {
    /// Whether the store is away, and may come back.
    pub(crate) fn is_unavailable(&self) -> bool {
        matches!(self, Error::Session(osier_session::Error::Store(StoreError::Unavailable { .. })))
    }

    /// The log was replaced while it was read.
    pub(crate) fn is_replaced(&self) -> bool {
        matches!(self, Error::Session(osier_session::Error::Store(StoreError::Replaced)))
    }

    /// The machine-readable error code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Error::Session(error) => error.code(),
            Error::Busy | Error::OnTheWay | Error::CommandRuns => ErrorCode::SessionBusy,
            Error::Refused => ErrorCode::Cancelled,
            Error::Empty => ErrorCode::Empty,
            Error::NothingToResume => ErrorCode::NothingToResume,
            Error::NoQuestion { .. } => ErrorCode::Failed,
            Error::Model(_) => ErrorCode::ModelNotFound,
            Error::NoSkill { .. } => ErrorCode::SkillNotFound,
            Error::Attachment(_) => ErrorCode::Attachment,
            Error::Command(_) => ErrorCode::Io,
            Error::NoSummary(_) => ErrorCode::SummaryFailed,
            Error::NothingToCut(_) => ErrorCode::NothingToCompact,
            Error::NoCompaction | Error::NotACompaction { .. } => ErrorCode::NotACompaction,
            Error::Closed => ErrorCode::SessionClosed,
        }
    }

    /// What programs need to know in addition to the code: an object whose fields `docs/json.md` lists.
    pub fn fields(&self) -> Value {
        match self {
            Error::Session(error) => error.fields(),
            Error::NotACompaction { id } => json!({ "entry": id }),
            _ => json!({}),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        Error::Session(error.into())
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Error {
        Error::Session(error.into())
    }
}
