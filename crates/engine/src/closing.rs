//! Closing all sessions at the end of the process, within a time limit.

use std::time::Duration;

use futures_util::future::join_all;
use osier_agent::hooks::HookEvent;
use tokio::time::{Instant, timeout_at};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::live_agents::LiveAgent;
use crate::live_sessions::{LiveSession, LiveSlot};
use crate::operations::switch::observe;

/// A session whose last results could not be stored and are lost.
#[derive(Debug)]
pub struct LostResults {
    pub session: String,
    /// `None` if the store did not answer in time.
    pub error: Option<EngineError>,
}

impl Engine {
    /// Closes all sessions at the end of the process: cancels what runs, stores what is still in memory, and closes the
    /// stores. Waits at most `limit` for all of it. What does not end in time is handled like a crash at the next start.
    pub async fn close(&self, limit: Duration) -> Vec<LostResults> {
        let deadline = Instant::now() + limit;
        let closed =
            join_all(self.live().all_slots().into_iter().map(|slot| close_slot(slot, deadline))).await;
        closed.into_iter().flatten().collect()
    }
}

async fn close_slot(slot: LiveSlot, deadline: Instant) -> Vec<LostResults> {
    let live = timeout_at(deadline, slot.lock()).await.ok().and_then(|session| session.upgrade());
    let Some(live) = live else { return Vec::new() };
    live.explores.cancel_all();
    let agents = timeout_at(deadline, live.agents.all()).await.unwrap_or_default();
    let ended = join_all(agents.iter().map(|agent| end_agent(agent, deadline))).await;
    // The last step of an explore returns the leaf of the log to where the tries started.
    if timeout_at(deadline, live.explores.wait_for_all()).await.is_err() {
        tracing::warn!(session = live.session().id(), "an explore did not end in time");
    }
    if timeout_at(deadline, close_session(&live)).await.is_err() {
        tracing::warn!(session = live.session().id(), "the session was not closed in time");
    }
    ended.into_iter().flatten().collect()
}

/// Cancels what the agent does, and stores what is still in memory.
async fn end_agent(agent: &LiveAgent, deadline: Instant) -> Option<LostResults> {
    let session = agent.live.session().id();
    let error = match timeout_at(deadline, agent.worker.finish()).await {
        Ok(Ok(())) => return None,
        Ok(Err(error)) => Some(EngineError::from(error)),
        Err(_) => None,
    };
    tracing::warn!(session, ?error, "cannot end an agent cleanly");
    agent.worker.has_unstored_results().then(|| LostResults { session: session.to_owned(), error })
}

async fn close_session(live: &LiveSession) {
    if live.must_announce_close() {
        observe(live.hooks(), live.session(), &HookEvent::SessionClosed).await;
    }
    live.session().store().close().await;
}
