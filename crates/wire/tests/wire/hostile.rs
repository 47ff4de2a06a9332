//! Clients that send junk, never read, or vanish.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use osier_engine::ContractEngine;
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{ClientCommand, ClientEvent, EngineClient, ErrorCode, PROTOCOL_VERSION};
use osier_wire::{
    MAX_CLIENT_FRAME, ServeOptions, ServerFrame, Transport, decode_client_frame, decode_server_frame, serve,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};

use crate::support::{PipeServer, open};

/// A client that writes raw bytes.
struct RawClient {
    writer: WriteHalf<DuplexStream>,
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl RawClient {
    fn connect(engine: Arc<dyn EngineClient>, options: ServeOptions) -> RawClient {
        let (near, far) = duplex(64 << 10);
        let (reader, writer) = split(far);
        let transport = Transport::lines(reader, writer, MAX_CLIENT_FRAME);
        let serving = tokio::spawn(serve(engine, transport, options));
        let (reader, writer) = split(near);
        RawClient { writer, lines: BufReader::new(reader).lines(), serving }
    }

    async fn write(&mut self, text: &str) {
        self.writer.write_all(format!("{text}\n").as_bytes()).await.unwrap();
    }

    async fn read(&mut self) -> Option<Value> {
        Some(serde_json::from_str(&self.lines.next_line().await.ok()??).unwrap())
    }

    async fn hello(mut self) -> RawClient {
        self.write(&json!({ "type": "hello", "version": PROTOCOL_VERSION }).to_string()).await;
        assert_eq!(self.read().await.unwrap()["version"], PROTOCOL_VERSION);
        self
    }

    async fn open_session(&mut self, id: u64) {
        self.write(&json!({ "type": "open", "id": id, "open": { "target": "new" } }).to_string()).await;
        assert_eq!(self.read().await.unwrap()["type"], "opened");
    }
}

async fn engine() -> Arc<ContractEngine> {
    Arc::new(ContractEngine::new().await)
}

#[tokio::test]
async fn a_client_of_another_version_is_refused_and_both_are_named() {
    let mut client = RawClient::connect(engine().await, ServeOptions::default());
    client.write(r#"{"type":"hello","version":99}"#).await;
    let refused = client.read().await.unwrap();
    assert_eq!(refused["error"]["code"], "unsupported_version");
    assert_eq!(refused["error"]["facts"], json!({ "client": 99, "engine": PROTOCOL_VERSION }));
    assert_eq!(client.read().await, None, "the connection is closed");
    let mut silent = RawClient::connect(engine().await, ServeOptions::default());
    silent.write(r#"{"type":"ping"}"#).await;
    assert_eq!(silent.read().await.unwrap()["error"]["code"], "invalid_frame");
    assert_eq!(silent.read().await, None);
}

#[tokio::test]
async fn ten_thousand_malformed_frames_are_answered_and_the_connection_goes_on() {
    let mut client = RawClient::connect(engine().await, ServeOptions::default()).hello().await;
    let junk = [
        "junk",
        "{",
        "[]",
        "null",
        "\u{2028}",
        r#"{"type":"dance"}"#,
        r#"{"type":"send","id":-1}"#,
        "\"\\ud800\"",
    ];
    for number in 0..10_000 {
        client.write(junk[number % junk.len()]).await;
        assert_eq!(client.read().await.unwrap()["error"]["code"], "invalid_frame");
    }
    client.write(r#"{"type":"send","id":7,"session":1,"command":{"type":"fly"}}"#).await;
    assert_eq!(client.read().await.unwrap()["id"], 7, "the id is kept");
    client.write(r#"{"type":"query","id":8,"session":1,"query":{"type":"status"}}"#).await;
    let unknown = client.read().await.unwrap();
    assert_eq!((&unknown["id"], &unknown["error"]["code"]), (&json!(8), &json!("invalid_frame")));
    client.open_session(9).await;
    client.write(r#"{"type":"query","id":10,"session":9,"query":{"type":"status"}}"#).await;
    assert_eq!(client.read().await.unwrap()["type"], "answered");
}

#[tokio::test]
async fn a_frame_may_end_with_cr_lf_and_contain_line_separators() {
    let mut client = RawClient::connect(engine().await, ServeOptions::default()).hello().await;
    client.open_session(1).await;
    client.write("{\"type\":\"send\",\"id\":2,\"session\":1,\"command\":{\"type\":\"rename\",\"name\":\"a\u{2028}b\"}}\r").await;
    assert_eq!(client.read().await.unwrap()["type"], "sent");
    client.write(r#"{"type":"query","id":3,"session":1,"query":{"type":"card"}}"#).await;
    assert_eq!(client.read().await.unwrap()["answer"]["card"]["name"], "a\u{2028}b");
}

#[tokio::test]
async fn a_huge_line_is_refused_without_keeping_it() {
    let mut client = RawClient::connect(engine().await, ServeOptions::default()).hello().await;
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..=MAX_CLIENT_FRAME >> 20 {
        client.writer.write_all(&piece).await.unwrap();
    }
    client.write("").await;
    assert_eq!(client.read().await.unwrap()["error"]["code"], "invalid_frame");
    client.write(r#"{"type":"ping"}"#).await;
    assert_eq!(client.read().await.unwrap(), json!({ "type": "pong" }));
}

#[tokio::test]
async fn a_client_that_never_reads_slows_nobody_and_is_asked_to_attach_again() {
    let server = PipeServer::start().await;
    let mut stuck = RawClient::connect(server.engine.clone(), ServeOptions::default()).hello().await;
    stuck.open_session(1).await;
    stuck.write(r#"{"type":"attach","id":2,"session":1}"#).await;
    let busy = open(&server.remote().await).await;
    let mut events = busy.attach(None).await.unwrap().events;
    server.engine.push_turn(ScriptedTurn::reply("word ".repeat(20_000)));
    busy.send(ClientCommand::prompt("go")).await.unwrap();
    loop {
        match events.next().await.unwrap() {
            ClientEvent::TurnEnded { .. } => break,
            ClientEvent::Lagged { .. } => events = busy.attach(None).await.unwrap().events,
            _ => {}
        }
        if !busy.attach(None).await.unwrap().state.turn_running {
            break;
        }
    }
    let mut last = Value::Null;
    while last["type"] != "ended" {
        let frame = stuck.read().await.unwrap();
        assert!(frame["type"] != "ended" || last["event"]["type"] == "lagged", "{last}");
        last = frame;
    }
}

#[tokio::test(start_paused = true)]
async fn a_half_open_connection_is_noticed() {
    let heartbeat = Some(Duration::from_secs(10));
    let options = ServeOptions { heartbeat, ..ServeOptions::default() };
    let mut client = RawClient::connect(engine().await, options).hello().await;
    assert_eq!(client.read().await.unwrap(), json!({ "type": "ping" }));
    client.write(r#"{"type":"pong"}"#).await;
    assert_eq!(client.read().await.unwrap(), json!({ "type": "ping" }), "an answer keeps it open");
    assert_eq!(client.read().await.unwrap(), json!({ "type": "ping" }));
    assert_eq!(client.read().await, None, "no answer closes it");
    client.serving.await.unwrap();
}

#[tokio::test]
async fn too_many_requests_are_refused() {
    let mut client = RawClient::connect(engine().await, ServeOptions::default()).hello().await;
    client.open_session(1).await;
    for id in 2..100 {
        let command = json!({ "type": "run_shell", "command": "sleep 1000" });
        client
            .write(&json!({ "type": "send", "id": id, "session": 1, "command": command }).to_string())
            .await;
    }
    let mut codes = Vec::new();
    while !codes.contains(&json!("too_many_requests")) {
        codes.push(client.read().await.unwrap()["error"]["code"].clone());
    }
    assert!(codes.iter().all(|code| code == "too_many_requests" || code == "session_busy"), "{codes:?}");
}

#[tokio::test]
async fn pipes_answer_what_was_sent_before_their_end() {
    let options = ServeOptions { has_half_close: true, ..ServeOptions::default() };
    let mut client = RawClient::connect(engine().await, options).hello().await;
    client.write(r#"{"type":"open","id":1,"open":{"target":"new"}}"#).await;
    client.writer.shutdown().await.unwrap();
    assert_eq!(client.read().await.unwrap()["type"], "opened");
    assert_eq!(client.read().await, None);
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused() {
    let mut client = RawClient::connect(engine().await, ServeOptions::default()).hello().await;
    client.open_session(1).await;
    client.write(r#"{"type":"open","id":1,"open":{"target":"new"}}"#).await;
    let refused = client.read().await.unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(1), &json!("invalid_frame")));
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_panic(text in ".*") {
        let _ = decode_client_frame(&text);
        let _ = decode_server_frame(&text);
    }

    #[test]
    fn no_change_of_a_frame_makes_a_reader_panic(at in 0_usize..400, with in any::<u8>(), cut in 0_usize..400) {
        let event = json!({
            "type": "event", "sessionId": "s", "stream": 1, "generation": "0a", "revision": 1,
            "event": { "type": "entry", "seq": 0, "id": "1", "draftId": null, "foreign": false, "entry": { "type": "message", "id": "1" } },
        });
        let send = json!({ "type": "send", "id": 1, "session": 2, "command": { "type": "prompt", "text": "x" } });
        for frame in [event, send] {
            let mut bytes = frame.to_string().into_bytes();
            bytes.truncate(cut.max(1));
            let last = bytes.len() - 1;
            bytes[at.min(last)] = with;
            let text = String::from_utf8_lossy(&bytes);
            let _ = decode_client_frame(&text);
            if let Ok(ServerFrame::Event(frame)) = decode_server_frame(&text) {
                let _ = frame.position();
            }
        }
    }
}

#[test]
fn errors_of_readers_have_a_code() {
    assert_eq!(decode_server_frame("junk").unwrap_err().code, ErrorCode::InvalidFrame);
}
