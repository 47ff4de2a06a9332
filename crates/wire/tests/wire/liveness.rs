//! Connections that are slow, silent or stuck: what still lives stays, what is gone is noticed, and no client fills the memory.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use osier_protocol::client::AttachedState;
use osier_protocol::{
    Attached, Client, ClientCommand, ClientError, CommandReply, EngineClient, EngineReply, EngineRequest,
    LogPosition, OpenReply, OpenRequest, OpenedSession, PROTOCOL_VERSION, QueryAnswer, ReplyDelta,
    SessionInfo, SessionQuery,
};
use osier_wire::{
    Connector, LinkStatus, MAX_CLIENT_FRAME, MAX_SERVER_FRAME, RemoteEngine, RemoteOptions, ServeOptions,
    Transport, serve,
};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};
use tokio::time::{Instant, sleep};

const HEARTBEAT: Duration = Duration::from_secs(10);

/// An engine whose answers are large. It counts them.
#[derive(Debug, Default)]
struct LargeAnswers {
    answers: Arc<AtomicUsize>,
    size: usize,
}

impl LargeAnswers {
    /// Reading takes a moment, in which more requests arrive.
    async fn start_answer(&self) {
        sleep(Duration::from_millis(10)).await;
        self.answers.fetch_add(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl EngineClient for LargeAnswers {
    async fn call(&self, _: EngineRequest) -> Result<EngineReply, ClientError> {
        self.start_answer().await;
        Ok(EngineReply::SettingChanged { notice: "x".repeat(self.size) })
    }

    async fn open(&self, _: OpenRequest) -> Result<Option<OpenedSession>, ClientError> {
        let client = Arc::new(LargeAnswers { answers: self.answers.clone(), size: self.size });
        Ok(Some(OpenedSession { info: SessionInfo::default(), client }))
    }
}

#[async_trait]
impl Client for LargeAnswers {
    async fn send(&self, _: ClientCommand) -> Result<CommandReply, ClientError> {
        Ok(CommandReply::Handled)
    }

    async fn query(&self, _: SessionQuery) -> Result<QueryAnswer, ClientError> {
        self.start_answer().await;
        Ok(QueryAnswer::Files { files: vec!["x".repeat(self.size)] })
    }

    async fn attach(&self, _: Option<LogPosition>) -> Result<Attached, ClientError> {
        self.start_answer().await;
        let deltas = vec![ReplyDelta::TextDelta { block: 0, delta: "x".repeat(self.size) }];
        let drafts = vec![OpenReply { id: "1".into(), off_path: false, deltas }];
        let state = AttachedState { drafts, ..AttachedState::default() };
        Ok(Attached { state, events: stream::pending().boxed() })
    }
}

/// The client's end of a connection to an engine, after the greeting.
async fn connect(engine: LargeAnswers, heartbeat: Option<Duration>) -> DuplexStream {
    let (mut near, far) = duplex(4 << 10);
    let (reader, writer) = split(far);
    let transport = Transport::lines(reader, writer, MAX_CLIENT_FRAME);
    let options = ServeOptions { heartbeat, ..ServeOptions::default() };
    tokio::spawn(serve(Arc::new(engine), transport, options));
    near.write_all(hello().as_bytes()).await.unwrap();
    read_line(&mut near).await;
    near
}

fn hello() -> String {
    let hello = json!({ "type": "hello", "version": PROTOCOL_VERSION, "server": "test", "client": "test" });
    format!("{hello}\n")
}

async fn read_line(stream: &mut DuplexStream) -> String {
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        line.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(line).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_gets_few_answers_made() {
    for request in ["query", "call", "attach"] {
        let answers = Arc::new(AtomicUsize::new(0));
        let mut client = connect(LargeAnswers { answers: answers.clone(), size: 2 << 20 }, None).await;
        client.write_all(b"{\"type\":\"open\",\"id\":1,\"open\":{\"target\":\"new\"}}\n").await.unwrap();
        assert!(read_line(&mut client).await.contains("opened"));
        let line = match request {
            "query" => json!({ "type": "query", "session": 1, "query": { "type": "status" } }),
            "call" => json!({ "type": "call", "request": { "type": "describe" } }),
            _ => json!({ "type": "attach", "session": 1 }),
        };
        let (_reader, mut writer) = split(client);
        tokio::spawn(async move {
            for id in 2..60 {
                let mut line = line.clone();
                line["id"] = json!(id);
                writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            }
            std::future::pending::<()>().await;
        });
        // Time passes only when every task waits.
        sleep(Duration::from_secs(1)).await;
        let made = answers.load(Ordering::Relaxed);
        assert!((1..=5).contains(&made), "{made} answers for {request}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_a_large_answer_slowly_is_not_gone() {
    let mut client = connect(LargeAnswers { size: 2 << 20, ..Default::default() }, Some(HEARTBEAT)).await;
    client.write_all(b"{\"type\":\"call\",\"id\":2,\"request\":{\"type\":\"describe\"}}\n").await.unwrap();
    let (start, mut read) = (Instant::now(), 0);
    let mut buffer = vec![0; 4 << 10];
    while read < 2 << 20 {
        sleep(Duration::from_secs(1)).await;
        let count = client.read(&mut buffer).await.unwrap();
        assert!(count > 0, "closed after {:?}", start.elapsed());
        read += count;
    }
    assert!(start.elapsed() > HEARTBEAT * 10, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_a_large_frame_slowly_is_not_gone() {
    let client = connect(LargeAnswers::default(), Some(HEARTBEAT)).await;
    let (reader, mut writer) = split(client);
    let mut lines = BufReader::new(reader).lines();
    let frame =
        json!({ "type": "call", "id": 2, "padding": "x".repeat(50), "request": { "type": "describe" } });
    for byte in format!("{frame}\n").bytes() {
        sleep(Duration::from_secs(1)).await;
        writer.write_all(&[byte]).await.unwrap();
    }
    let mut reply = lines.next_line().await.unwrap().unwrap();
    while reply.contains("ping") {
        reply = lines.next_line().await.unwrap().unwrap();
    }
    assert!(reply.contains("called"), "{reply}");
}

/// Hands out prepared connections, and then hangs.
#[derive(Debug)]
struct PreparedConnections(Mutex<VecDeque<DuplexStream>>);

#[async_trait]
impl Connector for PreparedConnections {
    async fn connect(&self) -> Result<Transport, ClientError> {
        let next = self.0.lock().unwrap().pop_front();
        let Some(stream) = next else { return std::future::pending().await };
        let (reader, writer) = split(stream);
        Ok(Transport::lines(reader, writer, MAX_SERVER_FRAME))
    }
}

fn remote_options() -> RemoteOptions {
    RemoteOptions { heartbeat: Some(HEARTBEAT), ..RemoteOptions::default() }
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_sends_a_large_frame_slowly_is_not_gone() {
    let (near, mut far) = duplex(4 << 10);
    far.write_all(hello().as_bytes()).await.unwrap();
    let connector = Arc::new(PreparedConnections(Mutex::new([near].into())));
    let engine = RemoteEngine::connect(connector, remote_options()).await.unwrap();
    let called = tokio::spawn(async move { engine.call(EngineRequest::Describe).await });
    read_line(&mut far).await;
    assert!(read_line(&mut far).await.contains("describe"));
    let reply =
        json!({ "type": "called", "id": 1, "reply": { "type": "setting_changed", "notice": "slow" } });
    let (_reader, mut writer) = split(far);
    for byte in format!("{reply}\n").bytes() {
        sleep(Duration::from_secs(1)).await;
        writer.write_all(&[byte]).await.unwrap();
    }
    assert_eq!(called.await.unwrap().unwrap(), EngineReply::SettingChanged { notice: "slow".to_owned() });
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_silent_is_asked_and_then_lost() {
    let (near, mut far) = duplex(4 << 10);
    far.write_all(hello().as_bytes()).await.unwrap();
    let connector = Arc::new(PreparedConnections(Mutex::new([near].into())));
    let engine = RemoteEngine::connect(connector, remote_options()).await.unwrap();
    let (mut changes, start) = (engine.watch(), Instant::now());
    let waiting = tokio::spawn(async move { engine.call(EngineRequest::Describe).await });
    assert!(matches!(changes.next().await, Some(LinkStatus::Reconnecting { attempt: 0, .. })));
    assert_eq!(start.elapsed().as_secs(), 30);
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(error.facts["sent"], json!(true), "it may have run");
    read_line(&mut far).await;
    assert!(read_line(&mut far).await.contains("describe"));
    assert!(read_line(&mut far).await.contains("ping"));
}

/// A connection that is accepted and then silent, and an attempt that never ends, must not stop later attempts.
#[tokio::test(start_paused = true)]
async fn connecting_again_is_tried_again_after_a_time() {
    let (near, mut far) = duplex(4 << 10);
    let (silent, _kept) = duplex(4 << 10);
    far.write_all(hello().as_bytes()).await.unwrap();
    let connector = Arc::new(PreparedConnections(Mutex::new([near, silent].into())));
    let engine = RemoteEngine::connect(connector.clone(), remote_options()).await.unwrap();
    let mut changes = engine.watch();
    drop(far);
    let mut attempts = Vec::new();
    while attempts.last() != Some(&2) {
        let Some(LinkStatus::Reconnecting { attempt, error }) = changes.next().await else { panic!("down") };
        assert!(attempt == 0 || error.contains("no answer within 10 seconds"), "{error}");
        attempts.push(attempt);
    }
    let (near, mut far) = duplex(4 << 10);
    far.write_all(hello().as_bytes()).await.unwrap();
    connector.0.lock().unwrap().push_back(near);
    while engine.status() != LinkStatus::Connected {
        changes.next().await.unwrap();
    }
}
