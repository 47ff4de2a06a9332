//! The real binary, driven as a person and as a program would.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod append;
mod backup;
mod branches;
mod conformance;
mod context;
mod deep;
mod delete;
mod demo;
mod export;
mod fork;
mod help;
mod hostile;
mod kinds;
mod list;
mod marks;
mod moves;
mod output;
mod settings;
mod show;
mod snapshot;
mod support;
mod targets;
mod tree;
mod verify;
