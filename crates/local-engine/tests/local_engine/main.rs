//! What clients can rely on when they use the engine of this process.
#![allow(clippy::unwrap_used, reason = "test helpers fail by panicking")]

mod directories;
mod opening;
mod requests;
mod support;
