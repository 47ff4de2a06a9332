//! What can go wrong in a store, as far as the caller can do something about it.

use std::path::PathBuf;

use osier_tree::ErrorCode;

use crate::lease::Lease;
use crate::port::Version;

/// What a server or its driver said.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("no session {id} in store {store}; `osier sessions list --all` shows what there is")]
    NotFound { store: String, id: String },
    #[error("session {id} exists already")]
    AlreadyExists { id: String },
    #[error("{id:?} cannot be a session id: only letters, digits, `.`, `_` and `-` may be in it")]
    InvalidId { id: String },
    /// Somebody was faster. Look at what came, and plan again.
    #[error("the session was changed meanwhile")]
    Conflict { now: Version },
    /// The log was replaced, so seqs from before mean nothing now.
    #[error("the session's log was replaced meanwhile; open it again")]
    Replaced,
    /// The log of another session lies where this one was.
    #[error(
        "session {id} is no longer there: its log was replaced by that of session {found}; nothing was written"
    )]
    OtherSession { id: String, found: String },
    #[error("{} is not a session: {why}; it was left as it is", path.display())]
    NotASession { path: PathBuf, why: &'static str },
    #[error("{} is gone: it was deleted or moved; nothing was written", path.display())]
    Vanished { path: PathBuf },
    #[error("{} became shorter while it was open; nothing was written, compare it with a backup", path.display())]
    Shrunk { path: PathBuf },
    #[error("{} is locked by another program for {seconds} s now; is one of them stopped?", path.display())]
    Locked { path: PathBuf, seconds: u64 },
    #[error("session {id} is open in another process; close it there first")]
    Busy { id: String },
    /// Another process runs a turn at the place that the change concerns.
    #[error("the session is busy: {lease}; wait for it to end, or work in another branch")]
    Leased { lease: Box<Lease> },
    #[error("entry {seq} is not in the log")]
    NoSuchEntry { seq: usize },
    /// A server is away or does not answer. What it acknowledged is safe, and the same call can be made again.
    #[error("store {store} cannot be reached: {why}; {advice}")]
    Unavailable { store: String, why: String, advice: &'static str, source: Cause },
    /// A server answers, and will not do what it is asked for until something is changed.
    #[error("store {store} refuses: {why}; {advice}")]
    Refused { store: String, why: String, advice: &'static str, source: Cause },
    #[error("cannot {what} {}", path.display())]
    Io { what: &'static str, path: PathBuf, source: std::io::Error },
}

impl StoreError {
    /// The code that programs know it by.
    pub fn code(&self) -> ErrorCode {
        match self {
            StoreError::NotFound { .. } | StoreError::Vanished { .. } => ErrorCode::SessionNotFound,
            StoreError::AlreadyExists { .. } => ErrorCode::AlreadyExists,
            StoreError::InvalidId { .. } => ErrorCode::InvalidId,
            StoreError::Conflict { .. } | StoreError::Replaced | StoreError::OtherSession { .. } => {
                ErrorCode::SessionChanged
            }
            StoreError::NotASession { .. } => ErrorCode::NotASession,
            StoreError::Shrunk { .. } => ErrorCode::SessionDamaged,
            StoreError::Locked { .. } | StoreError::Busy { .. } | StoreError::Leased { .. } => {
                ErrorCode::SessionBusy
            }
            StoreError::NoSuchEntry { .. } => ErrorCode::EntryNotFound,
            StoreError::Unavailable { .. } => ErrorCode::StoreUnavailable,
            StoreError::Refused { .. } => ErrorCode::StoreRefused,
            StoreError::Io { .. } => ErrorCode::Io,
        }
    }

    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> StoreError {
        let path = path.into();
        move |source| StoreError::Io { what, path, source }
    }
}
