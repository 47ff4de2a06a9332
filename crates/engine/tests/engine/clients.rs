//! The contract of clients, over the client in this process, and over one that sends everything as JSON.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use osier_engine::client_contract::ClientFixture;
use osier_engine::{ContractEngine, LocalClient};
use osier_protocol::{
    Attached, Client, ClientCommand, ClientError, ClientEvent, CommandReply, ExtensionEvent, LogPosition,
    NotifyType, QueryAnswer, RequestedSession, SessionQuery,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value after it was sent as JSON.
fn sent<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let json = serde_json::to_string(value).unwrap();
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// A client behind a wire.
#[derive(Debug)]
struct JsonClient(LocalClient);

#[async_trait]
impl Client for JsonClient {
    async fn send(&self, command: ClientCommand) -> Result<CommandReply, ClientError> {
        match self.0.send(sent(&command)).await {
            Ok(reply) => Ok(sent(&reply)),
            Err(error) => Err(sent(&error)),
        }
    }

    async fn query(&self, query: SessionQuery) -> Result<QueryAnswer, ClientError> {
        match self.0.query(sent(&query)).await {
            Ok(answer) => Ok(sent(&answer)),
            Err(error) => Err(sent(&error)),
        }
    }

    async fn attach(&self, after: Option<LogPosition>) -> Result<Attached, ClientError> {
        let Attached { state, events } = self.0.attach(sent(&after)).await?;
        Ok(Attached { state: sent(&state), events: events.map(|event| sent(&event)).boxed() })
    }
}

struct LocalFixture {
    engine: ContractEngine,
    as_json: bool,
}

impl LocalFixture {
    async fn new(as_json: bool) -> LocalFixture {
        LocalFixture { engine: ContractEngine::new().await, as_json }
    }
}

#[async_trait]
impl ClientFixture for LocalFixture {
    async fn connect(&self) -> Arc<dyn Client> {
        let client = self.engine.connect().await.unwrap();
        if self.as_json { Arc::new(JsonClient(client)) } else { Arc::new(client) }
    }

    fn engine(&self) -> &ContractEngine {
        &self.engine
    }
}

/// What all clients get.
fn notification() -> ExtensionEvent {
    ExtensionEvent::Notify { message: "seen".to_owned(), notify_type: NotifyType::Info }
}

/// An extension asks the client whose user acted last to end; others go on.
#[tokio::test]
async fn what_an_extension_asks_of_a_client_reaches_only_the_one_whose_user_acted_last() {
    let engine = ContractEngine::new().await;
    let (quiet, active) = (engine.connect().await.unwrap(), engine.connect().await.unwrap());
    let mut streams = Vec::new();
    for client in [&quiet, &active] {
        streams.push(client.attach(None).await.unwrap().events);
    }
    quiet.send(ClientCommand::ClearQueue).await.unwrap();
    active.send(ClientCommand::ClearQueue).await.unwrap();
    active.worker().request_quit();
    active.worker().request_session(RequestedSession::New);
    // Everybody gets this one.
    active.worker().show(notification());
    let seen = ClientEvent::Extension(notification());
    let mut received = Vec::new();
    for events in &mut streams {
        let mut before = Vec::new();
        while before.last() != Some(&seen) {
            before.push(events.next().await.unwrap());
        }
        received.push(before);
    }
    let requested = ClientEvent::SessionRequested { session: RequestedSession::New };
    assert_eq!(received[0], std::slice::from_ref(&seen));
    assert_eq!(received[1], [ClientEvent::QuitRequested, requested, seen]);
}

#[tokio::test]
async fn what_an_extension_asks_of_a_client_reaches_all_if_the_one_whose_user_acted_last_has_left() {
    let engine = ContractEngine::new().await;
    let (stays, leaves) = (engine.connect().await.unwrap(), engine.connect().await.unwrap());
    let mut events = stays.attach(None).await.unwrap().events;
    let others = leaves.attach(None).await.unwrap().events;
    leaves.send(ClientCommand::ClearQueue).await.unwrap();
    drop(others);
    stays.worker().request_quit();
    stays.worker().show(notification());
    assert_eq!(events.next().await, Some(ClientEvent::QuitRequested));
}

/// Every command over REST is one.
#[tokio::test]
async fn a_client_that_receives_no_events_is_asked_nothing() {
    let engine = ContractEngine::new().await;
    let (attached, other) = (engine.connect().await.unwrap(), engine.connect().await.unwrap());
    let (mut events, mut others) =
        (attached.attach(None).await.unwrap().events, other.attach(None).await.unwrap().events);
    attached.send(ClientCommand::ClearQueue).await.unwrap();
    engine.connect().await.unwrap().send(ClientCommand::ClearQueue).await.unwrap();
    attached.worker().request_quit();
    attached.worker().show(notification());
    assert_eq!(events.next().await, Some(ClientEvent::QuitRequested));
    assert_eq!(others.next().await, Some(ClientEvent::Extension(notification())));
}

mod local {
    use super::LocalFixture;

    osier_engine::client_contract_tests!(LocalFixture::new(false).await);
}

mod json {
    use super::LocalFixture;

    osier_engine::client_contract_tests!(LocalFixture::new(true).await);
}
