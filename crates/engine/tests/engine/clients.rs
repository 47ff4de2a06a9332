//! The contract of clients, over the client in this process, and over one that sends everything as JSON.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use osier_agent::{AgentConfig, Worker};
use osier_engine::LocalClient;
use osier_engine::client_contract::{self, ClientFixture};
use osier_model::ModelInfo;
use osier_model::scripted::{ScriptedModel, ScriptedTurn};
use osier_protocol::{
    Attached, Client, ClientCommand, ClientError, CommandReply, LogPosition, QueryAnswer, SessionQuery,
};
use osier_session::{Session, SessionEnv};
use osier_store::MemoryStore;
use osier_tools::{CommandEnv, ToolContext, ToolSet};
use osier_tree::Header;
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
    worker: Worker,
    model: ScriptedModel,
    as_json: bool,
    _folder: tempfile::TempDir,
}

impl LocalFixture {
    async fn new(as_json: bool) -> LocalFixture {
        let folder = tempfile::tempdir().unwrap();
        let header = Header::new("s", 0, "/x");
        let store = Arc::new(MemoryStore::default());
        let session = Session::create(store, &header, &[], SessionEnv::default()).await.unwrap();
        let model = ScriptedModel::new([]);
        let info = Arc::new(ScriptedModel::info());
        let lookup: Vec<Arc<ModelInfo>> = vec![info.clone()];
        let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
        let context = ToolContext::new(folder.path(), folder.path().join("output"), CommandEnv::new(path));
        let tools = Arc::new(ToolSet::standard());
        let mut config = AgentConfig::new(Arc::new(model.clone()), Arc::new(lookup), info, tools, context);
        config.has_user = true;
        config.backtracking = false;
        let worker = Worker::start(session, config).await.unwrap();
        LocalFixture { worker, model, as_json, _folder: folder }
    }
}

#[async_trait]
impl ClientFixture for LocalFixture {
    async fn connect(&self) -> Arc<dyn Client> {
        let client = LocalClient::new(self.worker.clone());
        if self.as_json { Arc::new(JsonClient(client)) } else { Arc::new(client) }
    }

    fn push_turn(&self, turn: ScriptedTurn) {
        self.model.push(turn);
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
    errors_have_a_code,
}
