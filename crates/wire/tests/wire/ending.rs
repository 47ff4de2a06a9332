//! The end of connections, sessions and streams: nothing stays behind, and what runs is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use osier_protocol::client::AttachedState;
use osier_protocol::{
    Attached, Client, ClientCommand, ClientError, ClientEvent, CommandReply, EngineClient, EngineReply,
    EngineRequest, LogPosition, OpenRequest, OpenedSession, PROTOCOL_VERSION, QueryAnswer, SessionInfo,
    SessionQuery,
};
use osier_wire::{HeldSessions, MAX_CLIENT_FRAME, ServeOptions, Transport, serve};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// An engine whose sessions are slow: opening can wait, attaching waits for a permit, and a shell command for a cancellation.
#[derive(Debug, Clone)]
struct SlowSessions {
    opening: Arc<Semaphore>,
    attaching: Arc<Semaphore>,
    canceled: Arc<Semaphore>,
    open: Arc<AtomicUsize>,
    /// Whether a shell command ends when it is canceled.
    can_cancel: bool,
}

impl SlowSessions {
    fn new(can_cancel: bool) -> SlowSessions {
        let [attaching, canceled] = [0; 2].map(|permits| Arc::new(Semaphore::new(permits)));
        let opening = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        SlowSessions { opening, attaching, canceled, open: Arc::default(), can_cancel }
    }

    fn open_sessions(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

/// A session of that engine.
#[derive(Debug)]
struct SlowSession(SlowSessions);

impl Drop for SlowSession {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl EngineClient for SlowSessions {
    async fn call(&self, _: EngineRequest) -> Result<EngineReply, ClientError> {
        Ok(EngineReply::Done)
    }

    async fn open(&self, _: OpenRequest) -> Result<Option<OpenedSession>, ClientError> {
        self.opening.acquire().await.unwrap().forget();
        self.open.fetch_add(1, Ordering::SeqCst);
        let client = Arc::new(SlowSession(self.clone()));
        Ok(Some(OpenedSession { info: SessionInfo::default(), client }))
    }
}

#[async_trait]
impl Client for SlowSession {
    async fn send(&self, command: ClientCommand) -> Result<CommandReply, ClientError> {
        if command == ClientCommand::Stop {
            self.0.canceled.add_permits(1);
            return Ok(CommandReply::Done);
        }
        self.0.canceled.acquire().await.unwrap().forget();
        match self.0.can_cancel {
            true => Ok(CommandReply::Cancelled),
            false => std::future::pending().await,
        }
    }

    async fn query(&self, _: SessionQuery) -> Result<QueryAnswer, ClientError> {
        Ok(QueryAnswer::Files { files: Vec::new() })
    }

    async fn attach(&self, _: Option<LogPosition>) -> Result<Attached, ClientError> {
        self.0.attaching.acquire().await.unwrap().forget();
        let events = stream::repeat(ClientEvent::TurnStarted).boxed();
        Ok(Attached { state: AttachedState::default(), events })
    }
}

/// A client over pipes.
struct PipeClient {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    serving: JoinHandle<()>,
}

impl PipeClient {
    async fn connect(engine: &SlowSessions, options: ServeOptions) -> PipeClient {
        let (near, far) = duplex(64 << 10);
        let (reader, writer) = split(far);
        let transport = Transport::lines(reader, writer, MAX_CLIENT_FRAME);
        let serving = tokio::spawn(serve(Arc::new(engine.clone()), transport, options));
        let (reader, writer) = split(near);
        let mut client = PipeClient { reader: BufReader::new(reader), writer, serving };
        client.write(json!({ "type": "hello", "version": PROTOCOL_VERSION })).await;
        assert_eq!(client.read().await["type"], "hello");
        client
    }

    async fn write(&mut self, frame: Value) {
        self.writer.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
    }

    async fn read(&mut self) -> Value {
        let mut line = String::new();
        self.reader.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap_or(Value::Null)
    }

    async fn open(&mut self, id: u64) {
        self.write(json!({ "type": "open", "id": id, "open": { "target": "new" } })).await;
        assert_eq!(self.read().await["type"], "opened");
    }
}

fn shell(id: u64) -> Value {
    json!({ "type": "send", "id": id, "session": 1, "command": { "type": "run_shell", "command": "x" } })
}

fn half_close() -> ServeOptions {
    ServeOptions { has_half_close: true, ..ServeOptions::default() }
}

#[tokio::test(start_paused = true)]
async fn a_command_that_runs_when_the_input_ends_is_canceled_and_answered() {
    let mut client = PipeClient::connect(&SlowSessions::new(true), half_close()).await;
    client.open(1).await;
    client.write(shell(2)).await;
    client.writer.shutdown().await.unwrap();
    let answer = client.read().await;
    assert_eq!((&answer["type"], &answer["id"]), (&json!("sent"), &json!(2)), "{answer}");
    client.serving.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_command_that_never_ends_does_not_keep_the_server_after_the_input_has_ended() {
    let mut client = PipeClient::connect(&SlowSessions::new(false), half_close()).await;
    client.open(1).await;
    client.write(shell(2)).await;
    client.writer.shutdown().await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), client.serving).await.expect("the server ends").unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_closed_while_a_client_attaches_leaves_no_stream() {
    for end in [json!({ "type": "close", "session": 1 }), json!({ "type": "detach", "stream": 2 })] {
        let engine = SlowSessions::new(true);
        let mut client = PipeClient::connect(&engine, ServeOptions::default()).await;
        client.open(1).await;
        client.write(json!({ "type": "attach", "id": 2, "session": 1 })).await;
        client.write(end.clone()).await;
        let refused = client.read().await;
        assert_eq!(
            (&refused["id"], &refused["error"]["code"]),
            (&json!(2), &json!("session_closed")),
            "{end}"
        );
        engine.attaching.add_permits(1);
        client.write(json!({ "type": "call", "id": 3, "request": { "type": "describe" } })).await;
        assert_eq!(client.read().await["type"], "called", "{end}: no event comes before it");
        // The id is free again.
        client.open(4).await;
        client.write(json!({ "type": "attach", "id": 2, "session": 4 })).await;
        assert_eq!(client.read().await["type"], "attached", "{end}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_being_opened_has_its_id_alone_and_can_be_closed() {
    let engine = SlowSessions { opening: Arc::new(Semaphore::new(0)), ..SlowSessions::new(true) };
    let mut client = PipeClient::connect(&engine, ServeOptions::default()).await;
    let open = |id: u64| json!({ "type": "open", "id": id, "open": { "target": "new" } });
    client.write(open(1)).await;
    client.write(open(1)).await;
    let refused = client.read().await;
    assert_eq!((&refused["type"], &refused["id"]), (&json!("error"), &json!(1)));
    assert!(refused["error"]["message"].as_str().unwrap().contains("id 1 is in use"), "{refused}");
    client.write(json!({ "type": "attach", "id": 1, "session": 9 })).await;
    assert!(client.read().await["error"]["message"].as_str().unwrap().contains("id 1 is in use"));
    client.write(json!({ "type": "close", "session": 1 })).await;
    client.write(json!({ "type": "ping" })).await;
    assert_eq!(client.read().await["type"], "pong");
    engine.opening.add_permits(1);
    assert_eq!(client.read().await["type"], "opened");
    assert_eq!(engine.open_sessions(), 0, "it was closed before it was open");
    engine.opening.add_permits(1);
    client.write(open(1)).await;
    assert_eq!(client.read().await["type"], "opened", "the id is free again");
    assert_eq!(engine.open_sessions(), 1);
}

/// Few answers are made at a time, so an attachment may wait before it begins.
#[tokio::test(start_paused = true)]
async fn an_attachment_that_is_ended_while_it_waits_for_others_never_begins() {
    let engine = SlowSessions::new(true);
    let mut client = PipeClient::connect(&engine, ServeOptions::default()).await;
    client.open(1).await;
    let others = 2..6;
    for id in others.clone().chain([6]) {
        client.write(json!({ "type": "attach", "id": id, "session": 1 })).await;
    }
    client.write(json!({ "type": "detach", "stream": 6 })).await;
    for id in others {
        client.write(json!({ "type": "detach", "stream": id })).await;
    }
    let mut refused = Vec::new();
    for _ in 0..5 {
        let answer = client.read().await;
        assert_eq!(answer["error"]["code"], "session_closed", "{answer}");
        refused.push(answer["id"].as_u64().unwrap());
    }
    refused.sort_unstable();
    assert_eq!(refused, [2, 3, 4, 5, 6]);
    // Nobody attached, so every permit is left.
    engine.attaching.add_permits(1);
    client.write(json!({ "type": "attach", "id": 6, "session": 1 })).await;
    assert_eq!(client.read().await["type"], "attached");
}

#[tokio::test(start_paused = true)]
async fn two_attachments_in_flight_cannot_have_the_same_id() {
    let engine = SlowSessions::new(true);
    let mut client = PipeClient::connect(&engine, ServeOptions::default()).await;
    client.open(1).await;
    for _ in 0..2 {
        client.write(json!({ "type": "attach", "id": 2, "session": 1 })).await;
    }
    let refused = client.read().await;
    assert_eq!(refused["error"]["code"], "invalid_frame", "{refused}");
    engine.attaching.add_permits(1);
    assert_eq!(client.read().await["type"], "attached");
}

#[tokio::test(start_paused = true)]
async fn the_sessions_of_lost_connections_are_held_for_a_while_and_not_too_many() {
    let engine = SlowSessions::new(true);
    let held = HeldSessions::new(Duration::from_secs(60), 5);
    for _ in 0..4 {
        let options = ServeOptions { held_sessions: Some(held.clone()), ..ServeOptions::default() };
        let mut client = PipeClient::connect(&engine, options).await;
        client.open(1).await;
        client.open(2).await;
        drop((client.reader, client.writer));
        client.serving.await.unwrap();
    }
    assert_eq!(engine.open_sessions(), 5);
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(engine.open_sessions(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_has_a_limited_number_of_sessions_and_one_that_is_lost_keeps_fewer() {
    let engine = SlowSessions::new(true);
    let held = HeldSessions::new(Duration::from_secs(60), 500);
    let options = ServeOptions { held_sessions: Some(held), ..ServeOptions::default() };
    let mut client = PipeClient::connect(&engine, options).await;
    for id in 0..1000 {
        client.open(id).await;
    }
    client.write(json!({ "type": "open", "id": 1000, "open": { "target": "new" } })).await;
    let refused = client.read().await;
    assert_eq!(refused["error"]["code"], "too_many_requests", "{refused}");
    client.write(json!({ "type": "close", "session": 7 })).await;
    client.open(1000).await;
    drop((client.reader, client.writer));
    client.serving.await.unwrap();
    assert_eq!(engine.open_sessions(), 64);
}
