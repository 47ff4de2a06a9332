//! Clients of a gateway over a WebSocket.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use osier_protocol::{ClientEvent, EngineClient, EventStream, OpenRequest, OpenTarget, OpenedSession};
use osier_wire::{RemoteEngine, RemoteOptions, WebSocketConnector};

use crate::server::TestGateway;

/// A test that waits longer fails.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn socket_url(gateway: &TestGateway) -> String {
    format!("{}/ws", gateway.url.replacen("http", "ws", 1))
}

pub(crate) async fn connect(gateway: &TestGateway, token: &str) -> RemoteEngine {
    let connector = Arc::new(WebSocketConnector::new(socket_url(gateway), Some(token.to_owned())));
    RemoteEngine::connect(connector, RemoteOptions::default()).await.unwrap()
}

pub(crate) async fn open(engine: &RemoteEngine, target: OpenTarget) -> OpenedSession {
    engine.open(OpenRequest { target, leaving: None }).await.unwrap().unwrap()
}

/// Waits for an event.
pub(crate) async fn wait_for(events: &mut EventStream, is_wanted: impl Fn(&ClientEvent) -> bool) {
    let wait = async { while !is_wanted(&events.next().await.expect("the stream is open")) {} };
    tokio::time::timeout(TEST_TIMEOUT, wait).await.expect("the event arrives");
}

pub(crate) fn has_text(event: &ClientEvent, text: &str) -> bool {
    serde_json::to_string(event).unwrap().contains(text)
}
