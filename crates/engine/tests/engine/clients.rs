//! The contract of clients, over the client in this process, and over one that sends everything as JSON.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use osier_engine::client_contract::{self, ClientFixture};
use osier_engine::{KeepWhen, LocalClient};
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
    as_json: bool,
}

impl LocalFixture {
    async fn new(as_json: bool) -> LocalFixture {
        let engine = TestEngine::new();
        let session = engine.create(KeepWhen::Always).await.session().id().to_owned();
        LocalFixture { engine, session, as_json }
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
}

macro_rules! client_contract {
    ($($case:ident,)*) => {
        mod local {
            use super::*;
            $(#[tokio::test]
            async fn $case() {
                client_contract::$case(&LocalFixture::new(false).await).await;
            })*
        }

        mod json {
            use super::*;
            $(#[tokio::test]
            async fn $case() {
                client_contract::$case(&LocalFixture::new(true).await).await;
            })*
        }
    };
}

client_contract! {
    a_prompt_runs_a_turn,
    attaching_in_a_turn_has_no_gap_and_no_duplicate,
    a_client_that_was_away_misses_no_entry,
    a_slow_client_lags_and_catches_up,
    any_client_answers_a_question,
    queued_prompts_return_when_the_turn_is_canceled,
    moves_are_announced_to_every_client,
    two_clients_receive_the_same_events,
    a_client_that_vanishes_disturbs_nobody,
    a_turn_goes_on_when_all_clients_are_gone,
    a_session_without_clients_can_be_opened_again,
    errors_have_a_code,
}
