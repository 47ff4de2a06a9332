//! The agents of a live session: at most one per cursor. An agent stays as long as a client is connected to it or something
//! runs; then it ends, and with the last one its session closes.

use std::sync::{Arc, Weak};

use osier_agent::Worker;
use osier_model::CancellationToken;
use osier_session::CursorId;
use rustc_hash::FxHashMap;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, MutexGuard, watch};

use crate::agents::AgentSpec;
use crate::engine::Engine;
use crate::live_sessions::LiveSession;

/// An agent that works in a live session.
#[derive(Debug)]
pub(crate) struct LiveAgent {
    pub(crate) worker: Worker,
    /// It has no tools and runs one command, so it cannot serve a conversation.
    is_one_shot: bool,
    /// Keeps the session open.
    pub(crate) live: Arc<LiveSession>,
    /// What it was started with.
    pub(crate) engine: Engine,
    pub(crate) spec: AgentSpec,
    /// Canceled when the agent ends.
    ended: CancellationToken,
}

impl LiveAgent {
    pub(crate) fn new(
        worker: Worker,
        live: Arc<LiveSession>,
        engine: Engine,
        spec: AgentSpec,
    ) -> Arc<LiveAgent> {
        let (is_one_shot, ended) = (spec.is_one_shot, CancellationToken::new());
        Arc::new(LiveAgent { worker, is_one_shot, live, engine, spec, ended })
    }
}

impl Drop for LiveAgent {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

/// The connection of one client to an agent.
#[derive(Debug)]
pub(crate) struct AgentConnection(Arc<LiveAgent>);

impl AgentConnection {
    pub(crate) fn new(agent: Arc<LiveAgent>) -> AgentConnection {
        AgentConnection(agent)
    }

    pub(crate) fn agent(&self) -> &LiveAgent {
        &self.0
    }
}

impl LiveSession {
    /// Connects to the agent at the main cursor, if one works there now.
    pub(crate) async fn running_agent(&self) -> Option<AgentConnection> {
        let agent = self.agents.find(self.session().main_cursor().id(), true).await.ok()?;
        Some(AgentConnection::new(agent))
    }
}

/// What the client started goes on without it, and the agent ends no earlier.
impl Drop for AgentConnection {
    fn drop(&mut self) {
        if let Ok(runtime) = Handle::try_current() {
            let agent = self.0.clone();
            runtime.spawn(async move { agent.worker.wait_until_idle().await });
        }
    }
}

/// The agents that work now, by cursor.
type AgentsByCursor = FxHashMap<CursorId, Weak<LiveAgent>>;

/// All agents of a session. The map is locked while an agent starts, so that a second caller waits for the first.
#[derive(Debug, Default)]
pub(crate) struct LiveAgents {
    by_cursor: Mutex<AgentsByCursor>,
    /// How many agents have started.
    starts: watch::Sender<u64>,
}

impl LiveAgents {
    /// The agent at a cursor, if it can serve the caller; else the place to put a new one. Waits for the end of an agent that
    /// runs only one command, if the caller needs more.
    pub(crate) async fn find(
        &self,
        cursor: CursorId,
        is_one_shot: bool,
    ) -> Result<Arc<LiveAgent>, VacantCursor<'_>> {
        loop {
            let mut agents = self.by_cursor.lock().await;
            agents.retain(|_, agent| agent.strong_count() > 0);
            let ended = match agents.get(&cursor).and_then(Weak::upgrade) {
                Some(agent) if is_one_shot || !agent.is_one_shot => return Ok(agent),
                Some(agent) => agent.ended.clone(),
                None => return Err(VacantCursor { agents, cursor, starts: &self.starts }),
            };
            drop(agents);
            ended.cancelled().await;
        }
    }

    /// Changes when an agent starts.
    pub(crate) fn watch_starts(&self) -> watch::Receiver<u64> {
        self.starts.subscribe()
    }

    /// The agents that work now.
    pub(crate) async fn all(&self) -> Vec<Arc<LiveAgent>> {
        self.by_cursor.lock().await.values().filter_map(Weak::upgrade).collect()
    }
}

/// A cursor without an agent. Nobody else can start one there in the meantime.
#[derive(Debug)]
pub(crate) struct VacantCursor<'a> {
    agents: MutexGuard<'a, AgentsByCursor>,
    cursor: CursorId,
    starts: &'a watch::Sender<u64>,
}

impl VacantCursor<'_> {
    pub(crate) fn insert(mut self, agent: &Arc<LiveAgent>) {
        self.agents.insert(self.cursor, Arc::downgrade(agent));
        self.starts.send_modify(|count| *count += 1);
    }
}
