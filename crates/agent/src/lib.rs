//! The agent: decides the next step on a path, runs turns, and provides the [`Client`] trait that every view
//! of a session uses.
//!
//! The loop keeps no state of its own. Everything that happened is an entry. [`next_step`] looks at the end
//! of the path and decides what to do, so a turn that died with its process can be resumed.
//!
//! | file | contents |
//! |---|---|
//! | `client.rs`, `live.rs`, `events.rs` | what every view uses: commands in, events out; live updates that are never stored; both kinds of events in one order |
//! | `worker.rs`, `context.rs`, `config.rs` | the loop over commands; the cursor it works at and its state; the configuration of an agent |
//! | `tail.rs`, `next_step.rs` | the end of a path, and the one decision of the loop. Pure |
//! | `turn.rs`, `model_call.rs`, `tool_calls.rs` | a turn step by step; calling the model, with retries; running tool calls |
//! | `request.rs` | the request at a position: what is sent, and what `context --request` shows |
//! | `questions.rs`, `queue.rs`, `leftover_queue.rs`, `prompt.rs` | questions to the user; queued prompts; what a crash left in the queue; storing a prompt |
//! | `navigate.rs`, `compaction.rs`, `graft.rs`, `summarizer.rs` | navigation: each operation ends in one entry, or changes nothing; the model that writes summaries |
//! | `backtrack.rs` | the model's tool to return to a checkpoint |
//! | `gates.rs` | where extensions are asked before a move, a compaction, a fork or a switch |
//! | `model_choice.rs`, `side_state.rs` | what belongs to the path: model and thinking level; files read and to-do list |
//! | `system_prompt.rs`, `system_prompt_source.rs`, `instructions.rs`, `skills.rs` | the system prompt as entries; its sections and their sources |
//! | `prompt_library.rs`, `templates.rs`, `frontmatter.rs`, `text_file.rs` | templates and skills: what `/name` expands to |
//! | `user_command.rs`, `error.rs` | `!command`; errors that a caller can act on |

pub mod attachments;
mod backtrack;
mod client;
mod compaction;
mod config;
mod context;
mod error;
mod events;
mod exclusive;
mod frontmatter;
pub mod gates;
mod graft;
pub mod instructions;
mod leftover_queue;
mod live;
mod model_call;
mod model_choice;
mod navigate;
pub mod next_step;
mod prompt;
pub mod prompt_library;
mod questions;
mod queue;
mod request;
mod sandboxing;
mod shown;
mod side_state;
pub mod skills;
mod summarizer;
pub mod system_prompt;
pub mod system_prompt_source;
pub mod tail;
pub mod templates;
mod text_file;
mod tool_calls;
mod turn;
mod unstored;
mod user_command;
mod worker;

pub use client::{Attached, Client, ClientCommand, CommandReply, PromptTiming};
pub use compaction::{Compacted, CompactionConfig, CompactionReason};
pub use config::{AgentConfig, DEFAULT_MAX_STEPS, ModelLookup};
pub use error::AgentError;
pub use events::{AgentEvent, AgentEvents};
pub use gates::Gates;
pub use live::LiveUpdate;
pub use model_choice::ModelChoice;
pub use navigate::{Navigated, Navigation};
pub use next_step::{NextStep, PendingWork, TurnOutcome, next_step};
pub use prompt::Prompt;
pub use prompt_library::PromptLibrary;
pub use questions::{Question, ToolQuestion, UserAnswer};
pub use queue::PromptQueue;
pub use request::PreparedRequest;
pub use side_state::SideState;
pub use summarizer::SummaryError;
pub use system_prompt_source::{StandardSystemPrompt, SystemPromptSource};
pub use tail::{RecordedCall, Tail};
pub use text_file::FileProblem;
pub use worker::Worker;
