//! The engine: the live sessions of a process, the agents that work in them, and every operation on sessions, each exactly
//! once. All clients use it: the command line, the terminal, and servers.
//!
//! The engine reads no environment variables, prints nothing, and knows no command line. [`EngineConfig`] provides
//! everything. Errors carry a code and facts; the caller adds hints.
//!
//! | file | contents |
//! |---|---|
//! | `config.rs`, `engine.rs` | what the caller provides; the engine itself |
//! | `configured_store.rs`, `provenance.rs`, `allowed_directories.rs` | the stores; which sessions only this user can have written; the directories that clients may use |
//! | `find.rs`, `stored.rs` | finding a session by id or path; a session that is stored but not open |
//! | `live_sessions.rs`, `create.rs`, `deferred_store.rs` | open sessions; new sessions, and how one is kept only if it is used |
//! | `live_agents.rs` | the agents that work in a live session, and how long they stay |
//! | `agents.rs`, `workspace.rs`, `model_catalog.rs` | starting agents; the state that agents in one directory share; choosing an agent's model |
//! | `subagents/` | tasks that a model delegates to other agents, each in its own session |
//! | `explore/` | tries of one prompt at the same time, each on its own branch and in its own copy of the project |
//! | `operations/` | the operations, one module each; those that read write to a callback |
//! | `sessions.rs`, `sessions/` | the operations on the sessions of one store, by id, for programs |
//! | `client_contract.rs`, `hook_contract.rs`, `recording_hook.rs`, `contract_engine.rs` | tests that every client must pass, whatever its transport |
//! | `local_client.rs`, `session_reader.rs`, `queries.rs`, `queries/` | the client of a session in this process; one that only reads; what they read |
//! | `followed_events.rs`, `answer_filter.rs` | the events of a session without gaps; which text of a turn is its answer |
//! | `prompt_history.rs`, `git_branch.rs` | prompts of all sessions; the branch of a directory |
//! | `reading.rs` | lines, tokens, models and places of an open session |

mod agents;
mod allowed_directories;
mod answer_filter;
#[cfg(feature = "contract")]
pub mod client_contract;
mod closing;
mod config;
mod configured_store;
#[cfg(feature = "contract")]
mod contract_engine;
mod create;
mod deferred_store;
mod engine;
mod error;
mod explore;
mod find;
mod followed_events;
mod git_branch;
#[cfg(feature = "contract")]
pub mod hook_contract;
mod live_agents;
mod live_sessions;
mod local_client;
mod model_catalog;
mod operations;
mod prompt_history;
mod provenance;
mod queries;
pub mod reading;
#[cfg(feature = "contract")]
pub mod recording_hook;
mod session_reader;
mod sessions;
mod stored;
mod subagents;
mod tool_limit;
mod workspace;

pub use agents::{AgentSpec, AgentStart, SummaryModel};
pub use allowed_directories::AllowedDirectories;
pub use answer_filter::AnswerFilter;
pub use closing::LostResults;
pub use config::EngineConfig;
pub use configured_store::{ConfiguredStore, resolve_links};
#[cfg(feature = "contract")]
pub use contract_engine::{ContractEngine, scripted_agent};
pub use create::{KeepWhen, NewSession};
pub use engine::Engine;
pub use error::{EngineError, join_some};
pub use explore::{ExploreConfig, ExploreError};
pub use find::{FindOptions, FindScope, FoundSession, is_path};
pub use followed_events::FollowedEvents;
pub use git_branch::current_branch;
pub use live_sessions::LiveSession;
pub use local_client::{LocalClient, error_chain};
pub use model_catalog::{ModelCatalog, ModelPreferences, ModelSelection, ModelSource};
pub use operations::append::{AppendContent, AppendRequest, AppendedEntry};
pub use operations::context::ContextRequest;
pub use operations::delete::{DeletePlan, DeleteReport, KeptReason};
pub use operations::entry::{EntryDetails, EntryLocation};
pub use operations::export::{ExportFile, ExportFolder, ExportFormat, id_in_file_name};
pub use operations::fork::{ForkFrom, ForkRequest, ForkedSession};
pub use operations::gc::{GcOptions, GcReport};
pub use operations::list::{ListOptions, SessionList};
pub use operations::reading::ReadError;
pub use operations::rows::{EntryRow, EntryRows, ShownEntries};
pub use operations::switch::session_location;
pub use operations::tree::TreeJsonOptions;
pub use operations::tree_json::{JsonLayout, nested_tree_json};
pub use operations::verify::VerifiedSession;
pub use prompt_history::PromptHistory;
pub use provenance::is_owned_by_another;
pub use queries::answer_query;
pub use session_reader::SessionReader;
#[cfg(feature = "contract")]
pub use sessions::contract;
pub use sessions::{
    ActivePath, AppendParent, EntryPage, EntryPlacement, NewCompaction, PathError, SessionInit,
    SessionOperations, SessionUpdate, Sessions,
};
pub use stored::StoredSession;
pub use subagents::{ParentAgent, SubagentConfig, TASK_TOOL};
pub use tool_limit::ToolLimit;
pub use workspace::Workspace;

// Types of lower crates that operations take, return or fail with. Callers use them from here.
pub use osier_agent::{
    AgentBudget, AgentDefinition, AgentError, AgentLibrary, Hook, Hooks, RegisteredHook, UnattendedHints,
    attachments, hooks,
};
pub use osier_model::{LookupError, ModelInfo};
pub use osier_session::{
    CommitOutcome, CopyReport, KnownRevision, Session, SessionError, SnapshotOptions, UnavailableStore,
};
pub use osier_store::file::VerifyReport;
pub use osier_store::{DeleteResult, DeletedCounts, LogVersion, StoreError};
pub use osier_tools::ToolContext;
