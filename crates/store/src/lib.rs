//! Stores the logs of sessions: their lines, the heads of the lines, and one card per session. `osier_tree`
//! interprets the lines.
//!
//! A log is append-only, with two exceptions: `rewrite`, for migration and garbage collection, and `delete`.

mod batch;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod error;
pub mod file;
mod lease;
mod memory;
mod paged;
mod port;
mod texts;

pub use batch::Batch;
pub use error::StoreError;
pub use file::FileStore;
pub use lease::{InTheWay, Lease};
pub use memory::MemoryStore;
pub use paged::{PagedHeads, each_line};
pub use port::{Counts, Deleted, Filter, LineSource, Opened, Page, Store, Version, Watch};
pub use texts::Texts;
