//! Tests of the agent with a scripted model, real tools in a temporary folder, and sessions in memory and in
//! files.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod approvals;
mod auto_compaction;
mod backtrack;
mod backtrack_refused;
mod cache_billing;
mod cancel;
mod compaction;
mod counting_store;
mod crash;
mod events;
mod exclusive;
mod graft;
mod harness;
mod hook_decisions;
mod hooks;
mod model_choice;
mod moves;
mod next_step;
mod prefix_stability;
mod prompts;
mod queue;
mod random_operations;
mod random_session;
mod reload;
mod render;
mod scenario;
mod side_state;
mod state_after_moves;
mod step_limit;
mod store_costs;
mod summaries;
mod summary_costs;
mod tools;
mod turns;
mod unavailable_store;
mod valid_requests;
