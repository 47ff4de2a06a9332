//! The task that writes a session's log. It handles one message at a time, so each message is atomic.

mod append;
mod leases;
mod resync;

use std::sync::Arc;

use osier_store::{LogVersion, Store, StoreError, Watch};
use osier_tree::{EntryId, Place, Seq, SessionTree};
use tokio::sync::{broadcast, mpsc, watch};

use crate::attach::Attached;
use crate::cursor_state::{CursorId, Cursors};
use crate::draft::OpenDrafts;
use crate::env::{Durability, SessionEnv};
use crate::error::SessionError;
use crate::event::{SessionEvent, SessionEvents};
use crate::load::LoadedSession;
use crate::state::SessionState;
use crate::writer_message::{FollowResult, WriterMessage};

/// How many events a slow client can lag behind before it must attach again.
const EVENT_CAPACITY: usize = 1024;

/// How many short ids to try before using a longer one.
const MAX_ID_ATTEMPTS: usize = 100;

/// The writer of a session. It has many fields because everything that a session changes goes through it.
pub(crate) struct SessionWriter {
    store: Arc<dyn Store>,
    key: String,
    /// The session id. `key` can differ from it.
    id: String,
    env: SessionEnv,
    tree: SessionTree,
    version: LogVersion,
    /// The generation of the same entries before the first append stored them elsewhere.
    earlier_generation: Option<u64>,
    /// How often the log was replaced.
    replacements: usize,
    cursors: Cursors,
    drafts: OpenDrafts,
    leases: leases::OwnLeases,
    /// The cursors of released leases.
    ended_leases: Vec<u64>,
    published: watch::Sender<Arc<SessionState>>,
    events: broadcast::Sender<SessionEvent>,
    /// Whether there are acknowledged entries that are not synced.
    unsynced: bool,
    watch: Option<Watch>,
}

impl SessionWriter {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        key: String,
        env: SessionEnv,
        loaded: LoadedSession,
    ) -> SessionWriter {
        let cursors = Cursors::new(&loaded.tree);
        let state = SessionState::new(&loaded.tree, loaded.version, 0, &cursors);
        SessionWriter {
            store,
            key,
            id: loaded.opened.header.id,
            env,
            tree: loaded.tree,
            version: loaded.version,
            earlier_generation: None,
            replacements: 0,
            cursors,
            drafts: OpenDrafts::default(),
            leases: leases::OwnLeases::default(),
            ended_leases: Vec::new(),
            published: watch::Sender::new(Arc::new(state)),
            events: broadcast::Sender::new(EVENT_CAPACITY),
            unsynced: false,
            watch: None,
        }
    }

    pub(crate) fn subscribe_state(&self) -> watch::Receiver<Arc<SessionState>> {
        self.published.subscribe()
    }

    /// Runs until the last handle is dropped.
    pub(crate) async fn run(
        mut self,
        mut mailbox: mpsc::UnboundedReceiver<WriterMessage>,
        watch: Option<Watch>,
    ) {
        self.watch = watch;
        loop {
            let message = tokio::select! {
                message = mailbox.recv() => message,
                () = changed(&mut self.watch) => Some(WriterMessage::Changed),
            };
            match message {
                Some(message) => self.handle_message(message).await,
                None => break,
            }
        }
        self.release_all_leases().await;
        // There is no client left to report an error to. The operating system has the acknowledged entries.
        if let Err(error) = self.sync(false).await {
            tracing::warn!(%error, "cannot sync a session that closes");
        }
        tracing::debug!("closed");
    }

    /// Handles a message. The result of `send` is ignored, because the caller may have stopped waiting.
    async fn handle_message(&mut self, message: WriterMessage) {
        match message {
            WriterMessage::Append { job, reply } => drop(reply.send(self.append(*job).await)),
            WriterMessage::Attach { after, reply } => drop(reply.send(Ok(self.attach(after)))),
            // The next operation reports errors of the store.
            WriterMessage::Changed => {
                if let Err(error) = self.read_appended().await {
                    tracing::debug!(%error, "cannot read what another process appended");
                }
            }
            WriterMessage::Refresh { reply } => {
                drop(reply.send(self.read_appended().await.map(|()| self.version)));
            }
            WriterMessage::StartWatching { reply } => drop(reply.send(self.start_watching().await)),
            WriterMessage::Sync { whatever_the_setting, reply } => {
                drop(reply.send(self.sync(whatever_the_setting).await.map_err(SessionError::from)));
            }
            WriterMessage::NewCursor { at, reply } => drop(reply.send(Ok(self.new_cursor(at)))),
            WriterMessage::DropCursor { cursor } => self.drop_cursor(cursor).await,
            WriterMessage::Follow { cursor, reply } => drop(reply.send(self.follow(cursor))),
            WriterMessage::BeginTurn { turn, reply } => {
                let begun = self.begin_turn(turn.cursor()).await;
                // The caller has stopped waiting.
                if let Err(Ok(turn)) = reply.send(begun.map(|()| turn.started())) {
                    self.end_turn(turn.abandon(), None).await;
                }
            }
            WriterMessage::EndTurn { cursor, reply } => self.end_turn(cursor, reply).await,
            WriterMessage::CheckNoForeignTurn { at, reply } => {
                drop(reply.send(self.check_no_foreign_turn_at(at).await));
            }
            WriterMessage::BeginDraft { cursor, reply } => drop(reply.send(Ok(self.begin_draft(cursor)))),
            WriterMessage::PushDraft { id, delta } => {
                let event = self.drafts.push(&id, delta);
                self.announce(event);
            }
            WriterMessage::DropDraft { id } => self.drop_draft(&id),
        }
    }

    /// Publishes the current state to readers. Always called before the events about it are sent.
    fn publish(&self) {
        let state = SessionState::new(&self.tree, self.version, self.replacements, &self.cursors);
        self.published.send_replace(Arc::new(state));
    }

    fn announce(&self, events: impl IntoIterator<Item = SessionEvent>) {
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

    fn attach(&self, after: Option<LogVersion>) -> Attached {
        let state = self.published.borrow().clone();
        // A client that knows the log from before continues in it.
        let after = after.map(|after| match Some(after.generation) == self.earlier_generation {
            true => LogVersion { generation: state.version.generation, ..after },
            false => after,
        });
        Attached::new(state, after, self.drafts.to_vec(), SessionEvents::new(self.events.subscribe()))
    }

    async fn sync(&mut self, whatever_the_setting: bool) -> Result<(), StoreError> {
        if self.unsynced && (whatever_the_setting || self.env.durability != Durability::Os) {
            self.store.sync(&self.key).await?;
            self.unsynced = false;
        }
        Ok(())
    }

    /// Continues if the store cannot watch, as when a session is opened.
    async fn start_watching(&mut self) -> Result<(), SessionError> {
        if self.watch.is_none() {
            self.watch = self.store.watch(&self.key).await.ok();
            self.read_appended().await?;
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

    fn follow(&mut self, cursor: CursorId) -> Result<FollowResult, SessionError> {
        let cursor_state = self.cursors.get(cursor).ok_or(SessionError::Closed)?;
        let (position, busy, continuation) =
            (cursor_state.position, cursor_state.busy, cursor_state.continuation);
        let Some(tip) = continuation.map(|continuation| continuation.tip) else {
            return Ok(FollowResult::AtPlace(position));
        };
        if busy {
            return Err(SessionError::Busy { at: self.id_at(position) });
        }
        if !self.tree.same_place(Some(tip), self.tree.leaf()) {
            return Ok(FollowResult::NeedsMove(Some(tip)));
        }
        let position = self.cursors.follow(&self.tree, cursor);
        self.publish();
        let id = position.map(|seq| self.tree.id(seq).to_entry_id());
        self.announce([SessionEvent::CursorMoved { cursor, position, id }]);
        Ok(FollowResult::AtPlace(position))
    }

    async fn end_turn(&mut self, cursor: CursorId, reply: Option<crate::writer_message::ReplySender<()>>) {
        self.release_lease(cursor).await;
        if let Some(cursor_state) = self.cursors.get_mut(cursor) {
            cursor_state.busy = false;
            self.publish();
            self.settle_cursors();
        }
        let synced = self.sync(false).await.map_err(SessionError::from);
        if let Some(reply) = reply {
            let _ = reply.send(synced);
        }
    }

    fn begin_draft(&mut self, cursor: CursorId) -> EntryId {
        let id = self.new_entry_id();
        let event = self.drafts.start(id.clone(), cursor);
        self.announce([event]);
        id
    }

    fn drop_draft(&mut self, id: &EntryId) {
        if self.drafts.end(id) {
            self.announce([SessionEvent::DraftDropped { id: id.clone() }]);
        }
    }

    /// An id that no entry and no open draft has.
    fn new_entry_id(&self) -> EntryId {
        let is_free = |id: &String| self.tree.find(id).is_none() && !self.drafts.contains(id);
        let short = std::iter::repeat_with(|| self.env.ids.entry()).take(MAX_ID_ATTEMPTS).find(is_free);
        short.unwrap_or_else(|| self.env.ids.session()).into()
    }

    fn id_at(&self, position: Place) -> Option<String> {
        position.map(|seq: Seq| self.tree.id(seq).to_string())
    }
}

async fn changed(watch: &mut Option<Watch>) {
    match watch {
        Some(watch) => watch.changed().await,
        None => std::future::pending().await,
    }
}
