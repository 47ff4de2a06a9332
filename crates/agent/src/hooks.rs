//! Hooks: how extensions and programs take part in what an agent does, whichever client asked for it.
//!
//! A hook is a [`Hook`] with a name, a time-out and a meaning of failure: [`RegisteredHook`]. Any number is registered in
//! [`Hooks`]. They are asked one after another, in the order of registration, and each sees what the ones before it changed.
//!
//! - A *gate* is a method with an answer. The default answer means "no opinion". The first refusal ends an operation: later
//!   hooks are not asked, nothing changes, and the reply says `cancelled`, without an error.
//! - [`Hook::observe`] receives events: what happened. It cannot change anything. The operation continues when all hooks have
//!   returned.
//!
//! A hook fails if it returns an error, panics, or does not answer in time. A failure never stops the agent: users get a
//! notice, the log gets a line, and the other hooks are asked. It counts as "no opinion", except that a failure of a hook
//! registered with [`OnFailure::Refuse`] refuses the operation, and that any failure in [`Hook::before_tool_call`] blocks
//! the call.
//!
//! | module | content |
//! |---|---|
//! | `preparation.rs` | what gates are asked, and what they answer |
//! | `event.rs` | the events that observers receive |
//! | `registry.rs`, `chain.rs` | the registered hooks; asking them one after another |
//! | `agent.rs`, `client.rs`, `lifetime.rs` | the hooks of an agent; around the commands of clients; at its start and end |
//! | `request_observer.rs` | the headers of requests over HTTP |
//! | `command.rs` | commands that hooks add |

mod agent;
mod chain;
mod client;
mod command;
mod event;
mod lifetime;
mod preparation;
mod registry;
mod request_observer;

use std::fmt::{self, Debug};
use std::sync::Arc;

use async_trait::async_trait;
use osier_model::{CancellationToken, Request};
use osier_protocol::ExtensionInput;
use osier_session::Session;
use osier_tools::user_bash::UserCommand;
use osier_tools::{ToolCall, ToolOutcome, Toolbox};
use osier_tree::EntryId;
use serde_json::Value;

pub(crate) use agent::entry_id;
pub(crate) use chain::ToolCallOutcome;
pub use command::{CommandDecision, CommandLine, HookCommand};
pub use event::{HookEvent, SessionEndReason, SessionStartReason};
pub(crate) use lifetime::HookLifetime;
pub use preparation::{
    CompactionDecision, CompactionPreparation, ExtensionCompaction, ExtensionSummary, ForkPosition,
    ForkPreparation, MoveDecision, MovePreparation, Permission, PromptDecision, PromptPreparation,
    RequestPurpose, StepChange, StepEnd, StoredPrompt, SwitchPreparation, SwitchReason, ToolCallDecision,
    ToolResultChange, TurnChange, TurnSettle, UserCommandDecision,
};
pub use registry::{DEFAULT_TIMEOUT, Hooks, OnFailure, RegisteredHook};
pub(crate) use request_observer::ResponseHead;

use crate::config::AgentModels;
use crate::live_events::LiveSender;
pub use crate::live_events::ShownWork;
use crate::prompt_library::PromptLibrary;
use crate::weak_worker::WeakWorker;

/// The answer of a hook, or why it failed.
pub type HookResult<T> = Result<T, HookError>;

/// Takes part in what agents do. Every method has a default that changes nothing. Methods must not block their thread.
///
/// The names in quotes are those of pi's extension events.
#[async_trait]
pub trait Hook: Send + Sync + Debug {
    /// The tools of an agent that starts in a session: those that it has, with others added or replaced.
    fn extend_tools(&self, _: &Session, tools: Arc<dyn Toolbox>) -> Arc<dyn Toolbox> {
        tools
    }

    /// The models of an agent that starts in a session: those that it has, with others added or replaced.
    fn extend_models(&self, _: &Session, models: AgentModels) -> AgentModels {
        models
    }

    /// The commands that this hook adds to a session. The user types them with a slash.
    fn commands(&self, _: &Session) -> Vec<HookCommand> {
        Vec::new()
    }

    /// Runs a command of this hook. There is no time-out: it may wait for the user. The hook reports failures itself, and says so if
    /// it was canceled.
    async fn run_command(&self, _: &CommandLine, _: &HookContext<'_>) -> CommandDecision {
        CommandDecision::Unknown
    }

    /// A client sent input for extensions.
    fn receive_input(&self, _: &Session, _: &ExtensionInput) {}

    /// "session_before_tree": before the leaf moves, with or without a summary. Asked for moves, undo, redo, and undoing a
    /// compaction.
    async fn before_move(&self, _: &MovePreparation, _: &HookContext<'_>) -> HookResult<MoveDecision> {
        Ok(MoveDecision::default())
    }

    /// "session_before_compact": before a path is compacted, by a command or automatically.
    async fn before_compaction(
        &self,
        _: &CompactionPreparation,
        _: &HookContext<'_>,
    ) -> HookResult<CompactionDecision> {
        Ok(CompactionDecision::default())
    }

    /// "session_before_fork": before a path is copied into a new session.
    async fn before_fork(&self, _: &ForkPreparation, _: &HookContext<'_>) -> HookResult<Permission> {
        Ok(Permission::Allow)
    }

    /// "session_before_switch": before a client leaves the session for another one.
    async fn before_switch(&self, _: &SwitchPreparation, _: &HookContext<'_>) -> HookResult<Permission> {
        Ok(Permission::Allow)
    }

    /// "input": a prompt of the user arrived. Templates and attached files are not expanded yet. Not asked for messages
    /// of extensions.
    async fn before_prompt(&self, _: &PromptPreparation, _: &HookContext<'_>) -> HookResult<PromptDecision> {
        Ok(PromptDecision::Continue)
    }

    /// "before_agent_start": a prompt is stored and starts a turn. The returned messages are stored after it. Asked once per
    /// prompt that starts a turn; queued prompts are delivered into a running one.
    async fn before_turn(&self, _: &StoredPrompt, _: &HookContext<'_>) -> HookResult<TurnChange> {
        Ok(TurnChange::default())
    }

    /// "context": the messages of the next model call, as the path has them: without system messages, and with those of commands,
    /// summaries and extensions in their own roles. Returned messages replace them in this request; nothing is stored. Osier converts
    /// them to what is sent, pairs calls with results, and adds markers. Asked only of hooks that want it.
    async fn edit_context(&self, _: &[Value], _: &HookContext<'_>) -> HookResult<Option<Vec<Value>>> {
        Ok(None)
    }

    /// "before_provider_request": a complete request, for a reply or a summary. A returned request replaces it.
    async fn before_request(
        &self,
        _: &Request,
        _: RequestPurpose,
        _: &HookContext<'_>,
    ) -> HookResult<Option<Request>> {
        Ok(None)
    }

    /// "tool_call": the model called a tool. Asked before the user is asked for approval, so that the user approves the call
    /// that runs.
    async fn before_tool_call(&self, _: &ToolCall, _: &HookContext<'_>) -> HookResult<ToolCallDecision> {
        Ok(ToolCallDecision::Continue)
    }

    /// "tool_result": a call has run. Returned fields replace those of the result before it is stored.
    async fn edit_tool_result(
        &self,
        _: &ToolCall,
        _: &ToolOutcome,
        _: &HookContext<'_>,
    ) -> HookResult<ToolResultChange> {
        Ok(ToolResultChange::default())
    }

    /// "message_end": a message of a turn is complete and is stored next. A returned message with the same role replaces it. Not
    /// asked for messages of extensions.
    async fn edit_message(&self, _: &Value, _: &HookContext<'_>) -> HookResult<Option<Value>> {
        Ok(None)
    }

    /// "turn_end": a reply and the results of its calls are stored.
    async fn after_step(&self, _: &StepEnd, _: &HookContext<'_>) -> HookResult<StepChange> {
        Ok(StepChange::default())
    }

    /// "agent_before_settle": a turn would end now. Asked once after each model call, and only of hooks that want it.
    async fn before_settle(&self, _: &TurnSettle, _: &HookContext<'_>) -> HookResult<StepChange> {
        Ok(StepChange::default())
    }

    /// "user_bash": the user runs a shell command. A failure refuses the command.
    async fn before_user_command(
        &self,
        _: &UserCommand,
        _: &HookContext<'_>,
    ) -> HookResult<UserCommandDecision> {
        Ok(UserCommandDecision::Run)
    }

    /// "before_provider_headers": the headers of a request over HTTP, without those that contain a key. Returned headers replace
    /// them.
    async fn edit_headers(
        &self,
        _: &[(String, String)],
        _: &HookContext<'_>,
    ) -> HookResult<Option<Vec<(String, String)>>> {
        Ok(None)
    }

    /// "resources_discover": folders with more templates and skills.
    fn prompt_folders(&self, _: &Session) -> PromptLibrary {
        PromptLibrary::default()
    }

    /// Whether the hook takes part in an event that not every hook gets: `message_start`, `message_update`, `message_end`,
    /// `tool_execution_start`, `tool_execution_update`, `tool_execution_end`, `agent_before_settle`, `agent_settled` or `context`.
    fn wants(&self, _: &Session, _event: &str) -> bool {
        false
    }

    /// Something happened.
    async fn observe(&self, _: &HookEvent, _: &HookContext<'_>) -> HookResult<()> {
        Ok(())
    }
}

/// Where a hook is asked.
#[derive(Debug, Clone, Copy)]
pub struct HookContext<'a> {
    /// The session that the hook is asked about. Entries are read from here, by the ids that hooks get.
    pub session: &'a Session,
    /// The position of the agent, or the leaf of the log.
    pub leaf_id: Option<&'a EntryId>,
    /// Whether a user is present to answer questions.
    pub has_user: bool,
    /// Canceled when the answer is no longer needed.
    pub cancel: &'a CancellationToken,
    /// Reports failures to clients.
    pub(crate) live: Option<&'a LiveSender>,
    /// The agent, if there is one.
    pub agent: Option<&'a WeakWorker>,
}

impl<'a> HookContext<'a> {
    /// For an operation without an agent. Failures are only logged.
    pub fn new(
        session: &'a Session,
        leaf_id: Option<&'a EntryId>,
        cancel: &'a CancellationToken,
    ) -> HookContext<'a> {
        HookContext { session, leaf_id, has_user: false, cancel, live: None, agent: None }
    }

    /// Shows clients that a hook runs a command, or without one, that it checks a prompt, until the result is dropped.
    pub fn show_work(&self, command: Option<&str>) -> Option<ShownWork<'a>> {
        self.live.map(|live| live.show_work(command))
    }
}

/// Why a hook failed, in words for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookError(String);

impl HookError {
    pub fn new(reason: impl Into<String>) -> HookError {
        HookError(reason.into())
    }
}

impl fmt::Display for HookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for HookError {}
