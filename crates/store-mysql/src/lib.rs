//! Keeps the logs of sessions in a MySQL or MariaDB database that a team shares.
//!
//! Many processes on many machines may write to one session. An append is one short transaction that either finds the state
//! it expects or tells the state there is; nothing is ever locked for longer than that.
//!
//! The log is what counts. The row of a session that somebody has open may be behind its log; the newest line then tells
//! the rest of the card. Whoever closes the session brings its row up to date.

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
