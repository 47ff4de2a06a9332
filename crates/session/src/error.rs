//! The errors of a session, as far as the caller can react to them.

use osier_store::StoreError;
use osier_tree::{ErrorCode, PlanError};
use serde_json::{Value, json};

/// An error of a session. After any error, the state in memory is exactly what the store acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The leaf is not the one that the caller expected.
    #[error("the leaf is now {}; check the new entries, then try again", now.as_deref().unwrap_or("before the first entry"))]
    LeafChanged { now: Option<String> },
    #[error("entry {id} already exists with different content; omit the id to get a new one")]
    EntryConflict { id: String },
    #[error("parent entry {id} not found; nothing was written")]
    ParentNotFound { id: String },
    #[error("a turn is running at {}; stop it first", at.as_deref().unwrap_or("the start of the session"))]
    Busy { at: Option<String> },
    #[error("cannot store the change: other writers kept changing the session; try again")]
    Contended,
    /// The entry is written and announced, and survives a crash of this process.
    #[error("entry {id} was written, but could not be synced to disk")]
    NotDurable { id: String, source: StoreError },
    #[error("the session is closed; open it again")]
    Closed,
    /// A copy is refused because the session in the target store has different content.
    #[error("store {store} has a different session {id}: the first difference is in {}; the store was not changed", position(*at))]
    CopyConflict { store: String, id: String, at: Option<usize> },
}

fn position(at: Option<usize>) -> String {
    at.map_or_else(|| "the first line".to_owned(), |at| format!("entry number {}", at + 1))
}

impl SessionError {
    /// The machine-readable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            SessionError::Plan(plan) => plan.code(),
            SessionError::Store(store) => store.code(),
            SessionError::LeafChanged { .. } => ErrorCode::LeafChanged,
            SessionError::EntryConflict { .. } => ErrorCode::EntryConflict,
            SessionError::ParentNotFound { .. } => ErrorCode::ParentNotFound,
            SessionError::Busy { .. } => ErrorCode::SessionBusy,
            SessionError::Contended => ErrorCode::Contended,
            SessionError::NotDurable { .. } => ErrorCode::NotDurable,
            SessionError::Closed => ErrorCode::SessionClosed,
            SessionError::CopyConflict { .. } => ErrorCode::AlreadyExists,
        }
    }

    /// What programs need to know in addition to the code: an object whose fields `docs/json.md` lists.
    pub fn fields(&self) -> Value {
        match self {
            SessionError::Plan(plan) => plan.fields(),
            SessionError::Store(store) => store.fields(),
            SessionError::LeafChanged { now } => json!({ "leaf": now }),
            SessionError::EntryConflict { id }
            | SessionError::ParentNotFound { id }
            | SessionError::NotDurable { id, .. } => {
                json!({ "entry": id })
            }
            SessionError::Busy { at } => json!({ "entry": at }),
            SessionError::CopyConflict { store, id, .. } => json!({ "store": store, "session": id }),
            SessionError::Contended | SessionError::Closed => json!({}),
        }
    }
}
