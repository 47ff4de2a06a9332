//! The agent: decides the next step on a path, and runs turns. A [`Worker`] takes the commands of all clients of
//! a session.
//!
//! The loop keeps no state of its own. Everything that happened is an entry. [`next_step`] looks at the end
//! of the path and decides what to do, so a turn that died with its process can be resumed.
//!
//! | file | contents |
//! |---|---|
//! | `attach.rs`, `attached_clients.rs`, `events.rs`, `client_position.rs`, `missed_entries.rs`, `live_events.rs`, `running_events.rs`, `redacted_deltas.rs` | attaching a client; who is attached; all its events in one order, from its position, with the entries it missed; events that are never stored, and those of what runs now; replies while they stream, without secrets |
//! | `worker.rs`, `context.rs`, `config.rs` | the loop over commands; the cursor it works at and its state; the configuration of an agent |
//! | `tail.rs`, `next_step.rs` | the end of a path, and the one decision of the loop. Pure |
//! | `turn.rs`, `resume.rs`, `model_call.rs`, `tool_calls.rs` | a turn step by step; continuing an unfinished one; calling the model, with retries; running tool calls |
//! | `request.rs` | the request at a position: what is sent, and what `context --request` shows |
//! | `rights.rs`, `sandboxing.rs` | what an agent may do without asking; commands in the sandbox |
//! | `questions.rs`, `queue.rs`, `leftover_queue.rs`, `prompt.rs` | questions to the user; queued prompts; what a crash left in the queue; storing a prompt |
//! | `exclusive.rs`, `moves.rs`, `undo.rs`, `branch_summary.rs`, `compaction.rs`, `graft.rs`, `summarizer.rs`, `marks.rs` | moves, undo and compactions: each ends in one entry, or changes nothing; the model that writes summaries; labels, names and settings |
//! | `backtrack.rs` | the model's tool to return to a checkpoint |
//! | `hooks.rs`, `hooks/`, `hooked_calls.rs`, `step_events.rs` | where extensions are asked before something happens, and observe it afterward; for tool calls; for turns and their steps |
//! | `model_choice.rs`, `side_state.rs` | what belongs to the path: model and thinking level; files read and to-do list |
//! | `system_prompt.rs`, `system_prompt_source.rs`, `instructions.rs`, `skills.rs` | the system prompt as entries; its sections and their sources |
//! | `prompt_library.rs`, `templates.rs`, `frontmatter.rs`, `text_file.rs` | templates and skills: what `/name` expands to |
//! | `agent_files.rs`, `agent_handle.rs` | the agents that a model can delegate tasks to; what an agent offers to tools of the engine |
//! | `weak_worker.rs` | an agent as hooks reach it |
//! | `user_command.rs`, `error.rs` | `!command`; errors that a caller can act on |

pub mod agent_files;
mod agent_handle;
mod attach;
mod attached_clients;
pub mod attachments;
mod backtrack;
mod branch_summary;
mod client_position;
mod compaction;
mod config;
mod context;
mod context_edit;
mod error;
mod events;
mod exclusive;
mod frontmatter;
mod graft;
mod hooked_calls;
pub mod hooks;
pub mod instructions;
mod leftover_queue;
mod live_events;
mod marks;
mod missed_entries;
mod model_call;
mod model_choice;
mod moves;
pub mod next_step;
mod prompt;
pub mod prompt_library;
mod questions;
mod queue;
mod redacted_deltas;
mod request;
mod resume;
mod rights;
mod running_events;
mod sandboxing;
mod side_state;
pub mod skills;
mod step_events;
mod summarizer;
pub mod system_prompt;
pub mod system_prompt_source;
pub mod tail;
pub mod templates;
mod text_file;
mod tool_calls;
mod tool_events;
mod turn;
mod undo;
mod unstored;
mod user_command;
mod weak_worker;
mod worker;

pub use agent_files::{AgentBudget, AgentDefinition, AgentLibrary};
pub use agent_handle::AgentHandle;
pub use attach::attach_without_agent;
pub use compaction::{CompactionConfig, CompactionReason};
pub use config::{AgentConfig, AgentModels, DEFAULT_MAX_STEPS, ModelLookup, UnattendedHints};
pub use error::AgentError;
pub use hooks::{Hook, Hooks, RegisteredHook};
pub use live_events::ClientId;
pub use model_choice::ModelChoice;
pub use moves::resolve_move;
pub use next_step::{NextStep, PendingWork, next_step};
pub use prompt_library::{FileCheck, PromptFolder, PromptLibrary};
pub use request::PreparedRequest;
pub use side_state::SideState;
pub use summarizer::SummaryError;
pub use system_prompt_source::{StandardSystemPrompt, SystemPromptSource};
pub use tail::{RecordedCall, Tail};
pub use text_file::FileProblem;
pub use weak_worker::WeakWorker;
pub use worker::Worker;
