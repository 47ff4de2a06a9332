//! The handle of a live session, used by all other crates.

use std::path::Path;
use std::sync::Arc;

use osier_store::{LineSource, Store, Version};
use osier_tree::{Draft, Header, Place, PlanError, Seq, SessionTree};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot, watch};

use crate::attach::Attached;
use crate::commit::{Commit, Outcome};
use crate::cursor::Cursor;
use crate::env::Env;
use crate::error::Error;
use crate::load::load;
use crate::mail::{Mail, Reply};
use crate::state::State;
use crate::writer::Writer;

/// An open session. Clones share the session; its writer stops when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Session {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn Store>,
    /// The key of the session in the store: its id, or the path of a file.
    key: String,
    header: Header,
    file: Option<std::path::PathBuf>,
    env: Env,
    mailbox: mpsc::UnboundedSender<Mail>,
    state: watch::Receiver<Arc<State>>,
}

impl Session {
    /// Opens the session with this key, usually its full id. Writes nothing.
    pub async fn open(store: Arc<dyn Store>, key: &str, env: Env) -> Result<Session, Error> {
        // Continue if the store cannot watch: appends of other processes are read before each append anyway.
        let watch = if env.watch { store.watch(key).await.ok() } else { None };
        let loaded = load(&*store, key).await?;
        let (header, file) = (loaded.opened.header.clone(), loaded.opened.file.clone());
        let writer = Writer::new(store.clone(), key.to_owned(), env.clone(), loaded);
        let state = writer.state();
        let (mailbox, receiver) = mpsc::unbounded_channel();
        tokio::spawn(writer.run(receiver, watch));
        let key = key.to_owned();
        Ok(Session { shared: Arc::new(Shared { store, key, header, file, env, mailbox, state }) })
    }

    /// Creates a session with these first lines, atomically, and opens it.
    pub async fn create(
        store: Arc<dyn Store>,
        header: &Header,
        lines: &[Vec<u8>],
        env: Env,
    ) -> Result<Session, Error> {
        store.create(header, lines).await?;
        Session::open(store, &header.id, env).await
    }

    /// Like `create`, but reads the lines while it writes them.
    pub async fn create_from(
        store: Arc<dyn Store>,
        header: &Header,
        lines: &mut dyn LineSource,
        env: Env,
    ) -> Result<Session, Error> {
        store.create_from(header, lines).await?;
        Session::open(store, &header.id, env).await
    }

    /// A new session id whose first eight characters are unique in the store, because users refer to sessions by
    /// them.
    pub async fn fresh_id(store: &dyn Store, env: &Env) -> Result<String, Error> {
        loop {
            let id = env.ids.session();
            if store.find(osier_tree::short_ids::first_eight(&id)).await?.is_empty() {
                return Ok(id);
            }
        }
    }

    pub fn id(&self) -> &str {
        &self.shared.header.id
    }

    /// The key of the session in the store.
    pub fn key(&self) -> &str {
        &self.shared.key
    }

    pub fn header(&self) -> &Header {
        &self.shared.header
    }

    /// The path of the log, if it is a file.
    pub fn file(&self) -> Option<&Path> {
        self.shared.file.as_deref()
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    pub fn env(&self) -> &Env {
        &self.shared.env
    }

    /// The current state. It includes everything that was announced.
    pub fn state(&self) -> Arc<State> {
        self.shared.state.borrow().clone()
    }

    pub fn tree(&self) -> Arc<SessionTree> {
        self.shared.state.borrow().tree.clone()
    }

    pub fn version(&self) -> Version {
        self.shared.state.borrow().version
    }

    /// The cursor shared by the clients of this process.
    pub fn main(&self) -> Cursor {
        Cursor::main(self.clone())
    }

    /// Creates another cursor, for a window or an agent with its own position.
    pub async fn cursor(&self, at: Place) -> Result<Cursor, Error> {
        let id = self.ask(|reply| Mail::NewCursor { at, reply }).await?;
        Ok(Cursor::owned(self.clone(), id))
    }

    /// Attaches to the session: returns the entries since `after`, the open drafts and all later events, without gaps
    /// or duplicates.
    pub async fn attach(&self, after: Option<Version>) -> Result<Attached, Error> {
        self.ask(|reply| Mail::Attach { after, reply }).await
    }

    /// Reads what other processes appended. Returns the new version.
    pub async fn refresh(&self) -> Result<Version, Error> {
        self.ask(|reply| Mail::ReadOn { reply }).await
    }

    /// Labels an entry, or removes its label. Moves no cursor.
    pub async fn label(&self, target: &str, label: Option<&str>) -> Result<Outcome, Error> {
        let (target, label) = (target.to_owned(), label.map(str::to_owned));
        self.commit(Commit::new(move |tree, _| tree.plan_label(&target, label.as_deref()))).await
    }

    /// Sets the name of the session; an empty name removes it. Moves no cursor.
    pub async fn rename(&self, name: &str) -> Result<Outcome, Error> {
        let name = name.to_owned();
        self.commit(Commit::new(move |tree, _| Ok(tree.plan_name(&name)))).await
    }

    /// Changes settings of the session. Moves no cursor.
    pub async fn config(&self, set: Map<String, Value>, unset: Vec<String>) -> Result<Outcome, Error> {
        self.commit(Commit::new(move |tree, _| tree.plan_config(&set, &unset))).await
    }

    /// An id for an entry that is to be stored.
    pub fn new_entry_id(&self) -> String {
        self.shared.env.ids.entry()
    }

    /// Hides an entry and everything below it. Cursors inside move to its parent.
    pub async fn delete_branch(&self, first: &str) -> Result<Outcome, Error> {
        let first = first.to_owned();
        self.commit(Commit::new(move |tree, _| tree.plan_delete_branch(&first))).await
    }

    pub async fn restore_branch(&self, first: &str) -> Result<Outcome, Error> {
        let first = first.to_owned();
        self.commit(Commit::new(move |tree, _| tree.plan_restore_branch(&first))).await
    }

    /// Makes acknowledged entries as durable as configured. Call it before sending a prompt and before the process
    /// exits.
    pub async fn before_prompt(&self) -> Result<(), Error> {
        self.ask(|reply| Mail::Sync { whatever_the_setting: false, reply }).await
    }

    /// Syncs all acknowledged entries to disk, regardless of the configured durability.
    pub async fn sync(&self) -> Result<(), Error> {
        self.ask(|reply| Mail::Sync { whatever_the_setting: true, reply }).await
    }

    /// Reads lines in batches and passes each to `each`. `version` identifies the log of the sequence numbers.
    pub async fn each_line<E: From<osier_store::StoreError>>(
        &self,
        version: Version,
        wanted: &[Seq],
        each: impl FnMut(Seq, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        osier_store::each_line(&*self.shared.store, self.key(), version.generation, wanted, each).await
    }

    /// The id of the entry at a position. Unlike a sequence number, it stays valid if the log is replaced.
    pub(crate) fn name(&self, place: Place) -> Result<Option<String>, PlanError> {
        let tree = self.tree();
        let id_of = |seq: Seq| match seq.index() < tree.len() {
            true => Ok(tree.id(seq).to_string()),
            false => Err(PlanError::NotFound { id: format!("{seq:?}") }),
        };
        place.map(id_of).transpose()
    }

    pub(crate) fn tell(&self, mail: Mail) {
        // The writer has stopped; the message is not needed.
        let _ = self.shared.mailbox.send(mail);
    }

    pub(crate) async fn ask<T>(&self, mail: impl FnOnce(Reply<T>) -> Mail) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        self.tell(mail(reply));
        answer.await.map_err(|_| Error::Closed)?
    }
}

/// The first lines of a new session: the drafts as a chain.
pub fn chained(drafts: &[Draft], env: &Env) -> Vec<Vec<u8>> {
    let mut taken = std::collections::HashSet::new();
    let mut last: Option<String> = None;
    let mut lines = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let mut id = env.ids.entry();
        while !taken.insert(id.clone()) {
            id = env.ids.entry();
        }
        lines.push(draft.line(&id, last.as_deref(), env.clock.now()));
        last = Some(id);
    }
    lines
}
