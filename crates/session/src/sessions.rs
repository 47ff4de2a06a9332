//! The operations on sessions for programs: by session id, one call each, the same for every store.
//!
//! Each call opens the session, runs one operation of [`Session`], and closes it. Use [`Session`] directly for many
//! operations on one session. [`SessionError::code`] distinguishes errors.

mod append;
#[cfg(feature = "contract")]
pub mod contract;
mod path;

use std::sync::Arc;

use osier_store::{DeleteResult, DeletedCounts, Store, StoreError};
use osier_tree::entry::parse_entry;
use osier_tree::projection::json::entry_json;
use osier_tree::{Header, Seq, SessionTree, header};
use serde_json::{Map, Value, json};

pub use self::append::{AppendParent, EntryPlacement, NewCompaction};
pub use self::path::{ActivePath, PathError};
use crate::env::SessionEnv;
use crate::error::SessionError;
use crate::handle::{Session, chain_drafts};
use crate::snapshot::SnapshotOptions;
use crate::stores::Stores;

/// The façade over the sessions of one store.
#[derive(Debug, Clone)]
pub struct Sessions {
    store: Arc<dyn Store>,
    env: SessionEnv,
}

/// A session to create.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
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

impl Sessions {
    /// A façade over one store. Sessions are not watched, because each is open for one call only.
    pub fn new(store: Arc<dyn Store>, env: SessionEnv) -> Sessions {
        Sessions { store, env: SessionEnv { watch: false, ..env } }
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Opens a session, for more than one call.
    pub async fn open(&self, id: &str) -> Result<Session, SessionError> {
        // The file store would interpret any other id as a path.
        if !header::is_valid_id(id) {
            return Err(self.not_found(id));
        }
        Session::open(self.store.clone(), id, self.env.clone()).await
    }

    fn not_found(&self, id: &str) -> SessionError {
        StoreError::NotFound { store: self.store.name().to_owned(), id: id.to_owned() }.into()
    }

    /// `createSession`. Returns the same as [`Sessions::get`].
    pub async fn create(&self, new: NewSession) -> Result<Value, SessionError> {
        let id = match new.id {
            Some(id) => id,
            None => Session::new_session_id(&*self.store, &self.env).await?,
        };
        let mut header = Header::new(id, self.env.clock.now(), new.cwd);
        header.agent_id = new.agent_id.filter(|agent| agent != "main");
        let named = new.title.map(|title| SessionTree::default().plan_name(&title));
        let lines = chain_drafts(named.as_slice(), &self.env);
        Session::create(self.store.clone(), &header, &lines, self.env.clone()).await?.describe().await
    }

    /// `getSession`: the `session` of a snapshot; `None` if there is no such session.
    pub async fn get(&self, id: &str) -> Result<Option<Value>, SessionError> {
        match self.open(id).await {
            Ok(session) => session.describe().await.map(Some),
            Err(SessionError::Store(StoreError::NotFound { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// `updateSession`: writes one entry for the name and one for everything else.
    pub async fn update(&self, id: &str, update: SessionUpdate) -> Result<Value, SessionError> {
        let session = self.open(id).await?;
        let mut set = Map::new();
        let texts = [("status", update.status), ("cwd", update.cwd), ("agentId", update.agent_id)];
        set.extend(texts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), json!(value?)))));
        set.extend(update.metadata.map(|metadata| ("metadata".to_owned(), Value::Object(metadata))));
        if let Some(title) = &update.title {
            session.rename(title).await?;
        }
        if !set.is_empty() {
            session.set_config(set, Vec::new()).await?;
        }
        session.sync_if_configured().await?;
        session.describe().await
    }

    /// `deleteSession`, including the sessions of its sub-agents in this store. Deleting a missing session is not an
    /// error. If the session is in use, nothing is deleted. A sub-agent's session that is in use is kept, with the
    /// sessions below it.
    pub async fn delete(&self, id: &str) -> Result<DeleteResult, SessionError> {
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
        let (below, _) = Stores::new(vec![self.store.clone()]).subagent_sessions(&[card]).await?;
        let mut deleted = self.store.delete(id).await?;
        let mut kept: Vec<&str> = Vec::new();
        for card in &below {
            if card.parent_session_id.as_deref().is_some_and(|parent| kept.contains(&parent)) {
                kept.push(&card.id);
                continue;
            }
            match self.store.delete(&card.id).await {
                Ok(one) => {
                    deleted.counts.sessions += one.counts.sessions;
                    deleted.counts.entries += one.counts.entries;
                }
                Err(StoreError::Busy { .. }) => kept.push(&card.id),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(deleted)
    }

    /// `listEntries`: entries in log order, starting at index `after`, as JSON output shows them.
    pub async fn list_entries(
        &self,
        id: &str,
        after: usize,
        limit: Option<usize>,
    ) -> Result<Vec<Vec<u8>>, SessionError> {
        if !header::is_valid_id(id) {
            return Err(self.not_found(id));
        }
        let version = self.store.open(id).await?.version;
        let end = version.entries.min(after.saturating_add(limit.unwrap_or(usize::MAX)));
        let wanted: Vec<Seq> = (after..end).map(Seq::new).collect();
        self.entries(id, version.generation, &wanted).await
    }

    async fn entries(&self, id: &str, generation: u64, wanted: &[Seq]) -> Result<Vec<Vec<u8>>, SessionError> {
        let mut entries = Vec::with_capacity(wanted.len());
        osier_store::for_each_line(&*self.store, id, generation, wanted, |_, line| {
            entries.extend(parse_entry(line).map(|entry| entry_json(&entry).into_owned()));
            Ok::<_, StoreError>(())
        })
        .await?;
        Ok(entries)
    }

    /// `createBranchedSession`: a new session with the path to `leaf`, or to the current leaf. The entries keep their
    /// ids.
    pub async fn create_branched(&self, id: &str, leaf: Option<&str>) -> Result<Value, SessionError> {
        let source = self.open(id).await?;
        let tree = source.tree();
        let at = match leaf {
            Some(leaf) => Some(tree.require_visible(leaf)?),
            None => tree.leaf(),
        };
        let header = source.fork_header(&*self.store).await?;
        let mut lines = source.fork_lines(at, None);
        let (store, env) = (self.store.clone(), self.env.clone());
        Session::create_from(store, &header, &mut lines, env).await?.describe().await
    }

    /// `getSnapshot`, as JSON.
    pub async fn snapshot(&self, id: &str, ask: SnapshotOptions) -> Result<Vec<u8>, SessionError> {
        let mut json = Vec::new();
        let write = |piece: &[u8]| -> Result<(), SessionError> {
            json.extend_from_slice(piece);
            Ok(())
        };
        self.open(id).await?.write_snapshot(ask, write).await?;
        Ok(json)
    }
}
