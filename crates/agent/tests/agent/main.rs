//! The agent at work: a scripted model, real tools in a real folder, real sessions in memory and in files.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod approvals;
mod cancel;
mod choice;
mod costs;
mod counting;
mod crash;
mod desk;
mod events;
mod next_step;
mod prefix;
mod prompts;
mod queue;
mod side;
mod tools;
mod turns;
