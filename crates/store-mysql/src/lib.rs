//! Stores session logs in a MySQL or MariaDB database that a team shares.
//!
//! Many processes on many machines can write to one session. An append is one short transaction: it succeeds if the log is
//! in the expected state, and otherwise returns the current state. No lock outlives that transaction.
//!
//! The log is the source of truth. While a session is open, its row in `osier_sessions` may lag behind its log, and the
//! newest entry row carries the rest of the card. The last process that closes the session updates its row.
//!
//! | file | contents |
//! |---|---|
//! | `store.rs` | the state that the store keeps between calls |
//! | `relay.rs`, `handshake.rs`, `unverified_tls.rs` | protect the password from a server that asks for it in clear text over an unverified connection |
//! | `settings.rs` | the address of the database, and time-outs |
//! | `schema.rs`, `rows.rs`, `tally.rs` | the tables, which are only ever extended; rows; what a line adds to the card, in 49 bytes |
//! | `append.rs` | one line in one insert |
//! | `locks.rs`, `transaction.rs` | rows that processes write to exclude each other; transactions in a cluster |
//! | `listing.rs` | lists of sessions |
//! | `leases.rs` | which process runs a turn, in a row that is renewed |
//! | `server/` | for tests: a private MariaDB server on a free port |
//!
//! Other modules hold the connection pool, the classification of failures, and one operation each: create, read, delete, watch, register
//! open sessions.

mod append;
mod attempt_error;
mod cached_log;
mod connection_pool;
mod contention;
mod deletion;
mod engine;
mod handshake;
mod inspect;
mod leases;
mod listing;
mod locks;
mod log_creation;
mod log_reader;
mod open_records;
mod redacted_url;
mod relay;
mod rows;
mod schema;
#[cfg(feature = "server")]
pub mod server;
mod settings;
mod store;
mod store_impl;
mod streamed_creation;
mod tally;
mod transaction;
mod unverified_tls;
mod watcher;

pub use engine::{Engine, EngineKind};
pub use inspect::{CLOCK_MARGIN, ServerReport};
pub use redacted_url::without_password;
pub use settings::{Credentials, Limits, PasswordSource};
pub use store::MySqlStore;
