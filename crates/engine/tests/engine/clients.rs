//! The contract of clients, over the client in this process, and over one that sends everything as JSON.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use osier_engine::client_contract::ClientFixture;
use osier_engine::{ContractEngine, LocalClient};
use osier_protocol::{
    Attached, Client, ClientCommand, ClientError, CommandReply, LogPosition, QueryAnswer, SessionQuery,
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

mod local {
    use super::LocalFixture;

    osier_engine::client_contract_tests!(LocalFixture::new(false).await);
}

mod json {
    use super::LocalFixture;

    osier_engine::client_contract_tests!(LocalFixture::new(true).await);
}
