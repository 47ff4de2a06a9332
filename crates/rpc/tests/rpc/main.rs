//! The server as a program drives it.
#![allow(clippy::unwrap_used)]

mod commands;
mod dialogs;
mod events;
mod framing;
mod large_answers;
mod sessions;
mod slow_client;
mod support;
mod tools;
