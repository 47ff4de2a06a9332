//! The tools on real files and real processes. One `check` compares what the model is told.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod approval;
mod arguments;
mod background;
mod closed;
mod commands;
mod edit;
mod paths;
mod read;
mod schemas;
mod seal;
mod search;
mod stopping;
mod support;
mod todo;
mod user_bash;
mod write;
