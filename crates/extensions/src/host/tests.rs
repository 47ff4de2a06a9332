//! Extensions in an engine with a scripted model. They run in a thread of the test.

mod api_members;
mod boundaries;
mod branching;
mod bus;
mod components;
mod event_types;
mod examples;
mod gates;
mod hostile;
mod keys;
mod limits;
mod models;
mod node;
mod observers;
mod requests;
mod restarts;
mod screen;
mod seeds;
mod sessions;
mod sidecar;
mod system_prompt;
mod tools;
mod turn_gates;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use osier_agent::hooks::SessionStartReason;
use osier_engine::{
    AgentSpec, AgentStart, ConfiguredStore, Engine, EngineConfig, Hooks, KeepWhen, LocalClient, ModelCatalog,
    NewSession, Workspace,
};
use osier_model::scripted::{ScriptedModel, ScriptedTurn};
use osier_model::{Environment, Message, Registry};
use osier_protocol::{Client, ClientCommand, ClientEvent, CommandReply, EventStream, ExtensionEvent};
use osier_store::FileStore;
use osier_tools::{CommandEnv, ToolContext, ToolSet};
use serde_json::Value;
use tempfile::TempDir;

use super::{ExtensionHost, ExtensionLauncher, ExtensionMode, ExtensionOptions, FlagValues};
use crate::source::{ExtensionCatalog, ExtensionOrigin, ExtensionSource};

/// A session with extensions.
struct TestSession {
    engine: Engine,
    client: LocalClient,
    host: Arc<ExtensionHost>,
    model: ScriptedModel,
    events: EventStream,
    folder: TempDir,
}

/// Writes extensions into a folder.
fn write_files(extensions: &[&str]) -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let write = |(number, text): (usize, &&str)| {
        let path = folder.path().join(format!("extension{number}.ts"));
        std::fs::write(&path, text).unwrap();
        path
    };
    let files = extensions.iter().enumerate().map(write).collect();
    (folder, files)
}

impl TestSession {
    /// A session with these extensions, which may do everything, and a model with these replies.
    async fn new(extensions: &[&str], turns: impl IntoIterator<Item = ScriptedTurn>) -> TestSession {
        let (folder, files) = write_files(extensions);
        TestSession::start(folder, &files, turns, ExtensionMode::Rpc).await
    }

    /// Like `new`, with the only client being a terminal.
    async fn in_terminal(extensions: &[&str], turns: impl IntoIterator<Item = ScriptedTurn>) -> TestSession {
        let (folder, files) = write_files(extensions);
        TestSession::start(folder, &files, turns, ExtensionMode::Terminal).await
    }

    /// Like `new`, with extensions that exist.
    async fn with_files(files: &[PathBuf], turns: impl IntoIterator<Item = ScriptedTurn>) -> TestSession {
        TestSession::start(tempfile::tempdir().unwrap(), files, turns, ExtensionMode::Rpc).await
    }

    async fn start(
        folder: TempDir,
        files: &[PathBuf],
        turns: impl IntoIterator<Item = ScriptedTurn>,
        mode: ExtensionMode,
    ) -> TestSession {
        let data_folder = folder.path().join("data");
        TestSession::start_with_data(folder, files, turns, mode, data_folder).await
    }

    async fn start_with_data(
        folder: TempDir,
        files: &[PathBuf],
        turns: impl IntoIterator<Item = ScriptedTurn>,
        mode: ExtensionMode,
        data_folder: PathBuf,
    ) -> TestSession {
        let source =
            |path: &PathBuf| ExtensionSource { path: path.clone(), origin: ExtensionOrigin::CommandLine };
        let sources: Vec<ExtensionSource> = files.iter().map(source).collect();
        TestSession::start_with_catalog(folder, Box::new(sources), turns, mode, data_folder).await
    }

    async fn start_with_catalog(
        folder: TempDir,
        catalog: Box<dyn ExtensionCatalog>,
        turns: impl IntoIterator<Item = ScriptedTurn>,
        mode: ExtensionMode,
        data_folder: PathBuf,
    ) -> TestSession {
        let host = ExtensionHost::new(ExtensionOptions {
            catalog,
            launcher: ExtensionLauncher::Thread,
            mode,
            data_folder,
            protected: Vec::new(),
            themes: vec!["dark".to_owned()],
            variables: std::env::vars_os().filter(|(name, _)| name == "PATH").collect(),
            flags: FlagValues::default(),
            client_commands: vec!["agents".to_owned()],
        });
        let engine = engine(&folder, &host);
        host.set_engine(engine.clone());
        let cwd = folder.path().to_string_lossy().into_owned();
        let new =
            NewSession { store: "file".to_owned(), cwd, agent: "main".to_owned(), keep: KeepWhen::Always };
        let live = engine.create(&new).await.unwrap();
        let model = ScriptedModel::new(turns);
        let client = engine.connect(&live, &agent(&folder, &model)).await.unwrap();
        // A client that gives up does not take what waits for the first one.
        let attached = match client.attach(None).now_or_never() {
            Some(attached) => attached,
            None => client.attach(None).await,
        };
        let events = attached.unwrap().events;
        TestSession { engine, client, host, model, events, folder }
    }

    /// Does what a client does that opens a new session instead of this one.
    async fn open_instead(&self) -> TestSession {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().to_string_lossy().into_owned();
        let new =
            NewSession { store: "file".to_owned(), cwd, agent: "main".to_owned(), keep: KeepWhen::Always };
        let live = self.engine.create(&new).await.unwrap();
        let previous_session_file = Some(osier_engine::session_location(self.client.live().session()));
        let start = AgentStart { reason: SessionStartReason::New, previous_session_file };
        let spec = AgentSpec { start, ..agent(&folder, &self.model) };
        let client = self.engine.connect(&live, &spec).await.unwrap();
        let events = client.attach(None).await.unwrap().events;
        TestSession {
            engine: self.engine.clone(),
            client,
            host: self.host.clone(),
            model: self.model.clone(),
            events,
            folder,
        }
    }

    /// The extensions of the session.
    fn extensions(&self) -> Arc<super::session::SessionExtensions> {
        self.host.loaded(self.client.live().session()).expect("they are loaded")
    }

    /// The working directory.
    fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    async fn send(&self, text: &str) -> CommandReply {
        self.client_send(ClientCommand::prompt(text)).await
    }

    async fn client_send(&self, command: ClientCommand) -> CommandReply {
        self.client.send(command).await.unwrap()
    }

    /// Sends a prompt and waits for the end of its turn.
    async fn turn(&mut self, text: &str) {
        self.send(text).await;
        self.turn_ended().await;
    }

    async fn turn_ended(&mut self) {
        self.until(|event| matches!(event, ClientEvent::TurnEnded { .. })).await;
    }

    async fn request_texts_when_done(&mut self) -> Vec<String> {
        self.turn_ended().await;
        self.request_texts()
    }

    async fn until(&mut self, fits: impl Fn(&ClientEvent) -> bool) -> ClientEvent {
        use futures_util::StreamExt;
        loop {
            let event = self.events.next().await.expect("the session is open");
            if fits(&event) {
                return event;
            }
        }
    }

    /// The next notification.
    async fn notified(&mut self) -> String {
        let event =
            self.until(|event| matches!(event, ClientEvent::Extension(ExtensionEvent::Notify { .. }))).await;
        match event {
            ClientEvent::Extension(ExtensionEvent::Notify { message, .. }) => message,
            _ => String::new(),
        }
    }

    /// The next line of an extension's log.
    async fn logged(&mut self) -> String {
        let event =
            self.until(|event| matches!(event, ClientEvent::Extension(ExtensionEvent::Log { .. }))).await;
        match event {
            ClientEvent::Extension(ExtensionEvent::Log { text, .. }) => text,
            _ => String::new(),
        }
    }

    /// The next failure: its event and its text.
    async fn failed(&mut self) -> (String, String) {
        let (event, error, _) = self.failed_at().await;
        (event, error)
    }

    /// The next failure, and where it happened.
    async fn failed_at(&mut self) -> (String, String, Vec<String>) {
        let event =
            self.until(|event| matches!(event, ClientEvent::Extension(ExtensionEvent::Failed { .. }))).await;
        match event {
            ClientEvent::Extension(ExtensionEvent::Failed { event, error, stack, .. }) => {
                (event, error, stack)
            }
            _ => Default::default(),
        }
    }

    /// The texts of the last request to the model.
    fn request_texts(&self) -> Vec<String> {
        let request = self.model.requests().pop().expect("the model was called");
        let text = |message: &Message| match message {
            Message::User(message) => message.text(),
            Message::Assistant(message) => message.text(),
            Message::ToolResult(message) => message.text(),
            Message::System(_) => String::new(),
        };
        request.messages.iter().map(text).collect()
    }

    /// The stored entries.
    async fn entries(&self) -> Vec<Value> {
        let session = self.client.live().session();
        let all: Vec<_> = (0..session.version().entries).map(osier_tree::Seq::new).collect();
        let mut entries = Vec::new();
        session
            .for_each_line(session.version(), &all, |_, line| {
                entries.push(serde_json::from_slice(line).unwrap());
                Ok::<_, osier_store::StoreError>(())
            })
            .await
            .unwrap();
        entries
    }
}

fn engine(folder: &TempDir, host: &Arc<ExtensionHost>) -> Engine {
    let (sessions, caches) = (folder.path().join("sessions"), folder.path().join("cache"));
    let files = Arc::new(FileStore::new(&sessions, Some(caches.clone())));
    let store = ConfiguredStore::Files { name: "file".to_owned(), folder: sessions, caches, is_own: true };
    let hooks = Arc::new(Hooks::new(vec![host.registered()]));
    Engine::new(EngineConfig { stores: vec![store], files, hooks, ..EngineConfig::default() })
}

fn agent(folder: &TempDir, model: &ScriptedModel) -> AgentSpec {
    let models = ModelCatalog {
        model: Arc::new(model.clone()),
        registry: Arc::new(Registry::built_in()),
        environment: Environment::new(|_| None),
        default_model: None,
        summary_model: None,
        own_providers: Vec::new(),
    };
    let context = ToolContext::new(folder.path(), folder.path().join("output"), CommandEnv::new([]));
    let workspace = Workspace { tools: ToolSet::standard(), ..Workspace::new(models, context) };
    AgentSpec { has_user: true, ..AgentSpec::new(Arc::new(workspace), Arc::new(ScriptedModel::info())) }
}

#[tokio::test]
async fn a_broken_extension_is_reported_and_the_rest_load() {
    let good =
        "export default (pi) => pi.registerCommand('good', { handler: (_, ctx) => ctx.ui.notify('fine') });";
    let mut session = TestSession::new(&["export default 7;", "const = ;", good], []).await;
    let (event, error) = session.failed().await;
    assert_eq!(event, "load");
    assert!(
        error.starts_with("Failed to load extension: ") && error.contains("extension1.ts:1: "),
        "{error}"
    );
    let (_, error) = session.failed().await;
    assert!(
        error.starts_with("Failed to load extension: Extension does not export a valid factory"),
        "{error}"
    );
    assert_eq!(session.send("/good").await, CommandReply::Handled);
    assert_eq!(session.notified().await, "fine");
}

#[tokio::test]
async fn actions_are_refused_while_an_extension_loads() {
    let mut session = TestSession::new(&["export default (pi) => pi.appendEntry('x');"], []).await;
    let (_, error) = session.failed().await;
    assert!(error.contains("Action methods cannot be called during extension loading"), "{error}");
}

#[tokio::test]
async fn a_command_with_the_name_of_one_of_the_client_gets_a_number() {
    let source = "export default (pi) => pi.registerCommand('agents', { handler: (_, ctx) => ctx.ui.notify('mine') });";
    let mut session = TestSession::new(&[source], []).await;
    assert!(session.notified().await.contains("the command /agents of extension0.ts is /agents:1 here"));
    session.send("/agents:1").await;
    assert_eq!(session.notified().await, "mine");
}

#[tokio::test]
async fn equal_command_names_get_numbers() {
    let command = |text: &str| {
        format!(
            "export default (pi) => pi.registerCommand('same', {{ handler: (_, ctx) => ctx.ui.notify('{text}') }});"
        )
    };
    let (first, second) = (command("first"), command("second"));
    let mut session = TestSession::new(&[&first, &second], []).await;
    session.send("/same:2").await;
    assert_eq!(session.notified().await, "second");
    session.send("/same:1 x").await;
    assert_eq!(session.notified().await, "first");
}
