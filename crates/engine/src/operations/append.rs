//! Appending one entry to a session, or to a new one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_session::{Commit, CommitOutcome, Session, SessionEnv, StoredEntry};
use osier_store::{MemoryStore, StoreError};
use osier_tree::projection::context::with_field;
use osier_tree::scan::{RawJson, write_json_string};
use osier_tree::{Header, Place, PlanError, Seq, SessionTree};

use crate::create::NewSession;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::reading::{ROOT, resolve_id};
use crate::stored::StoredSession;

/// The entry to append.
#[derive(Debug, Clone)]
pub struct AppendRequest {
    pub content: AppendContent,
    /// The parent: an entry, or `root`; the leaf by default.
    pub parent: Option<String>,
}

/// The content of a new entry, as JSON objects.
#[derive(Debug, Clone)]
pub enum AppendContent {
    Message(Vec<u8>),
    /// A complete entry. A missing id, parent and time are filled in.
    Entry(Vec<u8>),
}

/// A stored entry and its session.
#[derive(Debug)]
pub struct AppendedEntry {
    pub session: String,
    pub file: Option<PathBuf>,
    pub id: String,
    pub seq: Seq,
}

impl Engine {
    /// Appends to an existing session.
    pub async fn append(
        &self,
        stored: &StoredSession,
        request: &AppendRequest,
    ) -> Result<AppendedEntry, EngineError> {
        let live = self.open_briefly(stored).await?;
        let session = live.session();
        if request.parent.is_none() {
            self.finish_interrupted_explores(&live).await?;
        }
        let parent = request.parent.as_deref().map(|name| resolve_id(&session.tree(), name)).transpose()?;
        let entry = commit(session, request, parent.as_deref()).await?;
        session.sync_if_configured().await?;
        let file = session.file().map(Path::to_owned);
        Ok(AppendedEntry { session: session.id().to_owned(), file, id: entry.id.to_string(), seq: entry.seq })
    }

    /// Creates a session with one entry in it: in its store, or as the file `path`.
    pub async fn append_to_new(
        &self,
        new: &NewSession,
        name: Option<&str>,
        path: Option<&Path>,
        request: &AppendRequest,
    ) -> Result<AppendedEntry, EngineError> {
        let store = self.require_store(&new.store, "")?;
        let header = self.new_header(&*store, &new.cwd, &new.agent).await?;
        let (lines, entry) = self.first_lines(&header, name, request).await?;
        let created = match path {
            Some(path) => self.config().files.create_at(path, &header, &lines).await?,
            None => store.create(&header, &lines).await?,
        };
        Ok(AppendedEntry { session: header.id, file: created.file, id: entry.id.to_string(), seq: entry.seq })
    }

    /// The first lines of a session. They are built in memory, so that a rejected entry leaves no session behind.
    async fn first_lines(
        &self,
        header: &Header,
        name: Option<&str>,
        request: &AppendRequest,
    ) -> Result<(Vec<Vec<u8>>, StoredEntry), EngineError> {
        let env = SessionEnv { watch: false, ..self.config().session_env.clone() };
        let session = Session::create(Arc::new(MemoryStore::default()), header, &[], env).await?;
        if let Some(name) = name {
            session.rename(name).await?;
        }
        let entry = commit(&session, request, request.parent.as_deref()).await?;
        let all: Vec<Seq> = (0..session.version().entries).map(Seq::new).collect();
        let mut lines = Vec::new();
        session
            .for_each_line(session.version(), &all, |_, line| {
                lines.push(line.to_vec());
                Ok::<_, StoreError>(())
            })
            .await?;
        Ok((lines, entry))
    }
}

async fn commit(
    session: &Session,
    request: &AppendRequest,
    parent: Option<&str>,
) -> Result<StoredEntry, EngineError> {
    let outcome = match &request.content {
        AppendContent::Entry(entry) => session.append_entry(&with_parent(entry, parent)?).await?,
        AppendContent::Message(message) => session.commit(message_commit(message.clone(), parent)).await?,
    };
    match outcome {
        CommitOutcome::Stored(stored) => Ok(stored),
        CommitOutcome::Nothing | CommitOutcome::Cancelled => Err(EngineError::NothingAppended),
    }
}

/// A complete entry with its parent added.
fn with_parent(entry: &[u8], parent: Option<&str>) -> Result<Vec<u8>, EngineError> {
    let Some(parent) = parent else { return Ok(entry.to_vec()) };
    let raw = RawJson::parse(entry).map_err(|_| PlanError::NotAnEntry { reason: "it is not JSON" })?;
    if raw.get("parentId").is_some() {
        return Err(EngineError::ParentGivenTwice);
    }
    let mut value = Vec::new();
    match parent {
        ROOT => value.extend_from_slice(b"null"),
        id => write_json_string(id, &mut value),
    }
    Ok(with_field(raw, "parentId", &value))
}

fn message_commit(message: Vec<u8>, parent: Option<&str>) -> Commit {
    let parent = parent.map(str::to_owned);
    Commit::new(move |tree, at| {
        let message =
            RawJson::parse(&message).map_err(|_| PlanError::NotAnEntry { reason: "it is not JSON" })?;
        tree.plan_message(parent_place(tree, at, parent.as_deref())?, message)
    })
}

fn parent_place(tree: &SessionTree, leaf: Place, parent: Option<&str>) -> Result<Place, PlanError> {
    match parent {
        None => Ok(leaf),
        Some(ROOT) => Ok(None),
        Some(id) => tree.require_visible(id).map(Some),
    }
}
