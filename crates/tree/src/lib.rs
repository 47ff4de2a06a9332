//! The pure core of Osier: entries, the fold that builds a tree from a log, and the projections that turn the tree into
//! what a model, a person or a program sees.
//!
//! Nothing here does I/O, reads the clock, generates ids or blocks. Callers do all of that.

pub mod asking;
pub mod children;
pub mod continuing;
pub mod cutting;
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
pub mod leaving;
pub mod marks;
pub mod migrate;
pub mod note;
pub mod plan;
pub mod projection;
pub mod scan;
pub mod serialize;
pub mod short_ids;
pub mod summary;
pub mod time;
pub mod tokens;
pub mod walk;

pub use continuing::{Choice, Chosen, Landing};
pub use draft::{Draft, Under};
pub use entry::{Entry, Kind, Odd, Read, Role, Why};
pub use error_code::ErrorCode;
pub use fold::{Checkpoint, Place, SessionTree};
pub use header::Header;
pub use heads::{Head, Heads, Id, Seq};
pub use plan::PlanError;
pub use walk::{ContextPlan, ContextWalk};
