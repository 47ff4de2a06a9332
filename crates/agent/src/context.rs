//! The context of an agent: the cursor of a session, the configuration, and the mutable state. The
//! conversation is not kept here; it is read from the path.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use osier_model::CancellationToken;
use osier_protocol::{EndedTurn, ExtensionEvent};
use osier_session::{Commit, CommitOutcome, Cursor, Session, SessionState, StoredEntry};
use osier_store::StoreError;
use osier_tools::ToolSpec;
use osier_tools::approvals::{ApprovalMode, Approvals};
use osier_tree::scan::RawJson;
use osier_tree::time::Millis;
use osier_tree::{EntryDraft, Place, PlanError, Seq, SessionTree};
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::backtrack;
use crate::config::AgentConfig;
use crate::error::AgentError;
use crate::hooks::{HookLifetime, ResponseHead};
use crate::live_events::{ClientId, LiveSender};
use crate::model_choice::UserChoice;
use crate::questions::OpenQuestions;
use crate::queue::QueuedPrompts;
use crate::side_state::SideStateReplay;
use crate::unstored::UnstoredResults;
use crate::weak_worker::WeakWorker;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct AgentContext {
    pub(crate) session: Session,
    pub(crate) cursor: Cursor,
    pub(crate) config: AgentConfig,
    pub(crate) live: LiveSender,
    pub(crate) side_state_replay: tokio::sync::Mutex<SideStateReplay>,
    pub(crate) unstored: UnstoredResults,
    /// Held while hooks are asked about a prompt, so that prompts stay in order.
    pub(crate) command_order: tokio::sync::Mutex<()>,
    /// The loop of this agent, for hooks.
    pub(crate) worker: OnceLock<WeakWorker>,
    state: Mutex<AgentState>,
}

/// The mutable state. Each part has one module that changes it. One lock guards all of them: send live events about a change
/// before releasing it, so that clients see them in order. It has many fields because a change of one part often depends on others, and
/// one lock keeps them together.
#[derive(Debug, Default)]
pub(crate) struct AgentState {
    pub(crate) turn_running: bool,
    /// When it started.
    pub(crate) turn_started: Option<Millis>,
    /// Canceled with the turn that runs.
    pub(crate) cancel_turn: CancellationToken,
    pub(crate) last_turn: Option<EndedTurn>,
    pub(crate) prompts: QueuedPrompts,
    pub(crate) questions: OpenQuestions,
    pub(crate) user_choice: UserChoice,
    pub(crate) approval_mode: Option<ApprovalMode>,
    /// What the user allowed in this run, if the session's own approvals are not trusted.
    pub(crate) run_approvals: Approvals,
    /// The cost of failed summaries and replies, as `usage` entries that are not stored yet.
    pub(crate) unrecorded_usage: Vec<Value>,
    /// Canceled with the prompts that hooks are still asked about.
    pub(crate) cancel_prompts: CancellationToken,
    /// Canceled with the commands that hooks run now.
    pub(crate) cancel_commands: CancellationToken,
    pub(crate) lifetime: HookLifetime,
    /// The head of the last response over HTTP, until hooks learn it.
    pub(crate) last_response: ResponseHead,
    /// The client whose user acted last.
    pub(crate) active_client: Option<ClientId>,
    /// A client was attached.
    pub(crate) has_clients: bool,
    /// What extensions showed before the first client was attached.
    pub(crate) unseen: Vec<ExtensionEvent>,
    /// What extensions keep on the screen.
    pub(crate) kept: Vec<ExtensionEvent>,
}

impl AgentContext {
    pub(crate) fn new(cursor: Cursor, config: AgentConfig) -> AgentContext {
        let session = cursor.session().clone();
        let agent_state = AgentState {
            user_choice: UserChoice::new(config.chosen_model.clone(), config.chosen_thinking),
            approval_mode: config.approval_mode,
            ..AgentState::default()
        };
        AgentContext {
            live: LiveSender::new(session.clone()),
            session,
            cursor,
            config,
            side_state_replay: tokio::sync::Mutex::default(),
            unstored: UnstoredResults::default(),
            command_order: tokio::sync::Mutex::default(),
            worker: OnceLock::new(),
            state: Mutex::new(agent_state),
        }
    }

    /// Locks the state. Never hold the lock across an `await`.
    pub(crate) fn state(&self) -> MutexGuard<'_, AgentState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a message at the cursor.
    pub(crate) async fn append_message(&self, message: &Value) -> Result<StoredEntry, AgentError> {
        let line = message.to_string().into_bytes();
        self.commit(move |tree, at| plan_message(tree, at, &line)).await
    }

    pub(crate) async fn commit(
        &self,
        plan: impl Fn(&SessionTree, Place) -> Result<EntryDraft, PlanError> + Send + Sync + 'static,
    ) -> Result<StoredEntry, AgentError> {
        self.store_commit(Commit::new(plan)).await
    }

    /// Stores an entry at the cursor, after the results that still wait for the store.
    pub(crate) async fn store_commit(&self, commit: Commit) -> Result<StoredEntry, AgentError> {
        self.store_unstored().await?;
        self.store_now(commit).await
    }

    pub(crate) async fn store_now(&self, commit: Commit) -> Result<StoredEntry, AgentError> {
        match self.cursor.commit(commit).await? {
            CommitOutcome::Stored(stored) => Ok(stored),
            CommitOutcome::Nothing | CommitOutcome::Cancelled => Err(AgentError::RefusedByGate),
        }
    }

    /// The current session state, and the position of the cursor in it.
    pub(crate) fn position(&self) -> (Arc<SessionState>, Place) {
        self.cursor.state_and_place()
    }

    pub(crate) async fn read_lines(
        &self,
        state: &SessionState,
        wanted: &[Seq],
    ) -> Result<FxHashMap<Seq, Vec<u8>>, AgentError> {
        read_lines(&self.session, state, wanted).await
    }

    /// The tools that the model may call.
    pub(crate) fn tool_specs(&self) -> Vec<ToolSpec> {
        let mut specs = self.config.tools.specs();
        if self.config.backtracking {
            specs.retain(|spec| spec.name != backtrack::TOOL_NAME);
            specs.push(backtrack::tool_spec());
        }
        specs
    }

    pub(crate) fn timestamp(&self) -> i64 {
        self.session.env().clock.now()
    }
}

pub(crate) fn plan_message(tree: &SessionTree, at: Place, message: &[u8]) -> Result<EntryDraft, PlanError> {
    let message = RawJson::parse(message)
        .map_err(|_| PlanError::NotAnEntry { reason: "a message must be a JSON object" })?;
    tree.plan_message(at, message)
}

/// The lines of some entries.
pub(crate) async fn read_lines(
    session: &Session,
    state: &SessionState,
    wanted: &[Seq],
) -> Result<FxHashMap<Seq, Vec<u8>>, AgentError> {
    let mut lines = FxHashMap::default();
    session
        .for_each_line(state.version, wanted, |seq, line| {
            lines.insert(seq, line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok(lines)
}
