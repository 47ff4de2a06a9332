//! The client protocol over a WebSocket.

use futures_util::{SinkExt, StreamExt};
use osier_protocol::entry_view::BacktrackView;
use osier_protocol::{
    ClientCommand, ClientEvent, EngineClient, EngineRequest, ErrorCode, ListSessions, MoveCommand,
    NewSessionOptions, OpenRequest, OpenTarget, SessionQuery, SessionRef,
};
use reqwest::Method;
use serde_json::json;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};

use crate::run_support::ModelServer;
use crate::server::{TestGateway, http_client};
use crate::socket_support::{TEST_TIMEOUT, connect, has_text, open, socket_url, wait_for};

#[tokio::test]
async fn a_turn_is_followed_over_a_web_socket() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let engine = connect(&gateway, &gateway.token).await;
    let opened = open(&engine, OpenTarget::New(NewSessionOptions::default())).await;
    let mut events = opened.client.attach(None).await.unwrap().events;
    opened.client.send(ClientCommand::prompt("hello")).await.unwrap();
    let mut request = model.next_request();
    request.send_text("Hello to everybody here");
    wait_for(&mut events, |event| has_text(event, "Hello to")).await;
    request.finish("stop");
    wait_for(&mut events, |event| matches!(event, ClientEvent::TurnEnded { .. })).await;
    // What a client does over HTTP arrives at the others.
    let session = format!("/api/sessions/{}", opened.info.id);
    gateway.post(&format!("{session}/move"), json!({ "targetId": null })).await;
    wait_for(&mut events, |event| matches!(event, ClientEvent::Moved(_))).await;
    let listed = engine.call(EngineRequest::ListSessions(ListSessions::default())).await.unwrap();
    assert!(serde_json::to_string(&listed).unwrap().contains(opened.info.id.as_str()));
}

/// An answer in one message is in memory as a whole, so it has a limit. HTTP streams.
#[tokio::test]
async fn a_snapshot_that_is_too_large_for_one_message_is_refused() {
    let gateway = TestGateway::start();
    let large = "x".repeat(3 << 20);
    let (session, _) = gateway.create_with(&vec![large.as_str(); 22]).await;
    let engine = connect(&gateway, &gateway.token).await;
    let opened = open(&engine, OpenTarget::Latest { cwd: None }).await;
    let snapshot = |without_context, since| EngineRequest::Snapshot {
        session: opened.info.session.clone(),
        since,
        generation: None,
        without_context,
    };
    let refused = engine.call(snapshot(true, None)).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::AnswerTooLarge, "{refused}");
    assert!(refused.message.contains("GET /api/sessions/ID/snapshot"), "{refused}");
    engine.call(snapshot(true, Some(21))).await.unwrap();
    let whole = gateway.request(Method::GET, &format!("{session}/snapshot")).send().await.unwrap();
    assert!(whole.bytes().await.unwrap().len() > 64 << 20);
}

fn request(gateway: &TestGateway, headers: &[(&'static str, &str)]) -> Request {
    let mut request = socket_url(gateway).into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    request
}

async fn status(request: Request) -> u16 {
    match connect_async(request).await {
        Ok(_) => 101,
        Err(SocketError::Http(response)) => response.status().as_u16(),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_web_socket_needs_a_token_and_a_page_of_the_gateway() {
    let gateway = TestGateway::start();
    let bearer = format!("Bearer {}", gateway.token);
    assert_eq!(status(request(&gateway, &[])).await, 401);
    assert_eq!(status(request(&gateway, &[("authorization", "Bearer x")])).await, 401);
    assert_eq!(status(request(&gateway, &[("authorization", &bearer)])).await, 101);
    let login = http_client().get(&gateway.link).send().await.unwrap();
    let cookie = login.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let from =
        async |origin: &str| status(request(&gateway, &[("cookie", &cookie), ("origin", origin)])).await;
    assert_eq!(from(&gateway.url).await, 101);
    for origin in ["http://evil.example", "http://localhost:3000", "null"] {
        assert_eq!(from(origin).await, 403, "{origin}");
    }
    assert_eq!(status(request(&gateway, &[("cookie", &cookie)])).await, 401, "no origin");
    let rebound = request(&gateway, &[("authorization", &bearer), ("host", "evil.example")]);
    assert_eq!(status(rebound).await, 403);
}

#[tokio::test]
async fn a_read_only_token_attaches_to_its_session_only() {
    let gateway = TestGateway::start();
    let (session, ids) = gateway.create_with(&["hello"]).await;
    let (other, _) = gateway.create_with(&["secret"]).await;
    let id = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let printed = gateway.env.args(&["token", "create", &id(&session)]);
    let engine = connect(&gateway, printed.out.trim()).await;
    let named = |name: String| OpenTarget::Named { name };
    let opened = open(&engine, named(id(&session))).await;
    opened.client.attach(None).await.unwrap();
    opened.client.query(SessionQuery::Path { limit: None }).await.unwrap();
    let forbidden = |result: Result<(), osier_protocol::ClientError>| {
        assert_eq!(result.unwrap_err().code, ErrorCode::Forbidden);
    };
    forbidden(opened.client.send(ClientCommand::prompt("hi")).await.map(drop));
    let to_start = MoveCommand { target_id: Some(ids[0].as_str().into()), ..MoveCommand::default() };
    forbidden(opened.client.send(ClientCommand::Move(to_start)).await.map(drop));
    forbidden(opened.client.query(SessionQuery::Files { limit: 9 }).await.map(drop));
    for target in [named(id(&other)), OpenTarget::default(), OpenTarget::Latest { cwd: None }] {
        forbidden(engine.open(OpenRequest { target, leaving: None }).await.map(drop));
    }
    let reference = SessionRef { store: "file".into(), key: id(&other) };
    for request in [
        EngineRequest::ListSessions(ListSessions::default()),
        EngineRequest::DeleteSession { session: opened.info.session.clone() },
        EngineRequest::Snapshot { session: reference, since: None, generation: None, without_context: true },
        EngineRequest::Settings,
        EngineRequest::Describe,
    ] {
        forbidden(engine.call(request).await.map(drop));
    }
}

#[tokio::test]
async fn a_client_cannot_change_the_settings_of_the_gateway() {
    let gateway = TestGateway::start();
    let engine = connect(&gateway, &gateway.token).await;
    // TOML has several ways to write a key.
    for key in [
        "gateway.directories",
        " gateway.directories",
        "gateway . directories",
        "\"gateway\".directories",
        "'gateway'.'directories'",
        "\"\\u0067ateway\".directories",
    ] {
        let widen = EngineRequest::SetSetting { key: key.to_owned(), value: "/".to_owned() };
        assert_eq!(engine.call(widen).await.unwrap_err().code, ErrorCode::Forbidden, "{key}");
        let path: String = key.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let path = format!("/api/settings/{path}");
        let refused = gateway.fails(Method::PUT, &path, json!({ "value": "/" })).await;
        assert_eq!(refused, (403, "forbidden".to_owned()), "{key}");
    }
    let settings = std::fs::read_to_string(gateway.env.home().join("config.toml")).unwrap_or_default();
    assert!(!settings.contains("directories"), "{settings}");
}

#[tokio::test]
async fn junk_frames_do_no_harm() {
    let gateway = TestGateway::start();
    let bearer = format!("Bearer {}", gateway.token);
    let large = Message::text("x".repeat((32 << 20) + 1));
    let junk = ["", "{", "[]", "null", "{\"type\":\"nothing\"}", "\u{2028}"].map(Message::text);
    for frame in junk.into_iter().chain([Message::binary(vec![0, 159, 146, 150]), large]) {
        let (mut socket, _) = connect_async(request(&gateway, &[("authorization", &bearer)])).await.unwrap();
        // The gateway may close the connection, and only this one, before it has read everything.
        for _ in 0..3 {
            let _ = socket.send(frame.clone()).await;
        }
    }
    gateway.get("/api/sessions").await;
}

#[tokio::test]
async fn web_sockets_end_with_the_gateway() {
    let gateway = TestGateway::start();
    let bearer = format!("Bearer {}", gateway.token);
    let (mut socket, _) = connect_async(request(&gateway, &[("authorization", &bearer)])).await.unwrap();
    let (output, _) = tokio::task::spawn_blocking(|| gateway.stop()).await.unwrap();
    assert_eq!((output.code, output.err.as_str()), (0, ""));
    let ended = async { while let Some(Ok(_)) = socket.next().await {} };
    tokio::time::timeout(TEST_TIMEOUT, ended).await.expect("the connection ends");
}

#[tokio::test]
async fn a_message_that_is_too_large_ends_the_connection_with_a_reason() {
    let gateway = TestGateway::start();
    let bearer = format!("Bearer {}", gateway.token);
    let (socket, _) = connect_async(request(&gateway, &[("authorization", &bearer)])).await.unwrap();
    let (mut writer, mut reader) = socket.split();
    writer
        .send(Message::text(
            json!({ "type": "hello", "version": osier_protocol::PROTOCOL_VERSION }).to_string(),
        ))
        .await
        .unwrap();
    // The gateway closes the connection before it has read everything.
    tokio::spawn(async move { writer.send(Message::text("x".repeat((32 << 20) + 1))).await });
    let closing = async {
        loop {
            match reader.next().await {
                Some(Ok(Message::Close(Some(frame)))) => return frame,
                Some(Ok(_)) => {}
                other => panic!("no reason: {other:?}"),
            }
        }
    };
    let frame = tokio::time::timeout(TEST_TIMEOUT, closing).await.expect("the connection ends");
    assert_eq!((u16::from(frame.code), frame.reason.as_str()), (1009, "a message is too large"));
}

#[tokio::test]
async fn entries_arrive_in_pages_and_a_context_that_is_too_large_is_refused() {
    let gateway = TestGateway::start();
    let large = "x".repeat(3 << 20);
    gateway.create_with(&vec![large.as_str(); 22]).await;
    let engine = connect(&gateway, &gateway.token).await;
    let client = open(&engine, OpenTarget::Latest { cwd: None }).await.client;
    let (mut after, mut sizes) = (None, Vec::new());
    loop {
        let page = client.entries(after).await.unwrap();
        sizes.push(page.entries.len());
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(sizes, [5, 5, 5, 5, 2], "at most 16 MB each");
    for refused in [client.context().await.map(drop), client.path(None).await.map(drop)] {
        assert_eq!(refused.unwrap_err().code, ErrorCode::AnswerTooLarge);
    }
    assert_eq!(client.path(Some(3)).await.unwrap().entries.len(), 3);
}

#[tokio::test]
async fn a_request_that_is_too_large_is_not_sent() {
    let gateway = TestGateway::start();
    let engine = connect(&gateway, &gateway.token).await;
    let client = open(&engine, OpenTarget::default()).await.client;
    let large = ClientCommand::Rename { name: "x".repeat(32 << 20) };
    let refused = client.send(large).await.unwrap_err();
    assert_eq!((refused.code, &refused.facts["sent"]), (ErrorCode::Usage, &json!(false)), "{refused}");
    client.status().await.unwrap();
}

/// The same fields as in JSON mode and over RPC.
#[tokio::test]
async fn a_backtrack_is_an_event_of_its_own() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let engine = connect(&gateway, &gateway.token).await;
    let client = open(&engine, OpenTarget::default()).await.client;
    let mut events = client.attach(None).await.unwrap().events;
    client.send(ClientCommand::prompt("look")).await.unwrap();
    model.next_request().reply_with_call("backtrack", &json!({ "checkpoint_id": 0, "note": "a dead end" }));
    model.next_request().reply("done");
    let mut last = None;
    let backtrack = loop {
        match events.next().await.expect("the stream is open") {
            ClientEvent::Backtrack(event) => break event,
            event => last = Some(event),
        }
    };
    let Some(ClientEvent::Entry(entry)) = last else { panic!("it follows its entry, not {last:?}") };
    assert_eq!(backtrack.entry_id, entry.id);
    let BacktrackView { checkpoint_id, note, original_user_message, .. } = backtrack.backtrack.clone();
    assert_eq!(
        (checkpoint_id, note.as_str(), original_user_message.as_str()),
        (Some(0), "a dead end", "look")
    );
    let fields = serde_json::to_value(ClientEvent::Backtrack(backtrack)).unwrap();
    let mut names: Vec<&str> = fields.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    let expected =
        ["addendum", "checkpointId", "discarded", "entryId", "fromId", "note", "originalUserMessage", "type"];
    assert_eq!(names, expected);
}
