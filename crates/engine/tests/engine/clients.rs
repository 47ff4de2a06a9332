//! The contract of clients, over the client in this process, and over one that sends everything as JSON.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use osier_engine::client_contract::{self, ClientFixture};
use osier_engine::recording_hook::RecordingHook;
use osier_engine::{EngineConfig, KeepWhen, LocalClient, hook_contract};
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

macro_rules! client_contract {
    ($($module:ident::$case:ident,)*) => {
        mod local {
            use super::*;
            $(#[tokio::test]
            async fn $case() {
                $module::$case(&LocalFixture::new(false).await).await;
            })*
        }

        mod json {
            use super::*;
            $(#[tokio::test]
            async fn $case() {
                $module::$case(&LocalFixture::new(true).await).await;
            })*
        }
    };
}

client_contract! {
    client_contract::a_prompt_runs_a_turn,
    client_contract::attaching_in_a_turn_has_no_gap_and_no_duplicate,
    client_contract::a_client_that_was_away_misses_no_entry,
    client_contract::a_slow_client_lags_and_catches_up,
    client_contract::any_client_answers_a_question,
    client_contract::queued_prompts_return_when_the_turn_is_canceled,
    client_contract::moves_are_announced_to_every_client,
    client_contract::two_clients_receive_the_same_events,
    client_contract::a_client_that_vanishes_disturbs_nobody,
    client_contract::a_turn_goes_on_when_all_clients_are_gone,
    client_contract::a_session_without_clients_can_be_opened_again,
    client_contract::errors_have_a_code,
    client_contract::a_message_of_an_extension_is_stored_or_answered,
    hook_contract::a_move_is_asked_once_and_can_be_refused_or_altered,
    hook_contract::a_summary_of_a_move_is_one_request,
    hook_contract::undo_and_redo_are_asked_once_and_can_be_refused,
    hook_contract::a_compaction_is_asked_once_and_can_be_refused_or_altered,
    hook_contract::a_prompt_is_asked_once_and_can_be_handled_or_altered,
    hook_contract::each_model_call_asks_for_its_context_and_request,
    hook_contract::a_tool_call_is_asked_once_and_can_be_blocked_or_altered,
    hook_contract::a_graft_and_marks_ask_nobody,
}
