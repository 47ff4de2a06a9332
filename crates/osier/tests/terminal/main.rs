//! Runs the real program on a pseudo-terminal. A terminal emulator shows what a user would see.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod approval;
mod conversation;
mod delegating;
mod display;
mod exiting;
mod extension_sessions;
mod extensions;
mod history;
mod navigation;
#[allow(dead_code, reason = "shared with the CLI tests, which use all of it")]
#[path = "../cli/run_support.rs"]
mod run_support;
mod screen;
mod scrolling;
mod sessions;
mod settings;
#[allow(dead_code, reason = "shared with the CLI tests, which use all of it")]
#[path = "../cli/support.rs"]
mod support;
