//! Stores the logs of sessions: their lines, the heads of the lines, and one card per session. `osier_tree`
//! interprets the lines.
//!
//! A log is append-only, with two exceptions: `rewrite`, for migration and garbage collection, and `delete`.
//!
//! | file | contents |
//! |---|---|
//! | `store.rs`, `error.rs` | the trait `Store` and its errors |
//! | `batch.rs`, `paged.rs` | lines in batches, heads in pages |
//! | `preview_texts.rs` | previews of a whole log, stored compactly |
//! | `lease.rs` | which process runs a turn, and where |
//! | `memory.rs` | the memory store |
//! | `contract.rs`, `contract/` | the rules for every store, one function each |
//! | `intercepted.rs` | a memory store for tests whose calls can fail |
//! | `file/mod.rs`, `file/store.rs` | the file store: which file, which cache; its implementation of `Store` |
//! | `file/log.rs`, `file/log/` | one session file: read, follow, fetch lines, append under its lock |
//! | `file/reader.rs` | lines of a file, read in large chunks |
//! | `file/listing.rs` | lists of sessions, read only as far as needed |
//! | `file/names.rs`, `file/file_identity.rs` | names of folders and files; which file a path refers to now |
//! | `file/replace.rs` | creating files atomically; replacing a log |
//! | `file/index.rs`, `file/index/`, `file/cards.rs`, `file/previews.rs`, `file/texts.rs`, `file/texts/` | caches |
//! | `file/parallel.rs` | work on many files at once |

mod batch;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod error;
pub mod file;
#[cfg(any(test, feature = "contract"))]
pub mod intercepted;
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
