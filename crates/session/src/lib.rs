//! A live session: one task writes the log, and any number of readers and clients share the result.
//!
//! A change takes five steps: plan, gate, append, apply, announce. The first two run in the caller's task. The writer
//! task runs the others as one message. Only the writer appends, and it announces nothing before it is stored.
//!
//! | file | contents |
//! |---|---|
//! | `handle.rs` | `Session`: the handle that all other code uses |
//! | `commit.rs`, `provided_fields.rs`, `gate.rs` | a change and its first two steps; entries given as JSON; gates |
//! | `writer_message.rs`, `writer.rs`, `writer/` | the writer's mailbox, the one task that reads it, appending, reading new lines |
//! | `cursor_state.rs`, `cursor_history.rs`, `cursor.rs` | the positions of cursors and how entries move them; where undo and redo lead; the handle of a cursor |
//! | `draft.rs`, `attach.rs`, `event.rs` | live drafts; attaching; events for clients |
//! | `load.rs`, `state.rs`, `env.rs`, `error.rs` | opening; one published state; clock, ids, durability; errors |
//! | `transcript.rs`, `batch_updates.rs` | the transcript of a path, item by item; batches of sub-agents with the status of their updates |
//! | `snapshot.rs`, `context.rs`, `fork.rs` | snapshots and contexts as JSON, written piece by piece; a path as the start of another session |
//! | `stores.rs`, `copy.rs`, `search.rs` | several stores at once; copying a session between stores; full-text search |

mod attach;
mod batch_updates;
mod commit;
mod context;
mod copy;
mod cursor;
mod cursor_history;
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
pub use search::{SearchErrors, filter_cards, search_messages};
pub use snapshot::{KnownRevision, SnapshotOptions};
pub use state::{SessionState, StateAge};
pub use stores::{FindResult, ListResult, LocatedSession, Stores, UnavailableStore};
