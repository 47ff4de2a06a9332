//! Tests the wire protocols over a real socket, with streams as the providers send them.
#![allow(clippy::unwrap_used, reason = "test helpers fail by panicking")]

mod anthropic_messages;
mod bodies;
mod faults;
mod google_generative_ai;
mod openai_completions;
mod openai_responses;
mod prefix;
mod secrets;
mod server;
mod support;
