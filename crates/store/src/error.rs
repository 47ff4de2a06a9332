//! The errors of a store, as far as the caller can react to them.

use std::path::PathBuf;

use osier_tree::ErrorCode;
use serde_json::{Value, json};

use crate::lease::Lease;
use crate::store::LogVersion;

/// The error of a server or its driver.
type ErrorSource = Box<dyn std::error::Error + Send + Sync>;

/// An error of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("no session {id} in store {store}")]
    NotFound { store: String, id: String },
    #[error("session {id} already exists")]
    AlreadyExists { id: String },
    #[error("invalid session id {id:?}: use only letters, digits, `.`, `_` and `-`")]
    InvalidId { id: String },
    /// Another writer appended first. Read the new entries and plan again.
    #[error("another writer changed the session; try again")]
    Conflict { now: LogVersion },
    /// The log was replaced, so earlier sequence numbers are invalid.
    #[error("the session's log was replaced; open the session again")]
    Replaced,
    /// The file now contains another session.
    #[error("session {id} no longer exists: its file now contains session {found}; nothing was written")]
    OtherSession { id: String, found: String },
    #[error("{} is not a session: {reason}; the file was not changed", path.display())]
    NotASession { path: PathBuf, reason: &'static str },
    #[error("{} no longer exists: it was deleted or moved; nothing was written", path.display())]
    Vanished { path: PathBuf },
    #[error("{} became shorter while it was open; nothing was written; compare it with a backup", path.display())]
    Shrunk { path: PathBuf },
    #[error("{} has been locked by another program for {seconds} s; check whether that program is stopped", path.display())]
    Locked { path: PathBuf, seconds: u64 },
    #[error("session {id} is open in another process; close it there first")]
    Busy { id: String },
    /// Another process is running a turn at the position of the change.
    #[error("the session is busy: {lease}; wait for the turn to end, or work in another branch")]
    Leased { lease: Box<Lease> },
    #[error("no entry {seq} in the log")]
    NoSuchEntry { seq: usize },
    /// The server is down or does not answer. Acknowledged entries are safe, and the call can be retried.
    #[error("store {store} cannot be reached: {reason}; {advice}")]
    Unavailable { store: String, reason: String, advice: &'static str, source: ErrorSource },
    /// The server rejects the request until the configuration changes.
    #[error("cannot use store {store}: {reason}; {advice}")]
    Refused { store: String, reason: String, advice: &'static str, source: ErrorSource },
    #[error("cannot {what} {}", path.display())]
    Io { what: &'static str, path: PathBuf, source: std::io::Error },
}

impl StoreError {
    /// The machine-readable code.
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

    /// What programs need to know in addition to the code: an object whose fields `docs/json.md` lists.
    pub fn fields(&self) -> Value {
        match self {
            StoreError::NotFound { store, id } => json!({ "store": store, "session": id }),
            StoreError::AlreadyExists { id }
            | StoreError::Busy { id }
            | StoreError::OtherSession { id, .. } => {
                json!({ "session": id })
            }
            StoreError::NotASession { path, .. }
            | StoreError::Vanished { path }
            | StoreError::Shrunk { path }
            | StoreError::Locked { path, .. }
            | StoreError::Io { path, .. } => json!({ "file": path.to_string_lossy() }),
            StoreError::Leased { lease } => lease.fields(),
            StoreError::Unavailable { store, .. } | StoreError::Refused { store, .. } => {
                json!({ "store": store })
            }
            StoreError::InvalidId { .. }
            | StoreError::Conflict { .. }
            | StoreError::Replaced
            | StoreError::NoSuchEntry { .. } => json!({}),
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
