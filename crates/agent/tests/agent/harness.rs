//! The test harness: an agent with a scripted model, and a listener for its events.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use osier_agent::{AgentConfig, Worker};
use osier_model::scripted::{ScriptedModel, ScriptedTurn};
use osier_model::{Message, ModelInfo};
use osier_protocol::{ClientCommand, ClientEvent, CommandReply, EventStream, TurnOutcome};
use osier_session::{Session, SessionEnv};
use osier_store::{MemoryStore, Store, StoreError};
use osier_tools::{ToolContext, ToolSet};
use osier_tree::entry::parse_entry;
use osier_tree::projection::preview::Previews;
use osier_tree::{Header, Place, Seq};
use serde_json::Value;

/// If the agent sends nothing for this long, it hangs.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Harness {
    pub(crate) worker: Worker,
    pub(crate) model: ScriptedModel,
    pub(crate) folder: Arc<tempfile::TempDir>,
    pub(crate) store: Arc<dyn Store>,
}

impl Harness {
    /// An agent on a new session, with a user present to answer questions.
    pub(crate) async fn new(turns: impl IntoIterator<Item = ScriptedTurn>) -> Harness {
        Harness::with(turns, |_| {}).await
    }

    pub(crate) async fn with(
        turns: impl IntoIterator<Item = ScriptedTurn>,
        change: impl FnOnce(&mut AgentConfig),
    ) -> Harness {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        Harness::on(store, turns, change).await
    }

    /// An agent on a new session in this store.
    pub(crate) async fn on(
        store: Arc<dyn Store>,
        turns: impl IntoIterator<Item = ScriptedTurn>,
        change: impl FnOnce(&mut AgentConfig),
    ) -> Harness {
        store.create(&Header::new("s", 0, "/x"), &[]).await.unwrap();
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Harness::open(store, folder, turns, change).await
    }

    /// An agent on an existing session, like a new process.
    pub(crate) async fn open(
        store: Arc<dyn Store>,
        folder: Arc<tempfile::TempDir>,
        turns: impl IntoIterator<Item = ScriptedTurn>,
        change: impl FnOnce(&mut AgentConfig),
    ) -> Harness {
        Harness::open_in(SessionEnv::default(), store, folder, turns, change).await
    }

    /// Like `open`, with its own clock and ids.
    pub(crate) async fn open_in(
        env: SessionEnv,
        store: Arc<dyn Store>,
        folder: Arc<tempfile::TempDir>,
        turns: impl IntoIterator<Item = ScriptedTurn>,
        change: impl FnOnce(&mut AgentConfig),
    ) -> Harness {
        // The process that had the session open has died, and so have its leases.
        release_leases(&store).await;
        Harness::open_next(env, store, folder, turns, change).await
    }

    async fn open_next(
        env: SessionEnv,
        store: Arc<dyn Store>,
        folder: Arc<tempfile::TempDir>,
        turns: impl IntoIterator<Item = ScriptedTurn>,
        change: impl FnOnce(&mut AgentConfig),
    ) -> Harness {
        let session = Session::open(store.clone(), "s", env).await.unwrap();
        let model = ScriptedModel::new(turns);
        let mut config = parts(&model, folder.path());
        change(&mut config);
        let worker = Worker::start(session, config).await.unwrap();
        Harness { worker, model, folder, store }
    }

    /// The same session in another process, with a new scripted model.
    pub(crate) async fn reopen(&self, turns: impl IntoIterator<Item = ScriptedTurn>) -> Harness {
        Harness::open(self.store.clone(), self.folder.clone(), turns, |_| {}).await
    }

    /// The same session in another process, while this one still has it open.
    pub(crate) async fn open_next_to(&self, turns: impl IntoIterator<Item = ScriptedTurn>) -> Harness {
        let (store, folder) = (self.store.clone(), self.folder.clone());
        Harness::open_next(SessionEnv::default(), store, folder, turns, |_| {}).await
    }

    /// As if the process had died.
    pub(crate) async fn release_leases(&self) {
        release_leases(&self.store).await;
    }

    pub(crate) fn session(&self) -> &Session {
        self.worker.session()
    }

    pub(crate) async fn listen(&self) -> EventListener {
        EventListener { events: self.worker.attach(None).await.unwrap().events, received: Vec::new() }
    }

    /// Starts a turn and listens to it.
    pub(crate) async fn begin(&self, command: ClientCommand) -> EventListener {
        let listener = self.listen().await;
        self.worker.send(command).await.unwrap();
        listener
    }

    /// Sends a prompt and waits until the turn ends.
    pub(crate) async fn say(&self, text: &str) -> TurnOutcome {
        self.run(ClientCommand::prompt(text)).await
    }

    pub(crate) async fn run(&self, command: ClientCommand) -> TurnOutcome {
        self.begin(command).await.end().await.0.unwrap()
    }

    pub(crate) async fn send(&self, command: ClientCommand) -> CommandReply {
        self.worker.send(command).await.unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.folder.path().join(name).exists()
    }

    /// The path, one line per entry.
    pub(crate) async fn path(&self) -> Vec<String> {
        self.path_to(self.worker.cursor().position()).await
    }

    pub(crate) async fn path_to(&self, at: Place) -> Vec<String> {
        let (mut previews, mut seen) = (Previews::new(None), Vec::new());
        self.each(at, |line| seen.push(previews.preview(&parse_entry(line).unwrap()))).await;
        seen
    }

    /// The stored messages of the path.
    pub(crate) async fn messages(&self) -> Vec<Value> {
        let mut messages = Vec::new();
        self.each(self.worker.cursor().position(), |line| {
            let mut entry: Value = serde_json::from_slice(line).unwrap();
            messages.extend(Some(entry["message"].take()).filter(|message| !message.is_null()));
        })
        .await;
        messages
    }

    async fn each(&self, at: Place, mut each: impl FnMut(&[u8])) {
        let path: Vec<Seq> = self.session().tree().path(at);
        let read = |_, line: &[u8]| -> Result<(), StoreError> {
            each(line);
            Ok(())
        };
        self.session().for_each_line(self.session().version(), &path, read).await.unwrap();
    }

    /// The messages of the last request, one line each.
    pub(crate) fn last_request(&self) -> Vec<String> {
        self.model.requests().last().unwrap().messages.iter().map(message_line).collect()
    }

    /// The tool results at the end of the last request.
    pub(crate) fn last_results(&self) -> Vec<String> {
        let lines = self.last_request();
        let at = lines.iter().rposition(|lines| !lines.starts_with("result: ")).map_or(0, |at| at + 1);
        lines[at..].iter().map(|lines| lines["result: ".len()..].to_owned()).collect()
    }
}

async fn release_leases(store: &Arc<dyn Store>) {
    for lease in store.leases("s").await.unwrap() {
        store.release_lease(&lease).await;
    }
}

pub(crate) fn parts(model: &ScriptedModel, folder: &std::path::Path) -> AgentConfig {
    let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
    let tools = ToolContext::new(folder, folder.join("artefacts"), osier_tools::CommandEnv::new(path));
    let info = Arc::new(ScriptedModel::info());
    let lookup: Vec<Arc<ModelInfo>> = vec![info.clone()];
    let mut config = AgentConfig::new(
        Arc::new(model.clone()),
        Arc::new(lookup),
        info,
        Arc::new(ToolSet::standard()),
        tools,
    );
    config.system_prompt = Arc::new(vec![("preamble".to_owned(), "You work here.".to_owned())]);
    config.has_user = true;
    config.backtracking = false;
    config
}

fn message_line(message: &Message) -> String {
    match message {
        Message::System(_) => "system".to_owned(),
        Message::User(user) => format!("user: {}", user.text()),
        Message::Assistant(said) => {
            let calls: Vec<&str> = said.calls().map(|call| call.name.as_str()).collect();
            let calls = if calls.is_empty() { String::new() } else { format!(" calls {}", calls.join(", ")) };
            format!("assistant: {}{calls}", said.text())
        }
        Message::ToolResult(result) => format!("result: {}", result.text()),
    }
}

/// Collects the events that a client receives.
pub(crate) struct EventListener {
    events: EventStream,
    pub(crate) received: Vec<ClientEvent>,
}

impl EventListener {
    pub(crate) async fn next(&mut self) -> ClientEvent {
        let next = tokio::time::timeout(EVENT_TIMEOUT, self.events.next()).await;
        let event = next.expect("the agent is stuck").expect("the agent has stopped");
        self.received.push(event.clone());
        event
    }

    /// Waits until `find` returns something for an event.
    pub(crate) async fn until<T>(&mut self, mut find: impl FnMut(&ClientEvent) -> Option<T>) -> T {
        loop {
            if let Some(found) = find(&self.next().await) {
                return found;
            }
        }
    }

    /// Waits until a draft delta contains this text.
    pub(crate) async fn until_draft(&mut self, text: &str) {
        self.until(|event| match event {
            ClientEvent::DraftDelta { delta, .. } => delta.text().contains(text).then_some(()),
            _ => None,
        })
        .await;
    }

    pub(crate) async fn until_asked(&mut self) -> (u64, osier_protocol::Question) {
        self.until(|event| match event {
            ClientEvent::Asked { id, question, .. } => Some((*id, (**question).clone())),
            _ => None,
        })
        .await
    }

    /// Waits until the turn ends.
    pub(crate) async fn end(&mut self) -> (Option<TurnOutcome>, Option<String>) {
        self.until(|event| match event {
            ClientEvent::TurnEnded { finished, error } => Some((*finished, error.clone())),
            _ => None,
        })
        .await
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        let notice = |event: &ClientEvent| match event {
            ClientEvent::Notice { text } => Some(text.clone()),
            _ => None,
        };
        self.received.iter().filter_map(notice).collect()
    }
}
