//! What can go wrong with an agent, as far as the caller can do something about it. A failure of a model or a tool is none
//! of these: it is an entry.

use osier_model::LookupError;
use osier_store::StoreError;
use osier_tree::cutting::NothingToCut;
use osier_tree::{ErrorCode, PlanError};

use crate::summarizing::NoSummary;

/// See the module. What was stored stays stored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Session(#[from] osier_session::Error),
    #[error("the entry was refused by a gate")]
    Refused,
    #[error("a turn is running; stop it first, or say this as steering or as a follow-up")]
    Busy,
    #[error("a move or a summary is under way; wait for it, or stop it")]
    OnTheWay,
    #[error("a command of yours is still running; wait for it, or stop it")]
    CommandRuns,
    #[error("there is nothing to say; write something first")]
    Empty,
    #[error("the conversation asks for nothing more; say something to go on")]
    NothingToResume,
    #[error("no question {id} is open; it was answered, or its turn has ended")]
    NoQuestion { id: u64 },
    #[error(transparent)]
    Model(#[from] LookupError),
    #[error("there is no skill {name}; a folder with a SKILL.md that has a description makes one")]
    NoSkill { name: String },
    #[error("{0}")]
    Attachment(String),
    #[error("the command could not be started")]
    Command(#[source] std::io::Error),
    #[error(transparent)]
    NoSummary(#[from] NoSummary),
    #[error(transparent)]
    NothingToCut(#[from] NothingToCut),
    #[error("nothing on this path was compacted")]
    NoCompaction,
    #[error("{id} is not a compaction")]
    NotACompaction { id: String },
    #[error("the agent has ended; open the session again")]
    Closed,
}

impl Error {
    /// The log was replaced while it was read.
    pub(crate) fn is_replaced(&self) -> bool {
        matches!(self, Error::Session(osier_session::Error::Store(StoreError::Replaced)))
    }

    /// The code that programs know it by.
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
