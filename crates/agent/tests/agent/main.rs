//! The agent at work: a scripted model, real tools in a real folder, real sessions in memory and in files.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod anything;
mod approvals;
mod backtracks;
mod billing;
mod cancel;
mod choice;
mod compactions;
mod costs;
mod counting;
mod crash;
mod desk;
mod errands;
mod events;
mod fullness;
mod gated;
mod grafts;
mod legal;
mod limits;
mod moves;
mod next_step;
mod no_returns;
mod picture;
mod player;
mod prefix;
mod prompts;
mod queue;
mod reloads;
mod restoring;
mod side;
mod spending;
mod stage;
mod summaries;
mod tools;
mod turns;
