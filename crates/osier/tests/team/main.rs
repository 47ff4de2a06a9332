//! Runs the real binary and the session facade on a team database. Starts a private MySQL server; see docs/stores.md.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

#[allow(dead_code, reason = "shared with the CLI tests, which use all of it")]
#[path = "../cli/support.rs"]
mod support;

#[allow(dead_code, reason = "shared with the CLI tests, which use all of it")]
#[path = "../cli/run_support.rs"]
mod run_support;

#[allow(dead_code, reason = "shared with the CLI tests, which use all of it")]
#[path = "../cli/busy_support.rs"]
mod busy_support;

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../terminal/screen.rs"]
mod screen;

#[allow(dead_code, reason = "shared with the tests of gateways, which use all of it")]
#[path = "../gateway/server.rs"]
mod server;

#[allow(dead_code, reason = "shared with the tests of gateways, which use all of it")]
#[path = "../gateway/socket_support.rs"]
mod socket_support;

#[allow(dead_code, reason = "shared with the tests of gateways, which use all of it")]
#[path = "../gateway/pair_support.rs"]
mod pair_support;

mod busy;
mod commands;
mod database;
mod doctor;
mod facade;
mod gateways;
mod lost_entries;
mod unstored_results;
mod writers;
