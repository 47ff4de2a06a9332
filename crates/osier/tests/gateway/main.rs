//! Runs `osier serve` and talks to it over real sockets.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

#[allow(dead_code, reason = "shared with the CLI tests, which use all of it")]
#[path = "../cli/support.rs"]
mod support;

#[allow(dead_code, reason = "shared with the CLI tests, which use all of it")]
#[path = "../cli/run_support.rs"]
mod run_support;

#[allow(dead_code, reason = "shared with the tests of the documentation, which use all of it")]
#[path = "../docs/matching.rs"]
mod matching;

#[allow(dead_code, reason = "shared with the tests of the documentation, which use all of it")]
#[path = "../docs/page.rs"]
mod page_text;

mod access;
mod browser;
mod commands;
mod connecting;
mod docs;
mod entries;
mod faults;
mod junk;
mod limits;
mod model_calls;
mod openapi;
mod page;
mod pair_support;
mod reading;
#[allow(dead_code, reason = "shared with the terminal tests, which use all of it")]
#[path = "../terminal/screen.rs"]
mod screen;
mod server;
mod sessions;
mod several;
mod socket_support;
mod tunnel;
mod web_socket;
