//! An engine with a hook, in a folder of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt;
use osier_engine::recording_hook::RecordingHook;
use osier_engine::{Engine, EngineConfig, KeepWhen};
use osier_local_engine::{LocalEngine, LocalEngineOptions};
use osier_protocol::{
    Client, ClientCommand, ClientError, ClientEvent, EngineClient, EngineReply, EngineRequest, ListSessions,
    NewSessionOptions, OpenRequest, OpenTarget, OpenedSession, SessionRef,
};
use osier_settings::{Home, HostEnvironment};

pub(crate) struct LocalEngineFixture {
    pub(crate) engine: LocalEngine,
    pub(crate) hook: Arc<RecordingHook>,
    folder: tempfile::TempDir,
}

fn command_variables() -> Vec<(OsString, OsString)> {
    std::env::var_os("PATH").map(|path| ("PATH".into(), path)).into_iter().collect()
}

impl LocalEngineFixture {
    pub(crate) fn new() -> LocalEngineFixture {
        LocalEngineFixture::with(|options, _| options)
    }

    /// With options that may depend on the folder of all directories.
    pub(crate) fn with(
        options: impl FnOnce(LocalEngineOptions, &Path) -> LocalEngineOptions,
    ) -> LocalEngineFixture {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "other", "home"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let host = HostEnvironment {
            folder: folder.path().join("home"),
            user: None,
            variable: |_| None,
            variables: command_variables,
            utc_offset: || 0,
            host_name: || "test".to_owned(),
            launcher: PathBuf::new,
        };
        let (mut home, _) = Home::load(&folder.path().join("work"), host);
        let hook = Arc::new(RecordingHook::default());
        let config = EngineConfig { hooks: hook.registered(), ..home.engine.config().clone() };
        home.engine = Engine::new(config);
        let usual = LocalEngineOptions { has_user: true, keep: KeepWhen::Used, ..Default::default() };
        let options = options(usual, folder.path());
        LocalEngineFixture { engine: LocalEngine::new(home, options), hook, folder }
    }

    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What hooks were asked and saw, without the start and end of agents and sessions.
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        let of_life = ["session_start", "session_shutdown", "session_opened", "session_closed"];
        self.hook.take_calls().into_iter().filter(|call| !of_life.contains(call)).collect()
    }

    pub(crate) async fn open(&self, target: OpenTarget) -> Result<OpenedSession, ClientError> {
        let opened = self.engine.open(OpenRequest { target, leaving: None }).await?;
        Ok(opened.expect("no hook refuses"))
    }

    pub(crate) async fn open_from(&self, leaving: &SessionRef, target: OpenTarget) -> Option<OpenedSession> {
        self.engine.open(OpenRequest { target, leaving: Some(leaving.clone()) }).await.unwrap()
    }

    /// A new session in a directory, with one turn.
    pub(crate) async fn talk_in(&self, directory: &str) -> OpenedSession {
        let cwd = Some(self.directory(directory).to_string_lossy().into_owned());
        let new = NewSessionOptions { cwd, ..NewSessionOptions::default() };
        let opened = self.open(OpenTarget::New(new)).await.unwrap();
        say(&*opened.client, "hello").await;
        opened
    }

    pub(crate) async fn call(&self, request: EngineRequest) -> EngineReply {
        self.engine.call(request).await.unwrap()
    }

    pub(crate) async fn listed(&self) -> usize {
        match self.call(EngineRequest::ListSessions(ListSessions::default())).await {
            EngineReply::Sessions(list) => list.sessions.len(),
            other => panic!("{other:?}"),
        }
    }
}

/// Runs one turn with the offline model.
pub(crate) async fn say(client: &dyn Client, text: &str) {
    let mut events = client.attach(None).await.unwrap().events;
    client.send(ClientCommand::prompt(text)).await.unwrap();
    while !matches!(events.next().await, Some(ClientEvent::TurnEnded { .. })) {}
}
