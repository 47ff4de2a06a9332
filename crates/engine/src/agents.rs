//! Starting agents: for a conversation, for one command, or only to prepare a request.

use std::sync::Arc;

use osier_agent::{AgentConfig, PreparedRequest, Worker};
use osier_model::{ModelInfo, ThinkingLevel};
use osier_protocol::ClientCommand;
use osier_session::Session;
use osier_tools::ApprovalMode;
use osier_tree::Place;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::model_catalog::ModelPreferences;
use crate::workspace::Workspace;

/// What distinguishes an agent from others in its workspace.
#[derive(Debug, Clone)]
pub struct AgentSpec {
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

/// An agent that runs one command.
#[derive(Debug)]
pub struct OneShotAgent {
    pub worker: Worker,
    /// The full name of the model that writes summaries.
    pub model: String,
}

impl Engine {
    /// Starts an agent on the main cursor of a session.
    pub async fn start_agent(
        &self,
        session: &Session,
        workspace: &Workspace,
        spec: &AgentSpec,
    ) -> Result<Worker, EngineError> {
        let is_new = session.version().entries == 0;
        let config = AgentConfig {
            trust_session_approvals: self.is_own_session(session),
            ..workspace.agent_config(spec, self.config().hooks.clone())
        };
        let worker = Worker::start(session.clone(), config).await?;
        let mode = workspace.approval_mode;
        if is_new && mode != ApprovalMode::default() && spec.approval.is_none() {
            worker.send(ClientCommand::SetApproval { mode }).await?;
        }
        Ok(worker)
    }

    /// Starts an agent for one command.
    pub async fn start_one_shot(
        &self,
        session: &Session,
        workspace: &Workspace,
        summary: &SummaryModel,
    ) -> Result<OneShotAgent, EngineError> {
        let (model, is_chosen) = workspace.summary_model(session, summary).await?;
        let name = model.full_name();
        let summary_model = is_chosen.then(|| model.clone());
        let config = workspace.one_shot_config(model, summary_model, self.config().hooks.clone());
        Ok(OneShotAgent { worker: Worker::start(session.clone(), config).await?, model: name })
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
