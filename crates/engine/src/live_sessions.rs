//! The live sessions of the process: at most one writer per session and one agent per cursor, shared by everyone who uses
//! the session. A session closes when the last client has left and nothing runs in it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use osier_agent::Hooks;
use osier_agent::hooks::HookEvent;
use osier_session::{Session, SessionEnv};
use osier_store::{OpenedLog, Store};
use rustc_hash::FxHashMap;
use tokio::runtime::Handle;

use crate::configured_store::resolve_links;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::explore::running_explores::RunningExplores;
use crate::live_agents::LiveAgents;
use crate::operations::switch::observe;
use crate::stored::StoredSession;
use crate::subagents::running_tasks::RunningTasks;

/// An open session and the agents that work in it.
#[derive(Debug)]
pub struct LiveSession {
    session: Session,
    pub(crate) agents: LiveAgents,
    /// The tasks of its sub-agents that run now.
    pub(crate) tasks: Arc<RunningTasks>,
    /// The tries that run now.
    pub(crate) explores: RunningExplores,
    hooks: Arc<Hooks>,
    is_close_announced: AtomicBool,
}

impl LiveSession {
    pub fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// Whether the hooks must learn that the session closes.
    pub(crate) fn must_announce_close(&self) -> bool {
        !self.hooks.is_empty() && !self.is_close_announced.swap(true, Ordering::Relaxed)
    }
}

impl Drop for LiveSession {
    fn drop(&mut self) {
        tracing::debug!(session = self.session.id(), "a session is no longer live");
        if let Some(runtime) = Handle::try_current().ok().filter(|_| self.must_announce_close()) {
            let (hooks, session) = (self.hooks.clone(), self.session.clone());
            runtime.spawn(async move { observe(&hooks, &session, &HookEvent::SessionClosed).await });
        }
    }
}

/// Identifies a session in this process. Different names of one file are one session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum LiveKey {
    File(PathBuf),
    Stored { store: String, id: String },
}

impl LiveKey {
    fn new(store: &dyn Store, opened: &OpenedLog) -> LiveKey {
        match &opened.file {
            // The file of a new session may not exist yet.
            Some(file) => LiveKey::File(resolve_links(file).unwrap_or_else(|| file.clone())),
            None => LiveKey::Stored { store: store.name().to_owned(), id: opened.header.id.clone() },
        }
    }
}

/// The place of one session. It is locked while the session is opened, so that a second caller waits for the first.
pub(crate) type LiveSlot = Arc<tokio::sync::Mutex<Weak<LiveSession>>>;

/// All open sessions.
#[derive(Debug, Default)]
pub(crate) struct LiveSessions(Mutex<FxHashMap<LiveKey, LiveSlot>>);

impl LiveSessions {
    fn slots(&self) -> MutexGuard<'_, FxHashMap<LiveKey, LiveSlot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of a session. Also removes the slots of closed sessions.
    fn slot(&self, key: LiveKey) -> LiveSlot {
        let mut slots = self.slots();
        slots.retain(|_, slot| {
            let is_closed = || slot.try_lock().is_ok_and(|session| session.strong_count() == 0);
            Arc::strong_count(slot) > 1 || !is_closed()
        });
        slots.entry(key).or_default().clone()
    }

    pub(crate) fn all_slots(&self) -> Vec<LiveSlot> {
        self.slots().values().cloned().collect()
    }
}

impl Engine {
    /// Whether a session is open or has been open recently.
    pub fn has_live_sessions(&self) -> bool {
        !self.live().slots().is_empty()
    }

    /// Opens a stored session and watches it. Everyone who opens it gets the same one.
    pub async fn open(&self, stored: &StoredSession) -> Result<Arc<LiveSession>, EngineError> {
        self.open_live(stored.store.clone(), &stored.key).await
    }

    pub(crate) async fn open_live(
        &self,
        store: Arc<dyn Store>,
        key: &str,
    ) -> Result<Arc<LiveSession>, EngineError> {
        let live_key = LiveKey::new(&*store, &store.open(key).await?);
        let live = self.share_or_open(live_key, store, key, true).await?;
        // An operation may have opened it briefly.
        live.session.start_watching().await?;
        Ok(live)
    }

    /// The session with this key in a store, if it is live. Finds sessions that are not stored yet, and those in memory.
    pub fn live_session(&self, store: &str, key: &str) -> Option<Arc<LiveSession>> {
        // A session that is being opened now is stored, so that it can be found there.
        let open = self.live().all_slots().into_iter().filter_map(|slot| slot.try_lock().ok()?.upgrade());
        open.into_iter().find(|live| live.session.store().name() == store && live.session.key() == key)
    }

    /// Opens the session with this key in a store, or shares it if it is live.
    pub async fn open_at(&self, store: &str, key: &str) -> Result<Arc<LiveSession>, EngineError> {
        match self.live_session(store, key) {
            Some(live) => {
                live.session.refresh().await?;
                live.session.start_watching().await?;
                Ok(live)
            }
            None => self.open(&self.session_at(store, key).await?).await,
        }
    }

    /// Like `open_at`, for one operation.
    pub async fn open_briefly_at(&self, store: &str, key: &str) -> Result<Arc<LiveSession>, EngineError> {
        match self.live_session(store, key) {
            Some(live) => Ok(live),
            None => self.open_briefly(&self.session_at(store, key).await?).await,
        }
    }

    /// Opens a session for one operation. It does not count as open for other processes, unless it is live anyway.
    pub async fn open_briefly(&self, stored: &StoredSession) -> Result<Arc<LiveSession>, EngineError> {
        let live_key = LiveKey::new(&*stored.store, &stored.opened);
        self.share_or_open(live_key, stored.store.clone(), &stored.key, false).await
    }

    async fn share_or_open(
        &self,
        live_key: LiveKey,
        store: Arc<dyn Store>,
        key: &str,
        watch: bool,
    ) -> Result<Arc<LiveSession>, EngineError> {
        let slot = self.live().slot(live_key);
        let mut slot = slot.lock_owned().await;
        if let Some(live) = slot.upgrade() {
            // It may not be watched.
            live.session.refresh().await?;
            return Ok(live);
        }
        let env = SessionEnv { watch, ..self.config().session_env.clone() };
        let session = Session::open(store, key, env).await?;
        tracing::debug!(session = session.id(), watch, "a session is live");
        let live = Arc::new(LiveSession {
            session,
            agents: LiveAgents::default(),
            tasks: Arc::default(),
            explores: RunningExplores::default(),
            hooks: self.config().hooks.clone(),
            is_close_announced: AtomicBool::new(false),
        });
        *slot = Arc::downgrade(&live);
        // Hooks may open the session too.
        drop(slot);
        self.observe(live.session(), || HookEvent::SessionOpened).await;
        Ok(live)
    }
}
