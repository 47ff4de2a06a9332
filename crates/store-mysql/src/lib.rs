//! Keeps the logs of sessions in a MySQL or MariaDB database that a team shares.
//!
//! Many processes on many machines may write to one session. An append is one short transaction that either finds the state
//! it expects or tells the state there is; nothing is ever locked for longer than that.

mod append;
mod connections;
mod failure;
mod holding;
mod known;
mod listing;
mod making;
mod port;
mod procedure;
mod reading;
mod record;
mod removing;
mod rows;
mod schema;
#[cfg(feature = "server")]
pub mod server;
mod settings;
mod shown;
mod store;
mod watching;

pub use settings::{Credentials, Limits, Password};
pub use shown::without_password;
pub use store::MySqlStore;
