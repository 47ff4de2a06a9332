//! Starting agents: for a conversation, for one command, or only to prepare a request.

use std::sync::Arc;

use osier_agent::hooks::SessionStartReason;
use osier_agent::{AgentConfig, AgentModels, Hooks, PreparedRequest, Worker};
use osier_model::{ModelInfo, ThinkingLevel};
use osier_protocol::ClientCommand;
use osier_session::{Cursor, CursorId, Session};
use osier_tools::ApprovalMode;
use osier_tree::Place;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::live_agents::{AgentConnection, LiveAgent};
use crate::live_sessions::LiveSession;
use crate::local_client::LocalClient;
use crate::model_catalog::ModelPreferences;
use crate::subagents::ParentAgent;
use crate::subagents::task_tools::{Delegation, TaskTools};
use crate::tool_limit::{LimitedTools, ToolLimit};
use crate::workspace::Workspace;

/// The agent to start.
#[derive(Debug, Clone)]
pub struct AgentSpec {
    /// What it has in common with other agents of its directory.
    pub workspace: Arc<Workspace>,
    pub model: Arc<ModelInfo>,
    /// Use the model even if the path of the session names another one.
    pub overrides_session: bool,
    /// The thinking level that the user named for this run.
    pub thinking: Option<ThinkingLevel>,
    /// The approval mode that the user named for this run. It is not stored.
    pub approval: Option<ApprovalMode>,
    /// Writes summaries; `None` means the model in use.
    pub summary_model: Option<Arc<ModelInfo>>,
    /// Whether a user is present to answer questions.
    pub has_user: bool,
    /// It runs one command, which may need a summary. It has no tools and asks nothing.
    pub is_one_shot: bool,
    /// What hooks learn at its start.
    pub start: AgentStart,
    /// The agent that it works for, if it is a sub-agent.
    pub parent: Option<ParentAgent>,
    /// Another agent whose tools are the limit; `None` for the agent of a conversation.
    pub tool_limit: Option<ToolLimit>,
}

/// Why an agent starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentStart {
    pub reason: SessionStartReason,
    /// The file or id of the session that the client left for this one.
    pub previous_session_file: Option<String>,
}

impl AgentSpec {
    /// An agent for a conversation without a user who answers questions.
    pub fn new(workspace: Arc<Workspace>, model: Arc<ModelInfo>) -> AgentSpec {
        AgentSpec {
            workspace,
            model,
            overrides_session: false,
            thinking: None,
            approval: None,
            summary_model: None,
            has_user: false,
            is_one_shot: false,
            start: AgentStart::default(),
            parent: None,
            tool_limit: None,
        }
    }

    /// An agent for one command on a session.
    pub async fn one_shot(
        workspace: Arc<Workspace>,
        session: &Session,
        summary: &SummaryModel,
    ) -> Result<AgentSpec, EngineError> {
        let (model, is_chosen) = workspace.summary_model(session, summary).await?;
        let summary_model = is_chosen.then(|| model.clone());
        Ok(AgentSpec { summary_model, is_one_shot: true, ..AgentSpec::new(workspace, model) })
    }

    fn agent_config(&self, hooks: Arc<Hooks>) -> AgentConfig {
        match self.is_one_shot {
            true => self.workspace.one_shot_config(self.model.clone(), self.summary_model.clone(), hooks),
            false => self.workspace.agent_config(self, hooks),
        }
    }
}

/// Which model writes the summary that a command needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SummaryModel {
    /// No model is called.
    Unused,
    /// The model of the settings, else the model of the session.
    #[default]
    Default,
    Named(String),
}

impl From<Option<String>> for SummaryModel {
    fn from(name: Option<String>) -> SummaryModel {
        name.map_or(SummaryModel::Default, SummaryModel::Named)
    }
}

impl Engine {
    /// Connects a client to the agent of a session, which all clients of the process share.
    pub async fn connect(
        &self,
        live: &Arc<LiveSession>,
        spec: &AgentSpec,
    ) -> Result<LocalClient, EngineError> {
        self.start_agent(live, live.session().main_cursor(), spec).await
    }

    /// Connects to the agent of a session, if one works there now.
    pub async fn connect_if_running(&self, live: &LiveSession) -> Option<LocalClient> {
        live.running_agent().await.map(LocalClient::new)
    }

    /// Starts an agent on a cursor of a session and connects a client to it. If an agent already works there, the client
    /// shares it, and `spec` has no effect: its owner chose its model and its tools. The one exception is an agent that
    /// runs only one command; a conversation waits for its end.
    pub async fn start_agent(
        &self,
        live: &Arc<LiveSession>,
        cursor: Cursor,
        spec: &AgentSpec,
    ) -> Result<LocalClient, EngineError> {
        let agent = match live.agents.find(cursor.id(), spec.is_one_shot).await {
            Ok(agent) => agent,
            Err(vacant) => {
                if cursor.id() == CursorId::MAIN && spec.parent.is_none() {
                    self.finish_interrupted_explores(live).await?;
                }
                let worker = self.start_worker(live, cursor, spec).await?;
                let agent = LiveAgent::new(worker, live.clone(), self.clone(), spec.clone());
                vacant.insert(&agent);
                // The hooks may connect to the agent too.
                let AgentStart { reason, previous_session_file } = spec.start.clone();
                agent.worker.announce_start(reason, previous_session_file).await;
                agent
            }
        };
        Ok(LocalClient::new(AgentConnection::new(agent)))
    }

    async fn start_worker(
        &self,
        live: &LiveSession,
        cursor: Cursor,
        spec: &AgentSpec,
    ) -> Result<Worker, EngineError> {
        let session = live.session();
        let is_new = session.version().entries == 0;
        let mut config = AgentConfig {
            trust_session_approvals: self.is_own_session(session),
            parent: spec.parent.as_ref().map(|parent| parent.agent.clone()),
            ..spec.agent_config(self.config().hooks.clone())
        };
        if !spec.is_one_shot {
            let hooks = &self.config().hooks;
            if spec.tool_limit.as_ref().is_none_or(|limit| limit.allows_hook_tools) {
                config.tools = hooks.extend_tools(session, config.tools);
            }
            if let Some(limit) = &spec.tool_limit {
                config.tools = Arc::new(LimitedTools::new(config.tools, limit.clone()));
            }
            let models = AgentModels { model: config.model, lookup: config.model_lookup };
            let AgentModels { model, lookup } = hooks.extend_models(session, models);
            (config.model, config.model_lookup) = (model, lookup);
        }
        let delegation = Delegation::new(self, live, spec, &config.tools);
        if let Some(delegation) = &delegation {
            config.tools = Arc::new(TaskTools::new(delegation.clone()));
        }
        let worker = Worker::start_at(cursor, config).await?;
        if let Some(delegation) = delegation {
            delegation.set_agent(worker.handle());
        }
        let (id, model) = (session.id(), spec.model.full_name());
        tracing::debug!(session = id, %model, one_shot = spec.is_one_shot, "an agent starts");
        let mode = spec.workspace.approval_mode;
        let sets_mode = spec.approval.is_none() && !spec.is_one_shot && spec.parent.is_none();
        if is_new && mode != ApprovalMode::default() && sets_mode {
            worker.send(ClientCommand::SetApproval { mode }).await?;
        }
        Ok(worker)
    }

    /// The request that a prompt at a place of a session would send. Writes nothing.
    pub async fn prepare_request(
        &self,
        session: &Session,
        workspace: &Workspace,
        at: Place,
    ) -> Result<PreparedRequest, EngineError> {
        let model = workspace.models.select(ModelPreferences::default()).map_err(EngineError::Model)?.model;
        let config = AgentConfig {
            default_thinking: workspace.thinking,
            backtracking: workspace.backtracking,
            ..workspace.one_shot_config(model, None, self.config().hooks.clone())
        };
        Ok(Worker::start(session.clone(), config).await?.request_at(at).await?)
    }
}
