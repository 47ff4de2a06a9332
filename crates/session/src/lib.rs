//! A live session: one task writes the log, and any number of readers and clients share the result.
//!
//! A change takes five steps: plan, gate, append, apply, announce. The first two run in the caller's task. The writer
//! task runs the others as one message. Only the writer appends, and it announces nothing before it is stored.

mod attach;
mod commit;
mod context;
mod copy;
mod cursor;
mod draft;
mod env;
mod error;
mod event;
mod forking;
mod gate;
mod given;
mod handle;
mod load;
mod mail;
mod search;
mod sessions;
mod snapshot;
mod standing;
mod state;
mod stores;
mod transcript;
mod updates;
mod writer;

pub use attach::Attached;
pub use commit::{Commit, Outcome, Stored, View};
pub use context::ContextReader;
pub use copy::{Copied, copy};
pub use cursor::{Cursor, TurnGuard};
pub use draft::{DraftHandle, OpenDraft};
pub use env::{Clock, Durability, Env, Ids, RandomIds, SystemClock};
pub use error::Error;
pub use event::{Event, Events};
pub use forking::ForkLines;
pub use gate::{Change, Gate, Verdict};
pub use handle::{Session, chained};
pub use search::{Query, Unread};
#[cfg(feature = "contract")]
pub use sessions::contract;
pub use sessions::{ActivePath, Below, Broken, Compacted, NewSession, Put, SessionUpdate, Sessions};
pub use snapshot::{Since, SnapshotAsk};
pub use standing::{CursorId, Elsewhere, Standing};
pub use state::State;
pub use stores::{Down, Found, Listed, Owned, Stores};
