//! Two gateways on one store: what file stores and databases have in common.

use std::time::{Duration, Instant};

use osier_protocol::OpenTarget;
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

/// An entry of one gateway reaches the clients of another within a second. A test on a busy machine gets some more.
const MAX_DELAY: Duration = Duration::from_secs(10);

/// A client of `second` gets the entries that `first` stores as events.
pub(crate) async fn follow_foreign_entries(first: &TestGateway, second: &TestGateway, session: &str) {
    let engine = socket_support::connect(second, &second.token).await;
    let name = session.rsplit('/').next().unwrap().to_owned();
    let opened = socket_support::open(&engine, OpenTarget::Named { name }).await;
    let mut events = opened.client.attach(None).await.unwrap().events;
    for text in ["one", "two", "three"] {
        let message = json!({ "message": { "role": "user", "content": format!("number {text}") } });
        first.post(&format!("{session}/messages"), message).await;
        let stored = Instant::now();
        let text = format!("number {text}");
        let arrives = socket_support::wait_for(&mut events, |event| socket_support::has_text(event, &text));
        tokio::time::timeout(MAX_DELAY, arrives).await.expect("the other gateway sees the entry soon");
        println!("an entry of one gateway reached a client of the other after {:?}", stored.elapsed());
    }
}
