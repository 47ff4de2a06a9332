//! Stores session logs in a MySQL or MariaDB database that a team shares.
//!
//! Many processes on many machines can write to one session. An append is one short transaction: it succeeds if the log is
//! in the expected state, and otherwise returns the current state. No lock outlives that transaction.
//!
//! The log is the source of truth. While a session is open, its row in `osier_sessions` may lag behind its log, and the
//! newest entry row carries the rest of the card. The last process that closes the session updates its row.

mod append;
mod connections;
mod contention;
mod engine;
mod failure;
mod handshake;
mod holding;
mod inspect;
mod known;
mod leases;
mod listing;
mod locks;
mod making;
mod port;
mod reading;
mod record;
mod relay;
mod removing;
mod rows;
mod schema;
#[cfg(feature = "server")]
pub mod server;
mod settings;
mod shown;
mod store;
mod streaming;
mod tally;
mod unverified_tls;
mod watching;

pub use engine::{Engine, EngineKind};
pub use inspect::{CLOCK_MARGIN, ServerReport};
pub use settings::{Credentials, Limits, Password};
pub use shown::without_password;
pub use store::MySqlStore;
