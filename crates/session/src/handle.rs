//! The handle of a live session: what every other crate holds.

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

/// A session that is open. Copies are the same session; its writer ends with the last of them.
#[derive(Debug, Clone)]
pub struct Session {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn Store>,
    /// The name by which the store knows the session: its id, or the path of a file.
    key: String,
    header: Header,
    file: Option<std::path::PathBuf>,
    env: Env,
    mailbox: mpsc::UnboundedSender<Mail>,
    state: watch::Receiver<Arc<State>>,
}

impl Session {
    /// Opens the session that the store knows by `key`: its whole id. Writes nothing.
    pub async fn open(store: Arc<dyn Store>, key: &str, env: Env) -> Result<Session, Error> {
        // A store that cannot watch is no reason not to open: what others append is read before each append anyway.
        let watch = if env.watch { store.watch(key).await.ok() } else { None };
        let loaded = load(&*store, key).await?;
        let (header, file) = (loaded.opened.header.clone(), loaded.opened.file.clone());
        let writer = Writer::new(store.clone(), key.to_owned(), env.clone(), loaded);
        let state = writer.state();
        let (mailbox, mails) = mpsc::unbounded_channel();
        tokio::spawn(writer.run(mails, watch));
        let key = key.to_owned();
        Ok(Session { shared: Arc::new(Shared { store, key, header, file, env, mailbox, state }) })
    }

    /// Makes a session with these first lines, whole or not at all, and opens it.
    pub async fn create(
        store: Arc<dyn Store>,
        header: &Header,
        lines: &[Vec<u8>],
        env: Env,
    ) -> Result<Session, Error> {
        store.create(header, lines).await?;
        Session::open(store, &header.id, env).await
    }

    /// The same with lines that are read as they are written.
    pub async fn create_from(
        store: Arc<dyn Store>,
        header: &Header,
        lines: &mut dyn LineSource,
        env: Env,
    ) -> Result<Session, Error> {
        store.create_from(header, lines).await?;
        Session::open(store, &header.id, env).await
    }

    /// An id for a new session whose first eight digits no other session of the store begins with: people name sessions by
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

    /// The name by which the store knows the session.
    pub fn key(&self) -> &str {
        &self.shared.key
    }

    pub fn header(&self) -> &Header {
        &self.shared.header
    }

    /// Where the log lies, if it is a file.
    pub fn file(&self) -> Option<&Path> {
        self.shared.file.as_deref()
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    pub fn env(&self) -> &Env {
        &self.shared.env
    }

    /// The session as it is now. What was announced is in it.
    pub fn state(&self) -> Arc<State> {
        self.shared.state.borrow().clone()
    }

    pub fn tree(&self) -> Arc<SessionTree> {
        self.shared.state.borrow().tree.clone()
    }

    pub fn version(&self) -> Version {
        self.shared.state.borrow().version
    }

    /// The cursor that the clients of this process share.
    pub fn main(&self) -> Cursor {
        Cursor::main(self.clone())
    }

    /// Another cursor, for a window or an agent that goes its own way.
    pub async fn cursor(&self, at: Place) -> Result<Cursor, Error> {
        let id = self.ask(|reply| Mail::NewCursor { at, reply }).await?;
        Ok(Cursor::owned(self.clone(), id))
    }

    /// Joins the session: the entries since `after`, the open drafts and all that happens from then on, without gap or
    /// duplicate.
    pub async fn attach(&self, after: Option<Version>) -> Result<Attached, Error> {
        self.ask(|reply| Mail::Attach { after, reply }).await
    }

    /// Reads what other processes appended, and tells the state reached.
    pub async fn refresh(&self) -> Result<Version, Error> {
        self.ask(|reply| Mail::ReadOn { reply }).await
    }

    /// Names an entry; without a label takes the name away. Moves nobody.
    pub async fn label(&self, target: &str, label: Option<&str>) -> Result<Outcome, Error> {
        let (target, label) = (target.to_owned(), label.map(str::to_owned));
        self.commit(Commit::new(move |tree, _| tree.plan_label(&target, label.as_deref()))).await
    }

    /// Names the session; an empty name takes the name away. Moves nobody.
    pub async fn rename(&self, name: &str) -> Result<Outcome, Error> {
        let name = name.to_owned();
        self.commit(Commit::new(move |tree, _| Ok(tree.plan_name(&name)))).await
    }

    /// Changes settings of the session. Moves nobody.
    pub async fn config(&self, set: Map<String, Value>, unset: Vec<String>) -> Result<Outcome, Error> {
        self.commit(Commit::new(move |tree, _| tree.plan_config(&set, &unset))).await
    }

    /// Hides an entry and everything below it. Whoever stands inside finds himself above.
    pub async fn delete_branch(&self, first: &str) -> Result<Outcome, Error> {
        let first = first.to_owned();
        self.commit(Commit::new(move |tree, _| tree.plan_delete_branch(&first))).await
    }

    pub async fn restore_branch(&self, first: &str) -> Result<Outcome, Error> {
        let first = first.to_owned();
        self.commit(Commit::new(move |tree, _| tree.plan_restore_branch(&first))).await
    }

    /// Makes what was acknowledged as durable as the setting asks. Called before a prompt is sent, and before a process ends.
    pub async fn before_prompt(&self) -> Result<(), Error> {
        self.ask(|reply| Mail::Sync { whatever_the_setting: false, reply }).await
    }

    /// Makes what was acknowledged survive a power cut, whatever the setting.
    pub async fn sync(&self) -> Result<(), Error> {
        self.ask(|reply| Mail::Sync { whatever_the_setting: true, reply }).await
    }

    /// Fetches lines, a batch at a time, and hands each to `each`. `version` tells which log the seqs belong to.
    pub async fn each_line<E: From<osier_store::StoreError>>(
        &self,
        version: Version,
        wanted: &[Seq],
        each: impl FnMut(Seq, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        osier_store::each_line(&*self.shared.store, self.key(), version.generation, wanted, each).await
    }

    /// The id of the entry at a place. Whoever keeps a place for later keeps its id, which survives a replaced log.
    pub(crate) fn name(&self, place: Place) -> Result<Option<String>, PlanError> {
        let tree = self.tree();
        let id_of = |seq: Seq| match seq.index() < tree.len() {
            true => Ok(tree.id(seq).to_string()),
            false => Err(PlanError::NotFound { id: format!("{seq:?}") }),
        };
        place.map(id_of).transpose()
    }

    pub(crate) fn tell(&self, mail: Mail) {
        // A writer that is gone has nobody left to tell.
        let _ = self.shared.mailbox.send(mail);
    }

    pub(crate) async fn ask<T>(&self, mail: impl FnOnce(Reply<T>) -> Mail) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        self.tell(mail(reply));
        answer.await.map_err(|_| Error::Closed)?
    }
}

/// The first lines of a new session: each draft below the one before.
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
