//! A client that can only read a session. It starts no agent. If one works there, the client also sees what that agent does.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use osier_agent::attach_without_agent;
use osier_protocol::{
    Attached, Client, ClientCommand, ClientError, ClientEvent, CommandReply, EventStream, LogPosition,
    QueryAnswer, SessionQuery,
};
use tokio::sync::watch;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::live_sessions::LiveSession;
use crate::queries;
use crate::stored::StoredSession;

/// See the module documentation.
#[derive(Debug, Clone)]
pub struct SessionReader {
    live: Arc<LiveSession>,
    engine: Engine,
}

impl Engine {
    /// A client for one request that reads a session.
    pub async fn read(&self, stored: &StoredSession) -> Result<SessionReader, EngineError> {
        Ok(SessionReader { live: self.open_briefly(stored).await?, engine: self.clone() })
    }

    /// A client that reads a session and follows it. It gets what other processes append.
    pub async fn follow(&self, stored: &StoredSession) -> Result<SessionReader, EngineError> {
        Ok(SessionReader { live: self.open(stored).await?, engine: self.clone() })
    }
}

impl SessionReader {
    pub fn live(&self) -> &Arc<LiveSession> {
        &self.live
    }
}

#[async_trait]
impl Client for SessionReader {
    async fn send(&self, _: ClientCommand) -> Result<CommandReply, ClientError> {
        Err(EngineError::ReadOnly.into())
    }

    async fn query(&self, query: SessionQuery) -> Result<QueryAnswer, ClientError> {
        let cursor = self.live.session().main_cursor();
        let mut answer = queries::answer_from_session(&cursor, query).await?;
        if let Some(QueryAnswer::Subagents { batches }) = &mut answer {
            self.engine.add_task_states(&self.live, batches).await;
        }
        Ok(answer.ok_or(EngineError::NeedsAgent)?)
    }

    async fn attach(&self, after: Option<LogPosition>) -> Result<Attached, ClientError> {
        // Before the agent is looked up, so that none can start unnoticed.
        let agent_starts = self.live.agents.watch_starts();
        if let Some(connection) = self.live.running_agent().await {
            let Attached { state, events } =
                connection.agent().worker.attach(after).await.map_err(EngineError::from)?;
            return Ok(Attached { state, events: keep(self.live.clone(), events) });
        }
        let cursor = self.live.session().main_cursor();
        let Attached { state, events } =
            attach_without_agent(&cursor, after).await.map_err(EngineError::from)?;
        let events = until_agent_starts(events, agent_starts);
        Ok(Attached { state, events: keep(self.live.clone(), events) })
    }
}

/// The events; they end when an agent starts, so that the client attaches again and sees what that agent does.
fn until_agent_starts(events: EventStream, agent_starts: watch::Receiver<u64>) -> EventStream {
    let next = |(mut events, starts): (EventStream, Option<watch::Receiver<u64>>)| async move {
        let mut starts = starts?;
        let event = tokio::select! {
            event = events.next() => Some(event?),
            Ok(()) = starts.changed() => None,
        };
        Some(match event {
            Some(event) => (event, (events, Some(starts))),
            None => (ClientEvent::Lagged { missed: 0 }, (events, None)),
        })
    };
    Box::pin(stream::unfold((events, Some(agent_starts)), next))
}

/// Keeps the session open as long as somebody reads its events.
fn keep(live: Arc<LiveSession>, events: EventStream) -> EventStream {
    Box::pin(events.inspect(move |_| {
        let _open = &live;
    }))
}
