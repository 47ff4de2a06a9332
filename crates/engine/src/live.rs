//! The live sessions of the process: at most one writer per session, shared by everyone who opens it. A session is closed
//! when the last one drops it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use osier_session::{Session, SessionEnv};
use osier_store::{OpenedLog, Store};
use rustc_hash::FxHashMap;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::stored::StoredSession;

/// An open session.
#[derive(Debug)]
pub struct LiveSession {
    session: Session,
}

impl LiveSession {
    pub fn session(&self) -> &Session {
        &self.session
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
            Some(file) => LiveKey::File(file.canonicalize().unwrap_or_else(|_| file.clone())),
            None => LiveKey::Stored { store: store.name().to_owned(), id: opened.header.id.clone() },
        }
    }
}

/// The place of one session. It is locked while the session is opened, so that a second caller waits for the first.
type LiveSlot = Arc<tokio::sync::Mutex<Weak<LiveSession>>>;

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
}

impl Engine {
    /// Opens a stored session and watches it. Everyone who opens it gets the same one.
    pub async fn open(&self, stored: &StoredSession) -> Result<Arc<LiveSession>, EngineError> {
        self.open_live(stored.store.clone(), &stored.key).await
    }

    pub(crate) async fn open_live(
        &self,
        store: Arc<dyn Store>,
        key: &str,
    ) -> Result<Arc<LiveSession>, EngineError> {
        let slot = self.live().slot(LiveKey::new(&*store, &store.open(key).await?));
        let mut slot = slot.lock().await;
        if let Some(live) = slot.upgrade() {
            return Ok(live);
        }
        let env = SessionEnv { watch: true, ..self.config().session_env.clone() };
        let live = Arc::new(LiveSession { session: Session::open(store, key, env).await? });
        *slot = Arc::downgrade(&live);
        Ok(live)
    }

    /// Opens a session for one operation. It does not count as open for other processes, unless it is live anyway.
    pub async fn open_briefly(&self, stored: &StoredSession) -> Result<Session, EngineError> {
        let slot = self.live().slot(LiveKey::new(&*stored.store, &stored.opened));
        if let Some(live) = slot.lock().await.upgrade() {
            return Ok(live.session.clone());
        }
        let env = SessionEnv { watch: false, ..self.config().session_env.clone() };
        Ok(Session::open(stored.store.clone(), &stored.key, env).await?)
    }
}
