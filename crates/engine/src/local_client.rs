//! The client of a session in this process: commands go to the agent, queries read the session.

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use osier_agent::{ClientId, Worker};
use osier_protocol::{
    Attached, Client, ClientCommand, ClientError, CommandReply, LogPosition, QueryAnswer, SessionQuery,
};

use crate::agents::AgentSpec;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::live_agents::AgentConnection;
use crate::live_sessions::LiveSession;
use crate::queries;

/// See the module documentation. Clones are one client. When it is dropped, what it started goes on.
#[derive(Debug, Clone)]
pub struct LocalClient {
    connection: Arc<AgentConnection>,
    id: ClientId,
}

impl LocalClient {
    pub(crate) fn new(connection: AgentConnection) -> LocalClient {
        LocalClient { connection: Arc::new(connection), id: ClientId::new() }
    }

    /// The session of the agent.
    pub fn live(&self) -> &Arc<LiveSession> {
        &self.connection.agent().live
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.connection.agent().engine
    }

    /// What the agent was started with.
    pub(crate) fn spec(&self) -> &AgentSpec {
        &self.connection.agent().spec
    }

    /// The agent, for callers in this process that need more than the protocol.
    pub fn worker(&self) -> &Worker {
        &self.connection.agent().worker
    }
}

#[async_trait]
impl Client for LocalClient {
    async fn send(&self, command: ClientCommand) -> Result<CommandReply, ClientError> {
        Ok(match command {
            ClientCommand::CancelTasks { task } => self.live().tasks.cancel(task.as_deref())?,
            ClientCommand::SteerTask { task, text } => {
                self.live().tasks.steer(task.as_deref(), &text).await?
            }
            ClientCommand::Explore(command) => CommandReply::Explore(Box::new(self.explore(command).await?)),
            command => self.worker().send_as(self.id, command).await.map_err(EngineError::from)?,
        })
    }

    async fn query(&self, query: SessionQuery) -> Result<QueryAnswer, ClientError> {
        Ok(match query {
            SessionQuery::Explores => QueryAnswer::Explores { explores: self.explores().await? },
            SessionQuery::CompareTries { explore, left, right } => QueryAnswer::CompareTries(Box::new(
                self.compare_tries(explore.as_deref(), left, right).await?,
            )),
            query => match queries::answer_query(self.worker(), query).await? {
                QueryAnswer::Subagents { mut batches } => {
                    self.engine().add_task_states(self.live(), &mut batches).await;
                    QueryAnswer::Subagents { batches }
                }
                answer => answer,
            },
        })
    }

    async fn attach(&self, after: Option<LogPosition>) -> Result<Attached, ClientError> {
        Ok(self.worker().attach_as(self.id, after).await.map_err(EngineError::from)?)
    }
}

impl From<EngineError> for ClientError {
    fn from(error: EngineError) -> ClientError {
        ClientError::new(error.code(), error_chain(&error)).with_facts(error.fields())
    }
}

/// The error and its causes, without those that it already contains.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
