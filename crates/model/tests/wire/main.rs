//! The models over a real socket, against streams as the providers send them.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

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
