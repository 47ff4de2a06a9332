//! A live session: one task writes the log, and any number of readers and clients share the result.
//!
//! A change takes five steps: plan, gate, append, apply, announce. The first two run in the caller's task. The writer
//! task runs the others as one message. Only the writer appends, and it announces nothing before it is stored.

mod attach;
mod batch_updates;
mod commit;
mod context;
mod copy;
mod cursor;
mod cursor_state;
mod draft;
mod env;
mod error;
mod event;
mod fork;
mod gate;
mod handle;
mod load;
mod provided_fields;
mod search;
mod sessions;
mod snapshot;
mod state;
mod stores;
mod transcript;
mod writer;
mod writer_message;

pub use attach::Attached;
pub use commit::{Commit, CommitOutcome, PlanView, StoredEntry};
pub use context::ContextReader;
pub use copy::{CopyReport, copy_session};
pub use cursor::{Cursor, TurnGuard};
pub use cursor_state::{CursorId, CursorState, ForeignContinuation};
pub use draft::{DraftHandle, OpenDraft};
pub use env::{Durability, IdSource, RandomIds, SessionEnv, SystemClock, WallClock};
pub use error::SessionError;
pub use event::{SessionEvent, SessionEvents};
pub use fork::ForkLines;
pub use gate::{Gate, GateVerdict, PlannedChange};
pub use handle::{Session, chain_drafts};
pub use search::{SearchErrors, SearchQuery};
#[cfg(feature = "contract")]
pub use sessions::contract;
pub use sessions::{
    ActivePath, AppendParent, EntryPlacement, NewCompaction, NewSession, PathError, SessionUpdate, Sessions,
};
pub use snapshot::{KnownRevision, SnapshotOptions};
pub use state::SessionState;
pub use stores::{FindResult, ListResult, LocatedSession, Stores, UnavailableStore};
