//! Tests the tools with real files and processes. `check` compares the text that the model gets.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

mod approval;
mod approved_changes;
mod arguments;
mod background;
mod commands;
mod edit;
mod paths;
mod protected_paths;
mod read;
mod schemas;
mod search;
mod stopping;
mod support;
mod todo;
mod user_bash;
mod write;
