//! New sessions: in a store, in a store as soon as they are used, or only in memory.

use std::sync::Arc;

use osier_session::Session;
use osier_store::{MemoryStore, Store};
use osier_tree::Header;

use crate::deferred_store::DeferredStore;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::live_sessions::LiveSession;
use crate::stored::StoredSession;

/// The agent of sessions without an agent id.
pub(crate) const MAIN_AGENT: &str = "main";

/// A session to create.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// The store, unless the session is only in memory.
    pub store: String,
    pub cwd: String,
    /// The agent that the session belongs to.
    pub agent: String,
    pub keep: KeepWhen,
}

/// When a new session is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeepWhen {
    #[default]
    Always,
    /// When it gets its first content.
    Used,
    /// The session is lost when it is closed.
    Never,
}

impl Engine {
    /// Creates a session and opens it.
    pub async fn create(&self, new: &NewSession) -> Result<Arc<LiveSession>, EngineError> {
        let store: Arc<dyn Store> = match new.keep {
            KeepWhen::Never => Arc::new(MemoryStore::default()),
            KeepWhen::Always | KeepWhen::Used => self.require_store(&new.store, "")?,
        };
        let header = self.new_header(&*store, &new.cwd, &new.agent).await?;
        let store = match new.keep {
            KeepWhen::Used => Arc::new(DeferredStore::new(store, header.clone()).await?) as Arc<dyn Store>,
            KeepWhen::Always | KeepWhen::Never => {
                store.create(&header, &[]).await?;
                store
            }
        };
        self.open_live(store, &header.id).await
    }

    /// Creates a session with these entries, atomically, without opening it.
    pub async fn create_with(
        &self,
        new: &NewSession,
        lines: &[Vec<u8>],
    ) -> Result<StoredSession, EngineError> {
        let store = self.require_store(&new.store, "")?;
        let header = self.new_header(&*store, &new.cwd, &new.agent).await?;
        let opened = store.create(&header, lines).await?;
        Ok(StoredSession { store, key: header.id, opened })
    }

    /// The header of a new session in `store`.
    pub(crate) async fn new_header(
        &self,
        store: &dyn Store,
        cwd: &str,
        agent: &str,
    ) -> Result<Header, EngineError> {
        let env = &self.config().session_env;
        let mut header = Header::new(Session::new_session_id(store, env).await?, env.clock.now(), cwd);
        header.agent_id = Some(agent.to_owned()).filter(|agent| agent != MAIN_AGENT);
        Ok(header)
    }
}
