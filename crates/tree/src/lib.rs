//! The pure heart of Osier: what an entry is, the fold that makes a tree of a log, and the projections that make of the
//! tree what a model, a person or a program sees.
//!
//! Nothing here does I/O, reads a clock, makes an id or waits. Callers bring all of that.

pub mod children;
pub mod draft;
pub mod entry;
pub mod fold;
pub mod fork;
pub mod gc;
pub mod header;
pub mod heads;
pub mod history;
pub mod kind;
pub mod marks;
pub mod migrate;
pub mod plan;
pub mod projection;
pub mod scan;
pub mod time;
pub mod walk;

pub use draft::{Draft, Under};
pub use entry::{Entry, Kind, Odd, Read, Role, Why};
pub use fold::{Checkpoint, Place, SessionTree};
pub use header::Header;
pub use heads::{Head, Heads, Id, Seq};
pub use plan::{Landing, PlanError};
pub use walk::{ContextPlan, ContextWalk};
