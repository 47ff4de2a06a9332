//! The handle of a live session, used by all other crates.

use std::path::Path;
use std::sync::Arc;

use osier_store::{LineSource, LogVersion, Store};
use osier_tree::short_ids::{first_eight, has_prefix};
use osier_tree::{EntryDraft, Header, Place, PlanError, Seq, SessionTree};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::Instrument;

use crate::attach::Attached;
use crate::commit::{Commit, CommitOutcome};
use crate::cursor::Cursor;
use crate::env::SessionEnv;
use crate::error::SessionError;
use crate::load::load_session;
use crate::state::SessionState;
use crate::writer::SessionWriter;
use crate::writer_message::{ReplySender, WriterMessage};

/// An open session. Clones share the session; its writer stops when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Session {
    inner: Arc<SessionInner>,
}

#[derive(Debug)]
struct SessionInner {
    store: Arc<dyn Store>,
    /// The key of the session in the store: its id, or the path of a file.
    key: String,
    header: Header,
    file: Option<std::path::PathBuf>,
    invalid_lines: usize,
    env: SessionEnv,
    mailbox: mpsc::UnboundedSender<WriterMessage>,
    state: watch::Receiver<Arc<SessionState>>,
}

impl Session {
    /// Opens the session with this key, usually its full id. Writes nothing.
    pub async fn open(store: Arc<dyn Store>, key: &str, env: SessionEnv) -> Result<Session, SessionError> {
        // Continue if the store cannot watch: appends of other processes are read before each append anyway.
        let watch = match env.watch {
            true => store
                .watch(key)
                .await
                .inspect_err(|error| tracing::warn!(%error, "cannot watch a session for changes"))
                .ok(),
            false => None,
        };
        let loaded = load_session(&*store, key).await?;
        let (header, file) = (loaded.opened.header.clone(), loaded.opened.file.clone());
        let invalid_lines = loaded.opened.invalid_lines;
        let writer = SessionWriter::new(store.clone(), key.to_owned(), env.clone(), loaded);
        let state = writer.subscribe_state();
        let (mailbox, receiver) = mpsc::unbounded_channel();
        tracing::debug!(session = %header.id, store = store.name(), watched = watch.is_some(), "opened a session");
        let span = tracing::error_span!("session", id = %header.id);
        tokio::spawn(writer.run(receiver, watch).instrument(span));
        let key = key.to_owned();
        let inner = SessionInner { store, key, header, file, invalid_lines, env, mailbox, state };
        Ok(Session { inner: Arc::new(inner) })
    }

    /// Creates a session with these first lines, atomically, and opens it.
    pub async fn create(
        store: Arc<dyn Store>,
        header: &Header,
        lines: &[Vec<u8>],
        env: SessionEnv,
    ) -> Result<Session, SessionError> {
        store.create(header, lines).await?;
        Session::open(store, &header.id, env).await
    }

    /// Like `create`, but reads the lines while it writes them.
    pub async fn create_from(
        store: Arc<dyn Store>,
        header: &Header,
        lines: &mut dyn LineSource,
        env: SessionEnv,
    ) -> Result<Session, SessionError> {
        store.create_from(header, lines).await?;
        Session::open(store, &header.id, env).await
    }

    /// New session ids whose first eight characters are unique in the store, because users refer to sessions by them.
    pub async fn new_session_ids(
        store: &dyn Store,
        env: &SessionEnv,
        count: usize,
    ) -> Result<Vec<String>, SessionError> {
        let mut ids: Vec<String> = Vec::with_capacity(count);
        while ids.len() < count {
            let new: Vec<String> = (ids.len()..count).map(|_| env.ids.session()).collect();
            let short: Vec<&str> = new.iter().map(|id| first_eight(id)).collect();
            let taken = store.find_ids_with_any(&short).await?;
            for id in &new {
                if !taken.iter().chain(&ids).any(|other| has_prefix(other, first_eight(id))) {
                    ids.push(id.clone());
                }
            }
        }
        Ok(ids)
    }

    /// A new session id; see [`Session::new_session_ids`].
    pub async fn new_session_id(store: &dyn Store, env: &SessionEnv) -> Result<String, SessionError> {
        let ids = Session::new_session_ids(store, env, 1).await?;
        Ok(ids.into_iter().next().unwrap_or_else(|| env.ids.session()))
    }

    pub fn id(&self) -> &str {
        &self.inner.header.id
    }

    /// The key of the session in the store.
    pub fn key(&self) -> &str {
        &self.inner.key
    }

    pub fn header(&self) -> &Header {
        &self.inner.header
    }

    /// The number of lines that were not valid entries when the session was opened.
    pub fn invalid_lines(&self) -> usize {
        self.inner.invalid_lines
    }

    /// The path of the log, if it is a file.
    pub fn file(&self) -> Option<&Path> {
        self.inner.file.as_deref()
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    pub fn env(&self) -> &SessionEnv {
        &self.inner.env
    }

    /// The current state. It includes everything that was announced.
    pub fn state(&self) -> Arc<SessionState> {
        self.inner.state.borrow().clone()
    }

    pub fn tree(&self) -> Arc<SessionTree> {
        self.inner.state.borrow().tree.clone()
    }

    pub fn version(&self) -> LogVersion {
        self.inner.state.borrow().version
    }

    /// The cursor shared by the clients of this process.
    pub fn main_cursor(&self) -> Cursor {
        Cursor::main(self.clone())
    }

    /// Creates another cursor, for a window or an agent with its own position.
    pub async fn new_cursor(&self, at: Place) -> Result<Cursor, SessionError> {
        let id = self.request(|reply| WriterMessage::NewCursor { at, reply }).await?;
        Ok(Cursor::with_guard(self.clone(), id))
    }

    /// Attaches to the session: returns the entries since `after`, the open drafts and all later events, without gaps
    /// or duplicates.
    pub async fn attach(&self, after: Option<LogVersion>) -> Result<Attached, SessionError> {
        self.request(|reply| WriterMessage::Attach { after, reply }).await
    }

    /// Reads what other processes appended. Returns the new version.
    pub async fn refresh(&self) -> Result<LogVersion, SessionError> {
        self.request(|reply| WriterMessage::Refresh { reply }).await
    }

    /// Watches the log from now on, if it is not watched already: the session then counts as open.
    pub async fn start_watching(&self) -> Result<(), SessionError> {
        self.request(|reply| WriterMessage::StartWatching { reply }).await
    }

    /// Labels an entry, or removes its label. Moves no cursor.
    pub async fn label(&self, target: &str, label: Option<&str>) -> Result<CommitOutcome, SessionError> {
        let (target, label) = (target.to_owned(), label.map(str::to_owned));
        self.commit(Commit::new(move |tree, _| tree.plan_label(&target, label.as_deref()))).await
    }

    /// Sets the name of the session; an empty name removes it. Moves no cursor.
    pub async fn rename(&self, name: &str) -> Result<CommitOutcome, SessionError> {
        let name = name.to_owned();
        self.commit(Commit::new(move |tree, _| Ok(tree.plan_name(&name)))).await
    }

    /// Changes settings of the session. Moves no cursor.
    pub async fn set_config(
        &self,
        set: Map<String, Value>,
        unset: Vec<String>,
    ) -> Result<CommitOutcome, SessionError> {
        self.commit(Commit::new(move |tree, _| tree.plan_config(&set, &unset))).await
    }

    /// An id for an entry that is to be stored.
    pub fn new_entry_id(&self) -> String {
        self.inner.env.ids.entry()
    }

    /// Hides an entry and everything below it. Cursors inside move to its parent.
    pub async fn delete_branch(&self, first: &str) -> Result<CommitOutcome, SessionError> {
        let first = first.to_owned();
        self.commit(Commit::new(move |tree, _| tree.plan_delete_branch(&first))).await
    }

    pub async fn restore_branch(&self, first: &str) -> Result<CommitOutcome, SessionError> {
        let first = first.to_owned();
        self.commit(Commit::new(move |tree, _| tree.plan_restore_branch(&first))).await
    }

    /// Makes acknowledged entries as durable as configured. Call it before sending a prompt and before the process
    /// exits.
    pub async fn sync_if_configured(&self) -> Result<(), SessionError> {
        self.request(|reply| WriterMessage::Sync { whatever_the_setting: false, reply }).await
    }

    /// Syncs all acknowledged entries to disk, regardless of the configured durability.
    pub async fn sync(&self) -> Result<(), SessionError> {
        self.request(|reply| WriterMessage::Sync { whatever_the_setting: true, reply }).await
    }

    /// Reads lines in batches and passes each to `each`. `version` identifies the log of the sequence numbers.
    pub async fn for_each_line<E: From<osier_store::StoreError>>(
        &self,
        version: LogVersion,
        seqs: &[Seq],
        each: impl FnMut(Seq, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        osier_store::for_each_line(&*self.inner.store, self.key(), version.generation, seqs, each).await
    }

    /// The id of the entry at a position. Unlike a sequence number, it stays valid if the log is replaced.
    pub(crate) fn id_at(&self, position: Place) -> Result<Option<String>, PlanError> {
        let tree = self.tree();
        let id_of = |seq: Seq| match seq.index() < tree.len() {
            true => Ok(tree.id(seq).to_string()),
            false => Err(PlanError::NotFound { id: format!("{seq:?}") }),
        };
        position.map(id_of).transpose()
    }

    pub(crate) fn send(&self, message: WriterMessage) {
        // The writer has stopped; the message is not needed.
        let _ = self.inner.mailbox.send(message);
    }

    pub(crate) async fn request<T>(
        &self,
        message: impl FnOnce(ReplySender<T>) -> WriterMessage,
    ) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        self.send(message(reply));
        answer.await.map_err(|_| SessionError::Closed)?
    }
}

/// The first lines of a new session: the drafts as a chain.
pub fn chain_drafts(drafts: &[EntryDraft], env: &SessionEnv) -> Vec<Vec<u8>> {
    let mut taken = std::collections::HashSet::new();
    let mut last: Option<String> = None;
    let mut lines = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let mut id = env.ids.entry();
        while !taken.insert(id.clone()) {
            id = env.ids.entry();
        }
        lines.push(draft.to_line(&id, last.as_deref(), env.clock.now()));
        last = Some(id);
    }
    lines
}
