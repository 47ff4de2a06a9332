//! The pure heart of Osier: what an entry is, the fold that makes a tree of a log, and the projections that make of the
//! tree what a model, a person or a program sees.
//!
//! Nothing here does I/O, reads a clock, makes an id or waits. Callers bring all of that.

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
