//! Two gateways on one store: what file stores and databases have in common.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use osier_protocol::{Client, ClientEvent, EventStream, OpenTarget};
use reqwest::Method;
use serde_json::{Value, json};

use crate::run_support::{ModelRequest, ModelServer};
use crate::server::TestGateway;
use crate::socket_support;

/// Two gateways, a session in which the first one runs a turn, and the request of that turn to the model.
pub(crate) struct BusyPair {
    pub(crate) first: TestGateway,
    pub(crate) second: TestGateway,
    pub(crate) session: String,
    pub(crate) request: ModelRequest,
}

impl BusyPair {
    pub(crate) async fn new(model: &ModelServer, first: TestGateway, new: Value) -> BusyPair {
        let second = first.start_beside();
        let created = first.post("/api/sessions", new).await;
        let session = format!("/api/sessions/{}", created["id"].as_str().unwrap());
        first.post(&format!("{session}/prompt"), json!({ "text": "hello" })).await;
        BusyPair { first, second, session, request: model.next_request() }
    }

    /// The second gateway shows what the first one stored, and refuses to run a turn at the same place.
    pub(crate) async fn check_lease(&self) {
        let snapshot = self.second.get(&format!("{}/snapshot", self.session)).await;
        assert!(snapshot["entries"].to_string().contains("hello"), "{snapshot}");
        let refused = self.prompt_second().await;
        assert_eq!(refused, (409, "session_busy".to_owned()));
        let deleted = self.second.fails(Method::DELETE, &self.session, json!({})).await;
        assert_eq!(deleted, (409, "session_busy".to_owned()));
    }

    async fn prompt_second(&self) -> (u16, String) {
        self.second
            .fails(Method::POST, &format!("{}/prompt", self.session), json!({ "text": "me too" }))
            .await
    }
}

/// Waits until the text is in the entries that a gateway shows.
pub(crate) async fn wait_for_text(gateway: &TestGateway, session: &str, text: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let entries = gateway.get(&format!("{session}/entries")).await;
        if entries.to_string().contains(text) {
            return;
        }
        assert!(Instant::now() < deadline, "{text} is not in {entries}");
        tokio::task::yield_now().await;
    }
}

/// How soon an entry of one gateway reaches the clients of another.
const MAX_DELAY: Duration = Duration::from_secs(1);
/// How often a busy machine may be slower. Each entry is sent when the one before has just arrived, so that a gateway that looks
/// too seldom is always late.
const ATTEMPTS: usize = 20;

/// A client of a gateway that follows a session.
async fn follow(gateway: &TestGateway, session: &str) -> (Arc<dyn Client>, EventStream) {
    let engine = socket_support::connect(gateway, &gateway.token).await;
    let name = session.rsplit('/').next().unwrap().to_owned();
    let client = socket_support::open(&engine, OpenTarget::Named { name }).await.client;
    let events = client.attach(None).await.unwrap().events;
    (client, events)
}

/// A client of `second` gets the entries that `first` stores as events, within a second.
pub(crate) async fn follow_foreign_entries(first: &TestGateway, second: &TestGateway, session: &str) {
    let (_client, mut events) = follow(second, session).await;
    let mut delays = Vec::new();
    while delays.len() < ATTEMPTS {
        let text = format!("number {}.", delays.len());
        let message = json!({ "message": { "role": "user", "content": text } });
        first.post(&format!("{session}/messages"), message).await;
        let stored = Instant::now();
        socket_support::wait_for(&mut events, |event| socket_support::has_text(event, &text)).await;
        delays.push(stored.elapsed());
        if delays.len() >= 3 && delays.iter().any(|delay| *delay < MAX_DELAY) {
            println!("entries of one gateway reached a client of the other after {delays:?}");
            return;
        }
    }
    panic!("no entry arrived within a second: {delays:?}");
}

/// A client of `second` gets what the agent behind `first` stores, as events, but not the pieces of its reply.
pub(crate) async fn follow_foreign_turn(
    model: &ModelServer,
    first: &TestGateway,
    second: &TestGateway,
    session: &str,
) {
    let (_client, mut events) = follow(second, session).await;
    first.post(&format!("{session}/prompt"), json!({ "text": "hello" })).await;
    let mut request = model.next_request();
    request.send_text("Hello from the first.");
    let has_draft = |state: &Value| state["drafts"].to_string().contains("Hello from the first.");
    wait_for(first, session, has_draft).await;
    request.finish("stop");
    loop {
        let event = tokio::time::timeout(socket_support::TEST_TIMEOUT, events.next()).await;
        match event.expect("the reply arrives").expect("the stream is open") {
            event @ (ClientEvent::DraftStarted { .. } | ClientEvent::DraftDelta { .. }) => {
                panic!("a piece of a reply crossed: {event:?}")
            }
            event @ ClientEvent::Entry(_) if socket_support::has_text(&event, "Hello from the first.") => {
                return;
            }
            _ => {}
        }
    }
}

/// Waits until the state of a session is as wanted.
pub(crate) async fn wait_for(
    gateway: &TestGateway,
    session: &str,
    is_reached: impl Fn(&Value) -> bool,
) -> Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let state = gateway.get(&format!("{session}/state")).await;
        if is_reached(&state) {
            return state;
        }
        assert!(Instant::now() < deadline, "{state}");
        tokio::task::yield_now().await;
    }
}
