//! The task that writes a session's log. It handles one message at a time, so each message is atomic.

mod append;
mod leases;
mod resync;

use std::sync::Arc;

use osier_store::{Store, StoreError, Version, Watch};
use osier_tree::{Place, Seq, SessionTree};
use tokio::sync::{broadcast, mpsc, watch};

use crate::attach::Attached;
use crate::draft::Drafts;
use crate::env::{Durability, Env};
use crate::error::Error;
use crate::event::{Event, Events};
use crate::load::Loaded;
use crate::mail::{Followed, Mail};
use crate::standing::{CursorId, Cursors};
use crate::state::State;

/// How many events a slow client can lag behind before it must attach again.
const EVENTS: usize = 1024;

/// How many short ids to try before using a longer one.
const MINTS: usize = 100;

/// The writer of a session.
pub(crate) struct Writer {
    store: Arc<dyn Store>,
    key: String,
    /// The session id. `key` can differ from it.
    id: String,
    env: Env,
    tree: SessionTree,
    version: Version,
    cursors: Cursors,
    drafts: Drafts,
    leases: leases::OwnLeases,
    /// The cursors of released leases.
    ended_leases: Vec<u64>,
    published: watch::Sender<Arc<State>>,
    events: broadcast::Sender<Event>,
    /// Whether there are acknowledged entries that are not synced.
    unsynced: bool,
}

impl Writer {
    pub(crate) fn new(store: Arc<dyn Store>, key: String, env: Env, loaded: Loaded) -> Writer {
        let cursors = Cursors::new(&loaded.tree);
        let state = State::of(&loaded.tree, loaded.version, &cursors);
        Writer {
            store,
            key,
            id: loaded.opened.header.id,
            env,
            tree: loaded.tree,
            version: loaded.version,
            cursors,
            drafts: Drafts::default(),
            leases: leases::OwnLeases::default(),
            ended_leases: Vec::new(),
            published: watch::Sender::new(Arc::new(state)),
            events: broadcast::Sender::new(EVENTS),
            unsynced: false,
        }
    }

    pub(crate) fn state(&self) -> watch::Receiver<Arc<State>> {
        self.published.subscribe()
    }

    /// Runs until the last handle is dropped.
    pub(crate) async fn run(mut self, mut mailbox: mpsc::UnboundedReceiver<Mail>, mut watch: Option<Watch>) {
        loop {
            let mail = tokio::select! {
                mail = mailbox.recv() => mail,
                () = changed(&mut watch) => Some(Mail::Changed),
            };
            match mail {
                Some(mail) => self.open(mail).await,
                None => break,
            }
        }
        self.release_all_leases().await;
        // There is no client left to report an error to. The operating system has the acknowledged entries.
        let _ = self.sync(false).await;
    }

    /// Handles a message. The result of `send` is ignored, because the caller may have stopped waiting.
    async fn open(&mut self, mail: Mail) {
        match mail {
            Mail::Append { job, reply } => drop(reply.send(self.append(*job).await)),
            Mail::Attach { after, reply } => drop(reply.send(Ok(self.attach(after)))),
            // The next operation reports errors of the store.
            Mail::Changed => drop(self.read_on().await),
            Mail::ReadOn { reply } => drop(reply.send(self.read_on().await.map(|()| self.version))),
            Mail::Sync { whatever_the_setting, reply } => {
                drop(reply.send(self.sync(whatever_the_setting).await.map_err(Error::from)));
            }
            Mail::NewCursor { at, reply } => drop(reply.send(Ok(self.new_cursor(at)))),
            Mail::DropCursor { cursor } => self.drop_cursor(cursor).await,
            Mail::Follow { cursor, reply } => drop(reply.send(self.follow(cursor))),
            Mail::BeginTurn { turn, reply } => {
                let begun = self.begin_turn(turn.cursor()).await;
                // Nobody waits for it any more.
                if let Err(Ok(turn)) = reply.send(begun.map(|()| turn.started())) {
                    self.end_turn(turn.abandon(), None).await;
                }
            }
            Mail::EndTurn { cursor, reply } => self.end_turn(cursor, reply).await,
            Mail::CheckFree { at, reply } => drop(reply.send(self.check_place(at).await)),
            Mail::BeginDraft { cursor, reply } => drop(reply.send(Ok(self.begin_draft(cursor)))),
            Mail::PushDraft { id, delta } => {
                let event = self.drafts.push(&id, delta);
                self.announce(event);
            }
            Mail::DropDraft { id } => self.drop_draft(&id),
        }
    }

    /// Publishes the current state to readers. Always called before the events about it are sent.
    fn publish(&self) {
        self.published.send_replace(Arc::new(State::of(&self.tree, self.version, &self.cursors)));
    }

    fn announce(&self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            // An error means that there are no receivers.
            let _ = self.events.send(event);
        }
    }

    /// Updates the cursors after new entries.
    fn settle_cursors(&mut self) {
        let events = self.cursors.settle(&self.tree);
        if !events.is_empty() {
            self.publish();
            self.announce(events);
        }
    }

    fn attach(&self, after: Option<Version>) -> Attached {
        let state = self.published.borrow().clone();
        Attached::new(state, after, self.drafts.all(), Events::new(self.events.subscribe()))
    }

    async fn sync(&mut self, whatever_the_setting: bool) -> Result<(), StoreError> {
        if self.unsynced && (whatever_the_setting || self.env.durability != Durability::Os) {
            self.store.sync(&self.key).await?;
            self.unsynced = false;
        }
        Ok(())
    }

    fn new_cursor(&mut self, at: Place) -> CursorId {
        let at = at.filter(|seq| seq.index() < self.tree.len());
        let id = self.cursors.add(&self.tree, at);
        self.publish();
        id
    }

    async fn drop_cursor(&mut self, cursor: CursorId) {
        self.release_lease(cursor).await;
        self.cursors.remove(cursor);
        self.publish();
    }

    fn follow(&mut self, cursor: CursorId) -> Result<Followed, Error> {
        let standing = self.cursors.get(cursor).ok_or(Error::Closed)?;
        let (place, busy, elsewhere) = (standing.place, standing.busy, standing.elsewhere);
        let Some(tip) = elsewhere.map(|elsewhere| elsewhere.tip) else { return Ok(Followed::Stands(place)) };
        if busy {
            return Err(Error::Busy { at: self.name(place) });
        }
        if !self.tree.same_place(Some(tip), self.tree.leaf()) {
            return Ok(Followed::Move(Some(tip)));
        }
        let place = self.cursors.follow(&self.tree, cursor);
        self.publish();
        self.announce([Event::CursorMoved { cursor, place }]);
        Ok(Followed::Stands(place))
    }

    async fn end_turn(&mut self, cursor: CursorId, reply: Option<crate::mail::Reply<()>>) {
        self.release_lease(cursor).await;
        if let Some(standing) = self.cursors.change(cursor) {
            standing.busy = false;
            self.publish();
            self.settle_cursors();
        }
        let synced = self.sync(false).await.map_err(Error::from);
        if let Some(reply) = reply {
            let _ = reply.send(synced);
        }
    }

    fn begin_draft(&mut self, cursor: CursorId) -> Arc<str> {
        let id = self.mint();
        let event = self.drafts.begin(id.clone(), cursor);
        self.announce([event]);
        id
    }

    fn drop_draft(&mut self, id: &Arc<str>) {
        if self.drafts.end(id) {
            self.announce([Event::DraftDropped { id: id.clone() }]);
        }
    }

    /// An id that no entry and no open draft has.
    fn mint(&self) -> Arc<str> {
        let is_free = |id: &String| self.tree.find(id).is_none() && !self.drafts.has(id);
        let short = std::iter::repeat_with(|| self.env.ids.entry()).take(MINTS).find(is_free);
        short.unwrap_or_else(|| self.env.ids.session()).into()
    }

    fn name(&self, place: Place) -> Option<String> {
        place.map(|seq: Seq| self.tree.id(seq).to_string())
    }
}

async fn changed(watch: &mut Option<Watch>) {
    match watch {
        Some(watch) => watch.changed().await,
        None => std::future::pending().await,
    }
}
