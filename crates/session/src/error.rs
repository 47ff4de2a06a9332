//! What can go wrong with a session, as far as the caller can do something about it.

use osier_store::StoreError;
use osier_tree::{ErrorCode, PlanError};

/// See the module. Whatever it is, memory holds exactly what the store acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller said where it believes to stand, and that is not so any more.
    #[error("the conversation now stands at {}; look at what came, then try again", now.as_deref().unwrap_or("its beginning"))]
    LeafChanged { now: Option<String> },
    #[error("entry {id} exists already with another content; leave out the id to get a new one")]
    EntryConflict { id: String },
    #[error("no entry {id} to hang the new one below; nothing was written")]
    ParentNotFound { id: String },
    #[error("a turn is running at {}; stop it first", at.as_deref().unwrap_or("the beginning"))]
    Busy { at: Option<String> },
    #[error("the conversation changed again and again while this was prepared; try again")]
    Contended,
    /// The entry is written, announced and safe from the death of this process.
    #[error("entry {id} is written, but could not be made safe from a power cut")]
    NotDurable { id: String, source: StoreError },
    #[error("the session is closed; open it again")]
    Closed,
    /// A copy is refused: what lies there is no beginning of what is to be copied.
    #[error("store {store} has another session {id}: they differ in {}; nothing was changed there", place(*at))]
    Different { store: String, id: String, at: Option<usize> },
    /// `why` may have several lines, the last of which says it shortest.
    #[error("this is no regular expression: {why}")]
    Pattern { why: String },
}

fn place(at: Option<usize>) -> String {
    at.map_or_else(|| "the first line".to_owned(), |at| format!("entry number {}", at + 1))
}

impl Error {
    /// The code that programs know it by.
    pub fn code(&self) -> ErrorCode {
        match self {
            Error::Plan(plan) => plan.code(),
            Error::Store(store) => store.code(),
            Error::LeafChanged { .. } => ErrorCode::LeafChanged,
            Error::EntryConflict { .. } => ErrorCode::EntryConflict,
            Error::ParentNotFound { .. } => ErrorCode::ParentNotFound,
            Error::Busy { .. } => ErrorCode::SessionBusy,
            Error::Contended => ErrorCode::Contended,
            Error::NotDurable { .. } => ErrorCode::NotDurable,
            Error::Closed => ErrorCode::SessionClosed,
            Error::Different { .. } => ErrorCode::AlreadyExists,
            Error::Pattern { .. } => ErrorCode::BadPattern,
        }
    }
}
