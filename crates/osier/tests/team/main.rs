//! A team's database behind the real binary, and the façade over it. The server is a private one; see docs/stores.md.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../cli/support.rs"]
mod support;

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../cli/run_support.rs"]
mod run_support;

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../cli/busy_support.rs"]
mod busy_support;

mod busy;
mod commands;
mod database;
mod facade;
