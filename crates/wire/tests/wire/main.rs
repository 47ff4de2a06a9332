//! An engine and its clients at two ends of a connection.
#![allow(clippy::unwrap_used, reason = "test helpers fail by panicking")]

mod bad_connection;
mod contract;
mod ending;
mod hostile;
mod liveness;
mod resuming;
mod support;
