//! A server on a pair of pipes, with a scripted model, and the program that drives it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use osier_engine::{
    ContractEngine, EngineError, FindOptions, ForkFrom, ForkRequest, KeepWhen, LiveSession, LocalClient,
    NewSession,
};
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{
    Attached, Client, ClientCommand, ClientError, CommandReply, EngineClient, EngineReply, EngineRequest,
    ErrorCode, ForkPosition, LogPosition, NewSessionOptions, OpenRequest, OpenTarget, OpenedSession,
    QueryAnswer, SessionInfo, SessionQuery, SessionRef,
};
use osier_rpc::{HtmlExporter, RpcConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// If nothing arrives for this long, the server is stuck.
const TIMEOUT: Duration = Duration::from_secs(60);

/// An engine with a scripted model that opens and forks sessions.
#[derive(Debug)]
pub(crate) struct RpcTestEngine {
    contract: ContractEngine,
    /// The next session that is opened does not answer.
    pub(crate) opens_broken_session: AtomicBool,
    /// Sessions are opened while nobody holds this.
    pub(crate) may_open: Arc<tokio::sync::Mutex<()>>,
    /// How many sessions clients have asked for.
    pub(crate) requested: AtomicUsize,
    /// The client that connected first, as extensions know it.
    first: OnceLock<LocalClient>,
}

impl RpcTestEngine {
    /// Ends what the server leaves running, as the program does at its end.
    pub(crate) async fn close(&self) {
        assert!(self.contract.engine.close(TIMEOUT).await.is_empty());
    }

    pub(crate) async fn new() -> Arc<RpcTestEngine> {
        let contract = ContractEngine::new().await;
        Arc::new(RpcTestEngine {
            contract,
            opens_broken_session: AtomicBool::new(false),
            may_open: Arc::default(),
            requested: AtomicUsize::new(0),
            first: OnceLock::new(),
        })
    }

    /// A client of the main session. Its worker is what extensions use.
    pub(crate) fn main_client(&self) -> &LocalClient {
        self.first.get().expect("the main session is open")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.contract.folder()
    }

    async fn connect(
        &self,
        live: &Arc<LiveSession>,
        text: Option<String>,
    ) -> Result<OpenedSession, EngineError> {
        let session = live.session();
        let info = SessionInfo {
            session: SessionRef { store: session.store().name().into(), key: session.key().to_owned() },
            id: session.id().into(),
            editor_text: text,
            ..SessionInfo::default()
        };
        let client: Arc<dyn Client> = match self.opens_broken_session.swap(false, Ordering::Relaxed) {
            true => Arc::new(BrokenClient),
            false => {
                let client = self.contract.engine.connect(live, &self.contract.agent(true)).await?;
                self.first.get_or_init(|| client.clone());
                Arc::new(client)
            }
        };
        Ok(OpenedSession { info, client })
    }

    /// Appends an entry at the leaf of a session, as another client of the engine would.
    pub(crate) async fn append_entry(&self, session: &str, entry: &str) {
        let stored = self.contract.engine.find(session, FindOptions::default()).await.unwrap();
        let operations = self.contract.engine.operations(stored.read().await.unwrap());
        operations.append_entry(entry.as_bytes()).await.unwrap();
    }

    async fn find(&self, name: &str) -> Result<Arc<LiveSession>, EngineError> {
        let stored = self.contract.engine.find(name, FindOptions::default()).await?.read().await?;
        self.contract.engine.open(&stored).await
    }

    pub(crate) async fn open_target(&self, target: OpenTarget) -> Result<OpenedSession, EngineError> {
        match target {
            OpenTarget::New(_) => {
                let (store, cwd, agent) = ("file".to_owned(), "/here".to_owned(), "main".to_owned());
                let live = self
                    .contract
                    .engine
                    .create(&NewSession { store, cwd, agent, keep: KeepWhen::Always })
                    .await?;
                self.connect(&live, None).await
            }
            OpenTarget::Fork(options) => {
                let source = self.find(&options.session.key).await?;
                let from = match options.from {
                    ForkPosition::Current => ForkFrom::CurrentPosition,
                    ForkPosition::Exactly { entry_id } => ForkFrom::Exactly(entry_id.to_string()),
                    ForkPosition::Entry { entry_id } => ForkFrom::Entry(entry_id.to_string()),
                };
                let request = ForkRequest { from, ..ForkRequest::default() };
                let forked =
                    self.contract.engine.fork(source.session(), &request).await?.expect("no hook refuses");
                let live = self.contract.engine.open(&forked.stored).await?;
                self.connect(&live, forked.editor.map(|editor| editor.text)).await
            }
            OpenTarget::Named { name } => self.connect(&self.find(&name).await?, None).await,
            other => panic!("the tests open no {other:?}"),
        }
    }
}

/// The client of a session that is gone.
#[derive(Debug)]
struct BrokenClient;

fn broken<T>() -> Result<T, ClientError> {
    Err(ClientError::new(ErrorCode::Failed, "the session is broken"))
}

#[async_trait]
impl Client for BrokenClient {
    async fn send(&self, _: ClientCommand) -> Result<CommandReply, ClientError> {
        broken()
    }

    async fn query(&self, _: SessionQuery) -> Result<QueryAnswer, ClientError> {
        broken()
    }

    async fn attach(&self, _: Option<LogPosition>) -> Result<Attached, ClientError> {
        broken()
    }
}

#[async_trait]
impl HtmlExporter for RpcTestEngine {
    async fn export_html(&self, session: &SessionRef, file: &str) -> Result<PathBuf, ClientError> {
        let path = self.folder().join(file);
        std::fs::write(&path, &session.key).unwrap();
        Ok(path)
    }
}

#[async_trait]
impl EngineClient for RpcTestEngine {
    async fn call(&self, _: EngineRequest) -> Result<EngineReply, ClientError> {
        Err(ClientError::new(ErrorCode::Failed, "not part of the test engine"))
    }

    async fn open(&self, request: OpenRequest) -> Result<Option<OpenedSession>, ClientError> {
        self.requested.fetch_add(1, Ordering::Relaxed);
        drop(self.may_open.lock().await);
        Ok(Some(self.open_target(request.target).await?))
    }
}

/// A program that drives the server.
pub(crate) struct TestProgram {
    pub(crate) engine: Arc<RpcTestEngine>,
    pub(crate) input: Option<DuplexStream>,
    output: Option<Lines<BufReader<DuplexStream>>>,
    /// The main session, seen from inside.
    pub(crate) client: Arc<dyn Client>,
    pub(crate) server: JoinHandle<Result<(), ClientError>>,
    last_id: usize,
    /// Ends the server, like a signal.
    pub(crate) stop: CancellationToken,
    /// Events that were read while the program waited for a response.
    pub(crate) events: Vec<Value>,
}

impl TestProgram {
    pub(crate) async fn start() -> TestProgram {
        TestProgram::with_pipes(1 << 16).await
    }

    /// The pipes hold this many bytes.
    pub(crate) async fn with_pipes(size: usize) -> TestProgram {
        let engine = RpcTestEngine::new().await;
        let session = engine.open_target(OpenTarget::default()).await.unwrap();
        let client = session.client.clone();
        let (input, server_input) = tokio::io::duplex(size);
        let (server_output, output) = tokio::io::duplex(size);
        let stop = CancellationToken::new();
        let config = RpcConfig {
            engine: engine.clone(),
            exporter: engine.clone(),
            session,
            new_session: NewSessionOptions::default(),
            stop: stop.clone(),
        };
        let server = tokio::spawn(osier_rpc::serve(config, server_input, server_output));
        let output = Some(BufReader::new(output).lines());
        let (input, last_id, events) = (Some(input), 0, Vec::new());
        TestProgram { engine, input, output, client, server, last_id, stop, events }
    }

    /// The model's next reply.
    pub(crate) fn push(&self, turn: ScriptedTurn) {
        self.engine.contract.push_turn(turn);
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    pub(crate) async fn send(&mut self, command: &Value) {
        self.write(format!("{command}\n").as_bytes()).await;
    }

    /// The next line as it was written; `None` at the end of the output.
    pub(crate) async fn next_line(&mut self) -> Option<String> {
        let line = tokio::time::timeout(TIMEOUT, self.output.as_mut().unwrap().next_line()).await;
        line.expect("a line arrives").unwrap()
    }

    /// The next line; `None` at the end of the output.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = self.next_line().await?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// The lines up to the first of this type.
    pub(crate) async fn until(&mut self, last: &str) -> Vec<Value> {
        let mut lines = std::mem::take(&mut self.events);
        if let Some(end) = lines.iter().position(|line| line["type"] == last) {
            self.events = lines.split_off(end + 1);
            return lines;
        }
        loop {
            lines.push(self.next().await.unwrap_or_else(|| panic!("no {last} in {lines:?}")));
            if lines.last().is_some_and(|line| line["type"] == last) {
                return lines;
            }
        }
    }

    /// Sends a command and returns its response. Events that arrive before are kept.
    pub(crate) async fn call(&mut self, name: &str, fields: Value) -> Value {
        self.last_id += 1;
        let id = format!("r{}", self.last_id);
        let mut command = json!({ "id": id, "type": name });
        command.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.send(&command).await;
        loop {
            let line = self.next().await.expect("a response arrives");
            if line["type"] == "response" && line["id"] == id.as_str() {
                assert_eq!(line["command"], name);
                return line;
            }
            self.events.push(line);
        }
    }

    /// The data of a successful response.
    pub(crate) async fn data(&mut self, name: &str, fields: Value) -> Value {
        let response = self.call(name, fields).await;
        assert_eq!(response["success"], true, "{response}");
        response["data"].clone()
    }

    /// Sends a prompt, and returns the events up to the end of its run.
    pub(crate) async fn run_prompt(&mut self, text: &str) -> Vec<Value> {
        self.data("prompt", json!({ "message": text })).await;
        self.until("agent_settled").await
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// The output itself. Nothing of it may have been read.
    pub(crate) fn take_output(&mut self) -> DuplexStream {
        self.output.take().unwrap().into_inner().into_inner()
    }

    pub(crate) fn close_output(&mut self) {
        self.output = None;
    }

    /// Waits for the end of the server.
    pub(crate) async fn ended(self) {
        let end = tokio::time::timeout(TIMEOUT, self.server).await;
        end.expect("the server ends").unwrap().unwrap();
    }
}

/// The types of events, without the pieces of replies.
pub(crate) fn types(events: &[Value]) -> Vec<&str> {
    let types = events.iter().map(|event| event["type"].as_str().unwrap());
    types.filter(|name| *name != "message_update").collect()
}

/// The events of a type.
pub(crate) fn of_type<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == name).collect()
}
