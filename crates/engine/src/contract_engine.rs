//! An engine with one session and a scripted model, behind which every transport runs the contract of clients.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use osier_agent::CompactionConfig;
use osier_model::scripted::{ScriptedModel, ScriptedTurn};
use osier_model::{Environment, Registry, Request};
use osier_protocol::{
    ClientError, EngineClient, EngineReply, EngineRequest, ErrorCode, OpenRequest, OpenedSession,
    SessionInfo, SessionRef,
};
use osier_store::FileStore;
use osier_tools::{CommandEnv, ToolContext, ToolSet};
use tempfile::TempDir;

use crate::agents::AgentSpec;
use crate::config::EngineConfig;
use crate::configured_store::ConfiguredStore;
use crate::create::{KeepWhen, NewSession};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::local_client::LocalClient;
use crate::model_catalog::ModelCatalog;
use crate::recording_hook::RecordingHook;
use crate::workspace::Workspace;

/// See the module documentation.
#[derive(Debug)]
pub struct ContractEngine {
    pub engine: Engine,
    model: ScriptedModel,
    session: SessionRef,
    hook: Arc<RecordingHook>,
    folder: TempDir,
}

impl ContractEngine {
    pub async fn new() -> ContractEngine {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (sessions, caches) = (folder.path().join("sessions"), folder.path().join("cache"));
        let files = Arc::new(FileStore::new(&sessions, Some(caches.clone())));
        let name = "file".to_owned();
        let store = ConfiguredStore::Files { name: name.clone(), folder: sessions, caches, is_own: true };
        let hook = Arc::new(RecordingHook::default());
        let hooks = hook.registered();
        let engine =
            Engine::new(EngineConfig { stores: vec![store], files, hooks, ..EngineConfig::default() });
        let (cwd, agent) = ("/here".to_owned(), "main".to_owned());
        let new = NewSession { store: name, cwd, agent, keep: KeepWhen::Always };
        let live = engine.create(&new).await.expect("a new session");
        let session = SessionRef { store: "file".into(), key: live.session().id().to_owned() };
        ContractEngine { engine, model: ScriptedModel::new([]), session, hook, folder }
    }

    /// A client of the session in this process.
    pub async fn connect(&self) -> Result<LocalClient, EngineError> {
        let live = self.engine.open_at(&self.session.store, &self.session.key).await?;
        self.engine.connect(&live, &self.agent(false)).await
    }

    /// The model's next reply.
    pub fn push_turn(&self, turn: ScriptedTurn) {
        self.model.push(turn);
    }

    /// The last request to the model.
    pub fn last_request(&self) -> Request {
        self.model.requests().pop().expect("the model was called")
    }

    pub fn hook(&self) -> Arc<RecordingHook> {
        self.hook.clone()
    }

    /// The working directory of the agent.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// An agent with tools that asks its user.
    pub fn agent(&self, backtracking: bool) -> AgentSpec {
        scripted_agent(&self.model, self.folder(), backtracking)
    }
}

/// An agent with a scripted model and tools that asks its user, and works in a folder.
pub fn scripted_agent(model: &ScriptedModel, folder: &Path, backtracking: bool) -> AgentSpec {
    let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
    let models = ModelCatalog {
        model: Arc::new(model.clone()),
        registry: Arc::new(Registry::built_in()),
        environment: Environment::new(|_| None),
        default_model: None,
        summary_model: None,
        own_providers: Vec::new(),
    };
    let context = ToolContext::new(folder, folder.join("output"), CommandEnv::new(path));
    // Short conversations can be compacted too.
    let compaction = CompactionConfig { automatic: false, reserve: None, keep_recent: Some(20) };
    let tools = ToolSet::standard();
    let workspace = Workspace { tools, backtracking, compaction, ..Workspace::new(models, context) };
    AgentSpec { has_user: true, ..AgentSpec::new(Arc::new(workspace), Arc::new(ScriptedModel::info())) }
}

#[async_trait]
impl EngineClient for ContractEngine {
    async fn call(&self, request: EngineRequest) -> Result<EngineReply, ClientError> {
        match request {
            EngineRequest::Describe => Ok(EngineReply::Description(Default::default())),
            _ => Err(ClientError::new(ErrorCode::Failed, "this engine has one session")),
        }
    }

    /// Opens the session, whatever the request names.
    async fn open(&self, _: OpenRequest) -> Result<Option<OpenedSession>, ClientError> {
        let client = self.connect().await?;
        let info = SessionInfo {
            session: self.session.clone(),
            id: self.session.key.as_str().into(),
            ..SessionInfo::default()
        };
        Ok(Some(OpenedSession { info, client: Arc::new(client) }))
    }
}
