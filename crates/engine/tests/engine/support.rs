//! An engine with a file store and a scripted model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt;
use osier_engine::{
    AgentSpec, ConfiguredStore, Engine, EngineConfig, FindOptions, KeepWhen, LiveSession, NewSession,
    StoredSession, scripted_agent,
};
use osier_model::scripted::{ScriptedModel, ScriptedTurn};
use osier_protocol::{ClientEvent, EventStream};
use osier_store::FileStore;
use tempfile::TempDir;

/// How long a test waits for something that must happen.
pub(crate) const LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

/// The next event.
pub(crate) async fn next_event(events: &mut EventStream) -> ClientEvent {
    let next = tokio::time::timeout(LIMIT, events.next()).await.expect("an event comes in time");
    next.expect("the session is open")
}

pub(crate) async fn until_turn_end(events: &mut EventStream) {
    while !matches!(next_event(events).await, ClientEvent::TurnEnded { .. }) {}
}

pub(crate) struct TestEngine {
    pub(crate) engine: Engine,
    pub(crate) model: ScriptedModel,
    pub(crate) folder: TestFolder,
}

/// A folder that is removed with the engine, or one that outlives it.
pub(crate) enum TestFolder {
    Temporary(TempDir),
    Kept(PathBuf),
}

impl TestFolder {
    pub(crate) fn path(&self) -> &Path {
        match self {
            TestFolder::Temporary(folder) => folder.path(),
            TestFolder::Kept(folder) => folder,
        }
    }
}

impl TestEngine {
    pub(crate) fn new() -> TestEngine {
        TestEngine::with_config(EngineConfig::default())
    }

    /// An engine with this configuration and a file store.
    pub(crate) fn with_config(config: EngineConfig) -> TestEngine {
        let folder = tempfile::tempdir().unwrap();
        let sessions = folder.path().join("sessions");
        TestEngine::with_sessions_in(sessions, folder, config)
    }

    /// An engine in a folder that outlives it.
    pub(crate) fn in_folder(folder: &Path, config: EngineConfig) -> TestEngine {
        TestEngine::build(folder.join("sessions"), TestFolder::Kept(folder.to_owned()), config)
    }

    /// The same with another folder for the sessions.
    pub(crate) fn with_sessions_in(sessions: PathBuf, folder: TempDir, config: EngineConfig) -> TestEngine {
        TestEngine::build(sessions, TestFolder::Temporary(folder), config)
    }

    fn build(sessions: PathBuf, folder: TestFolder, config: EngineConfig) -> TestEngine {
        let caches = folder.path().join("cache");
        let files = Arc::new(FileStore::new(&sessions, Some(caches.clone())));
        let name = "file".to_owned();
        let store = ConfiguredStore::Files { name, folder: sessions, caches, is_own: true };
        let engine = Engine::new(EngineConfig { stores: vec![store], files, ..config });
        TestEngine { engine, model: ScriptedModel::new([]), folder }
    }

    pub(crate) async fn create(&self, keep: KeepWhen) -> Arc<LiveSession> {
        let (store, cwd, agent) = ("file".to_owned(), "/here".to_owned(), "main".to_owned());
        self.engine.create(&NewSession { store, cwd, agent, keep }).await.unwrap()
    }

    pub(crate) async fn find(&self, name: &str) -> StoredSession {
        self.engine.find(name, FindOptions::default()).await.unwrap().read().await.unwrap()
    }

    pub(crate) async fn open(&self, name: &str) -> Arc<LiveSession> {
        self.engine.open(&self.find(name).await).await.unwrap()
    }

    pub(crate) fn push_turn(&self, turn: ScriptedTurn) {
        self.model.push(turn);
    }

    /// An agent with tools that asks its user.
    pub(crate) fn agent(&self) -> AgentSpec {
        scripted_agent(&self.model, self.folder.path(), false)
    }
}
