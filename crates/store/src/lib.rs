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
mod preview_texts;
mod store;

pub use batch::LineBatch;
pub use error::StoreError;
pub use file::FileStore;
pub use lease::{Lease, LeaseConflictFn};
pub use memory::MemoryStore;
pub use paged::{PagedHeads, for_each_line};
pub use preview_texts::PreviewTexts;
pub use store::{
    DeleteResult, DeletedCounts, LineSource, LogVersion, OpenedLog, SessionFilter, SessionPage, Store, Watch,
};
