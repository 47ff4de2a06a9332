//! The operations on sessions for programs, one call each: [`Sessions`] finds and creates the sessions of one store,
//! [`SessionOperations`] works on one of them.
//!
//! Each call opens the session, runs one operation, and closes it. Use [`Engine::open`] for many operations on one
//! session. [`EngineError::code`] distinguishes errors.

mod append;
#[cfg(feature = "contract")]
pub mod contract;
mod entry_page;
mod path;

use std::sync::Arc;

use osier_session::{SnapshotOptions, chain_drafts};
use osier_store::{DeleteResult, DeletedCounts, Store, StoreError};
use osier_tree::{ErrorCode, SessionTree, header};
use serde_json::{Map, Value, json};

pub use self::append::{AppendParent, EntryPlacement, NewCompaction};
pub use self::entry_page::EntryPage;
pub use self::path::{ActivePath, PathError};
use crate::configured_store::ConfiguredStore;
use crate::create::MAIN_AGENT;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::live_sessions::LiveSession;
use crate::operations::delete::KeptReason;
use crate::operations::fork::{ForkFrom, ForkRequest};
use crate::stored::StoredSession;

/// The sessions of one store.
#[derive(Debug, Clone)]
pub struct Sessions {
    engine: Engine,
    store: Arc<dyn Store>,
}

/// A session to create.
#[derive(Debug, Clone, Default)]
pub struct SessionInit {
    /// A new id if absent.
    pub id: Option<String>,
    pub cwd: String,
    /// `main` if absent.
    pub agent_id: Option<String>,
    pub title: Option<String>,
}

/// The properties of a session that can change. `None` leaves a property unchanged.
#[derive(Debug, Clone, Default)]
pub struct SessionUpdate {
    pub title: Option<String>,
    pub status: Option<String>,
    pub cwd: Option<String>,
    pub agent_id: Option<String>,
    pub metadata: Option<Map<String, Value>>,
}

/// A stored session and the operations on it.
#[derive(Debug)]
pub struct SessionOperations {
    engine: Engine,
    stored: StoredSession,
}

impl Engine {
    /// The sessions of the store with this name.
    pub fn sessions(&self, store: &str) -> Option<Sessions> {
        let store = self.configured_store(store).map(ConfiguredStore::store)?;
        Some(Sessions { engine: self.clone(), store })
    }

    /// The operations on a stored session.
    pub fn operations(&self, stored: StoredSession) -> SessionOperations {
        SessionOperations { engine: self.clone(), stored }
    }
}

impl Sessions {
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The session with this id.
    pub async fn session(&self, id: &str) -> Result<SessionOperations, EngineError> {
        // The file store would interpret any other id as a path.
        if !header::is_valid_id(id) {
            return Err(
                StoreError::NotFound { store: self.store.name().to_owned(), id: id.to_owned() }.into()
            );
        }
        let stored = StoredSession::read(self.store.clone(), id.to_owned()).await?;
        Ok(self.engine.operations(stored))
    }

    /// `createSession`. Returns the same as [`SessionOperations::describe`].
    pub async fn create(&self, new: SessionInit) -> Result<Value, EngineError> {
        let env = &self.engine.config().session_env;
        let mut header = self
            .engine
            .new_header(&*self.store, &new.cwd, new.agent_id.as_deref().unwrap_or(MAIN_AGENT))
            .await?;
        header.id = new.id.unwrap_or(header.id);
        let named = new.title.map(|title| SessionTree::default().plan_name(&title));
        self.store.create(&header, &chain_drafts(named.as_slice(), env)).await?;
        self.session(&header.id).await?.describe().await
    }

    /// `getSession`: the `session` of a snapshot; `None` if there is no such session.
    pub async fn get(&self, id: &str) -> Result<Option<Value>, EngineError> {
        match self.session(id).await {
            Err(error) if error.code() == ErrorCode::SessionNotFound => Ok(None),
            found => found?.describe().await.map(Some),
        }
    }

    /// `deleteSession`, including the sessions of its sub-agents in this store. Deleting a missing session is not an
    /// error. If the session is in use, nothing is deleted. A sub-agent's session that is in use is kept, with the
    /// sessions below it.
    pub async fn delete(&self, id: &str) -> Result<DeleteResult, EngineError> {
        let nothing = DeleteResult {
            deleted: false,
            store: self.store.name().to_owned(),
            counts: DeletedCounts::default(),
        };
        if !header::is_valid_id(id) {
            return Ok(nothing);
        }
        let card = match self.store.card(id).await {
            Ok(card) => card,
            Err(StoreError::NotFound { .. }) => return Ok(nothing),
            Err(error) => return Err(error.into()),
        };
        let mut report = self.engine.delete(&self.engine.plan_delete(vec![card]).await?, false).await?;
        if let Some(error) = report.take_named_kept().and_then(KeptReason::into_error) {
            return Err(error.into());
        }
        let mut total = nothing;
        for (_, deleted) in report.deleted {
            total.deleted |= deleted.deleted;
            total.counts.sessions += deleted.counts.sessions;
            total.counts.entries += deleted.counts.entries;
        }
        Ok(total)
    }
}

impl SessionOperations {
    pub fn stored(&self) -> &StoredSession {
        &self.stored
    }

    async fn open(&self) -> Result<Arc<LiveSession>, EngineError> {
        self.engine.open_briefly(&self.stored).await
    }

    /// The `session` of a snapshot.
    pub async fn describe(&self) -> Result<Value, EngineError> {
        Ok(self.open().await?.session().describe().await?)
    }

    /// `updateSession`: writes one entry for the name and one for everything else.
    pub async fn update(&self, update: SessionUpdate) -> Result<Value, EngineError> {
        let live = self.open().await?;
        let session = live.session();
        let mut set = Map::new();
        let texts = [("status", update.status), ("cwd", update.cwd), ("agentId", update.agent_id)];
        set.extend(texts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), json!(value?)))));
        set.extend(update.metadata.map(|metadata| ("metadata".to_owned(), Value::Object(metadata))));
        if let Some(title) = &update.title {
            self.rename(title).await?;
        }
        if !set.is_empty() {
            session.set_config(set, Vec::new()).await?;
        }
        session.sync_if_configured().await?;
        Ok(session.describe().await?)
    }

    /// `createBranchedSession`: a new session with the path to `leaf`, or to the current leaf. The entries keep their
    /// ids.
    pub async fn create_branched(&self, leaf: Option<&str>) -> Result<Value, EngineError> {
        let live = self.open().await?;
        let source = live.session();
        let from = match leaf {
            Some(leaf) => {
                ForkFrom::Exactly(source.tree().id(source.tree().require_visible(leaf)?).to_string())
            }
            None => ForkFrom::CurrentPosition,
        };
        let forked = self.engine.fork(source, &ForkRequest { from, ..ForkRequest::default() }).await?;
        let forked = forked.ok_or(EngineError::Refused)?;
        self.engine.operations(forked.stored).describe().await
    }

    /// `getSnapshot`, as JSON.
    pub async fn snapshot(&self, ask: SnapshotOptions) -> Result<Vec<u8>, EngineError> {
        let mut json = Vec::new();
        let write = |piece: &[u8]| -> Result<(), EngineError> {
            json.extend_from_slice(piece);
            Ok(())
        };
        self.engine.write_snapshot(&self.stored, ask, write).await?;
        Ok(json)
    }
}
