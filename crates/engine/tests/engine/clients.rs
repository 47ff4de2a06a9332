//! The contract of clients, over the client in this process, and over one that sends everything as JSON.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use osier_engine::client_contract::ClientFixture;
use osier_engine::recording_hook::RecordingHook;
use osier_engine::{EngineConfig, KeepWhen, LocalClient};
use osier_model::Request;
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{
    Attached, Client, ClientCommand, ClientError, CommandReply, LogPosition, QueryAnswer, SessionQuery,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::support::TestEngine;

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
    engine: TestEngine,
    session: String,
    hook: Arc<RecordingHook>,
    as_json: bool,
}

impl LocalFixture {
    async fn new(as_json: bool) -> LocalFixture {
        let hook = Arc::new(RecordingHook::default());
        let engine =
            TestEngine::with_config(EngineConfig { hooks: hook.registered(), ..EngineConfig::default() });
        let session = engine.create(KeepWhen::Always).await.session().id().to_owned();
        LocalFixture { engine, session, hook, as_json }
    }
}

#[async_trait]
impl ClientFixture for LocalFixture {
    async fn connect(&self) -> Arc<dyn Client> {
        let live = self.engine.open(&self.session).await;
        let client = self.engine.engine.connect(&live, &self.engine.agent()).await.unwrap();
        if self.as_json { Arc::new(JsonClient(client)) } else { Arc::new(client) }
    }

    fn push_turn(&self, turn: ScriptedTurn) {
        self.engine.push_turn(turn);
    }

    fn last_request(&self) -> Request {
        self.engine.model.requests().pop().unwrap()
    }

    fn hook(&self) -> Arc<RecordingHook> {
        self.hook.clone()
    }
}

mod local {
    use super::LocalFixture;

    osier_engine::client_contract_tests!(LocalFixture::new(false).await);
}

mod json {
    use super::LocalFixture;

    osier_engine::client_contract_tests!(LocalFixture::new(true).await);
}
