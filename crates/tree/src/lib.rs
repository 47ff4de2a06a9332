//! The pure core of Osier: entries, the fold that builds a tree from a log, and the projections that turn the tree into
//! what a model, a person or a program sees.
//!
//! Nothing here does I/O, reads the clock, generates ids or blocks. Callers do all of that.

pub mod abandoned_branch;
pub mod backtrack;
pub mod children;
pub mod compaction_cut;
pub mod draft;
pub mod entry;
pub mod error_code;
pub mod files;
pub mod fold;
pub mod fork;
pub mod gc;
pub mod graft;
pub mod header;
pub mod heads;
pub mod history;
pub mod kind;
mod layered;
pub mod line_consumer;
pub mod marks;
pub mod migrate;
pub mod move_target;
pub mod plan;
pub mod projection;
pub mod scan;
pub mod serialize;
pub mod short_ids;
pub mod summary;
pub mod time;
pub mod tokens;
pub mod walk;

pub use draft::{DraftParent, EntryDraft};
pub use entry::{Entry, EntryKind, EntryReason, InvalidLine, MessageRole, ParsedLine};
pub use error_code::ErrorCode;
pub use fold::{Checkpoint, Place, SessionTree};
pub use header::Header;
pub use heads::{EntryId, Head, Heads, Seq};
pub use move_target::{MoveRequest, MoveTarget, Selection};
pub use plan::PlanError;
pub use walk::{ContextPlan, ContextWalk};
