//! What the tests share: an agent with a scripted model, and an ear for what it tells.

use std::sync::Arc;
use std::time::Duration;

use osier_agent::{Client, Command, Event, Events, Finished, Live, Parts, Reply, Worker};
use osier_model::scripted::{Scripted, Turn};
use osier_model::{Message, ModelInfo};
use osier_session::{Env, Event as SessionEvent, Session};
use osier_store::{MemoryStore, Store, StoreError};
use osier_tools::{ToolContext, Tools};
use osier_tree::entry::read_entry;
use osier_tree::projection::preview::Previews;
use osier_tree::{Header, Place, Seq};
use serde_json::Value;

/// An agent that is silent for so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Desk {
    pub(crate) worker: Worker,
    pub(crate) model: Scripted,
    pub(crate) folder: Arc<tempfile::TempDir>,
    pub(crate) store: Arc<dyn Store>,
}

impl Desk {
    /// An agent on a new session. Somebody is there to answer questions.
    pub(crate) async fn new(turns: impl IntoIterator<Item = Turn>) -> Desk {
        Desk::with(turns, |_| {}).await
    }

    pub(crate) async fn with(turns: impl IntoIterator<Item = Turn>, change: impl FnOnce(&mut Parts)) -> Desk {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        Desk::on(store, turns, change).await
    }

    /// An agent on a new session of a store.
    pub(crate) async fn on(
        store: Arc<dyn Store>,
        turns: impl IntoIterator<Item = Turn>,
        change: impl FnOnce(&mut Parts),
    ) -> Desk {
        store.create(&Header::new("s", 0, "/x"), &[]).await.unwrap();
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Desk::open(store, folder, turns, change).await
    }

    /// An agent on a session that is there already, as a new process has it.
    pub(crate) async fn open(
        store: Arc<dyn Store>,
        folder: Arc<tempfile::TempDir>,
        turns: impl IntoIterator<Item = Turn>,
        change: impl FnOnce(&mut Parts),
    ) -> Desk {
        Desk::open_in(Env::default(), store, folder, turns, change).await
    }

    /// The same with a time and ids of its own.
    pub(crate) async fn open_in(
        env: Env,
        store: Arc<dyn Store>,
        folder: Arc<tempfile::TempDir>,
        turns: impl IntoIterator<Item = Turn>,
        change: impl FnOnce(&mut Parts),
    ) -> Desk {
        // The process that had it open has died, and its leases ended with it.
        for lease in store.leases("s").await.unwrap() {
            store.release(&lease).await;
        }
        let session = Session::open(store.clone(), "s", env).await.unwrap();
        let model = Scripted::new(turns);
        let mut parts = parts(&model, folder.path());
        change(&mut parts);
        let worker = Worker::start(session, parts).await.unwrap();
        Desk { worker, model, folder, store }
    }

    /// The same session in another process; what this one's model would say is over.
    pub(crate) async fn reopen(&self, turns: impl IntoIterator<Item = Turn>) -> Desk {
        Desk::open(self.store.clone(), self.folder.clone(), turns, |_| {}).await
    }

    pub(crate) fn session(&self) -> &Session {
        self.worker.session()
    }

    pub(crate) async fn listen(&self) -> Ear {
        Ear { events: self.worker.attach(None).await.unwrap().events, heard: Vec::new() }
    }

    /// Begins a turn and listens to it.
    pub(crate) async fn begin(&self, command: Command) -> Ear {
        let ear = self.listen().await;
        self.worker.send(command).await.unwrap();
        ear
    }

    /// Says something and waits until the turn ends.
    pub(crate) async fn say(&self, text: &str) -> Finished {
        self.run(Command::prompt(text)).await
    }

    pub(crate) async fn run(&self, command: Command) -> Finished {
        self.begin(command).await.end().await.0.unwrap()
    }

    pub(crate) async fn send(&self, command: Command) -> Reply {
        self.worker.send(command).await.unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.folder.path().join(name).exists()
    }

    /// The path, a line for each entry.
    pub(crate) async fn path(&self) -> Vec<String> {
        self.path_to(self.worker.cursor().place()).await
    }

    pub(crate) async fn path_to(&self, at: Place) -> Vec<String> {
        let (mut previews, mut seen) = (Previews::new(None), Vec::new());
        self.each(at, |line| seen.push(previews.preview(&read_entry(line).unwrap()))).await;
        seen
    }

    /// The messages on the path, as they are stored.
    pub(crate) async fn messages(&self) -> Vec<Value> {
        let mut messages = Vec::new();
        self.each(self.worker.cursor().place(), |line| {
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
        self.session().each_line(self.session().version(), &path, read).await.unwrap();
    }

    /// What the model was told last: a word for each message.
    pub(crate) fn last_request(&self) -> Vec<String> {
        self.model.requests().last().unwrap().messages.iter().map(told).collect()
    }

    /// The last results that the model was told.
    pub(crate) fn last_results(&self) -> Vec<String> {
        let told = self.last_request();
        let at = told.iter().rposition(|told| !told.starts_with("result: ")).map_or(0, |at| at + 1);
        told[at..].iter().map(|told| told["result: ".len()..].to_owned()).collect()
    }
}

pub(crate) fn parts(model: &Scripted, folder: &std::path::Path) -> Parts {
    let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
    let tools = ToolContext::new(folder, folder.join("artefacts"), osier_tools::Env::new(path));
    let info = Arc::new(Scripted::info());
    let lookup: Vec<Arc<ModelInfo>> = vec![info.clone()];
    let mut parts =
        Parts::new(Arc::new(model.clone()), Arc::new(lookup), info, Arc::new(Tools::standard()), tools);
    parts.briefing = Arc::new(vec![("preamble".to_owned(), "You work here.".to_owned())]);
    parts.attended = true;
    parts.backtracking = false;
    parts
}

fn told(message: &Message) -> String {
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

/// What a client hears.
pub(crate) struct Ear {
    events: Events,
    pub(crate) heard: Vec<Event>,
}

impl Ear {
    pub(crate) async fn next(&mut self) -> Event {
        let next = tokio::time::timeout(PATIENCE, self.events.next()).await;
        let event = next.expect("the agent hangs").expect("the agent has ended");
        self.heard.push(event.clone());
        event
    }

    /// Listens until something is found in what it hears.
    pub(crate) async fn until<T>(&mut self, mut find: impl FnMut(&Event) -> Option<T>) -> T {
        loop {
            if let Some(found) = find(&self.next().await) {
                return found;
            }
        }
    }

    /// Listens until a piece of the reply holds this text.
    pub(crate) async fn until_draft(&mut self, text: &str) {
        self.until(|event| match event {
            Event::Session(SessionEvent::Draft { delta, .. }) => delta.contains(text).then_some(()),
            _ => None,
        })
        .await;
    }

    pub(crate) async fn until_asked(&mut self) -> (u64, osier_agent::Question) {
        self.until(|event| match event {
            Event::Live(Live::Asked { id, question }) => Some((*id, (**question).clone())),
            _ => None,
        })
        .await
    }

    /// Listens to the end of the turn.
    pub(crate) async fn end(&mut self) -> (Option<Finished>, Option<String>) {
        self.until(|event| match event {
            Event::Live(Live::TurnEnded { finished, error }) => Some((*finished, error.clone())),
            _ => None,
        })
        .await
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        let notice = |event: &Event| match event {
            Event::Live(Live::Notice { text }) => Some(text.clone()),
            _ => None,
        };
        self.heard.iter().filter_map(notice).collect()
    }
}
