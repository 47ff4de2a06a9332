//! The real program on a real terminal: keys go in, and a terminal emulator tells what a person would see.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod asking;
mod going;
mod history;
mod leaving;
mod looks;
#[allow(dead_code, reason = "shared with the tests of commands, which need all of it")]
#[path = "../cli/run_support.rs"]
mod run_support;
mod screen;
mod scrolling;
mod sessions;
mod settings;
#[allow(dead_code, reason = "shared with the tests of commands, which need all of it")]
#[path = "../cli/support.rs"]
mod support;
mod talking;
