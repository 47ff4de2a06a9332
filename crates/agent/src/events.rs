//! All events of an agent in one order: the entries that a client missed, then the session's entries and
//! drafts together with the live events.
//!
//! The last two come from two tasks. A live event carries the age of the session when it was sent, so a slow
//! receiver still sees a tool end before its result is stored, and a turn end after its last entry.

use std::collections::VecDeque;

use osier_protocol::{BacktrackEvent, ClientEvent, EventStream, ExtensionEvent, MoveEvent};
use osier_session::{SessionEvent, SessionEvents, StateAge};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::attached_clients::AttachedClient;
use crate::client_position::ClientPosition;
use crate::live_events::LiveEvent;
use crate::missed_entries::MissedEntries;

/// The source of a client's event stream.
#[derive(Debug)]
pub(crate) struct AgentEvents {
    pub(crate) missed: Option<MissedEntries>,
    /// What extensions showed before, as far as it is still on the screen or no client has seen it.
    pub(crate) shown: VecDeque<ExtensionEvent>,
    pub(crate) session: SessionEvents,
    /// `None` for a client that reads a session without an agent.
    pub(crate) live: Option<broadcast::Receiver<LiveEvent>>,
    pub(crate) client: Option<AttachedClient>,
    pub(crate) position: ClientPosition,
    /// The age of the session as far as the receiver has seen it.
    pub(crate) seen: StateAge,
    pub(crate) queued: QueuedEvents,
}

/// The next event of each source, if it has arrived.
#[derive(Debug, Default)]
pub(crate) struct QueuedEvents {
    session: Option<SessionEvent>,
    live: Option<LiveEvent>,
    moved: Option<MoveEvent>,
    backtrack: Option<BacktrackEvent>,
    /// Nothing may follow.
    ended: bool,
    /// A source has ended. What it sent before is still to come.
    closed: bool,
}

impl AgentEvents {
    /// The events as a stream. It ends after the session or the agent has ended, and after `Lagged`.
    pub(crate) fn into_stream(self) -> EventStream {
        let next = |mut events: AgentEvents| async move { Some((events.next().await?, events)) };
        Box::pin(futures_util::stream::unfold(self, next))
    }

    async fn next(&mut self) -> Option<ClientEvent> {
        if let Some(backtrack) = self.queued.backtrack.take() {
            return Some(ClientEvent::Backtrack(backtrack));
        }
        let event = self.next_event().await?;
        if let ClientEvent::Entry(entry) = &event
            && !entry.off_path
        {
            self.queued.backtrack = entry.backtrack();
        }
        Some(event)
    }

    async fn next_event(&mut self) -> Option<ClientEvent> {
        if let Some(event) = self.next_missed().await {
            return Some(event);
        }
        if let Some(event) = self.shown.pop_front() {
            return Some(ClientEvent::Extension(event));
        }
        while !self.queued.ended {
            self.poll_ready();
            if let Some(event) = self.take_first() {
                return Some(event);
            }
            if self.queued.closed {
                break;
            }
            self.wait_for_event().await;
        }
        None
    }

    /// The next entry that was stored before the client attached. If it cannot be read, the client must
    /// attach again.
    async fn next_missed(&mut self) -> Option<ClientEvent> {
        let missed = self.missed.as_mut()?;
        let event = match missed.next().await {
            Ok(Some(entry)) => return Some(ClientEvent::Entry(entry)),
            Ok(None) => None,
            Err(_) => {
                self.queued.ended = true;
                Some(ClientEvent::Lagged { missed: missed.remaining() as u64 })
            }
        };
        self.missed = None;
        event
    }

    async fn wait_for_event(&mut self) {
        tokio::select! {
            event = self.session.next(), if self.queued.session.is_none() => match event {
                Some(event) => self.queued.session = Some(event),
                None => self.queued.closed = true,
            },
            event = next_live(&mut self.live), if self.queued.live.is_none() => match event {
                Ok(event) => self.queue_live(event),
                Err(RecvError::Closed) => self.queued.closed = true,
                Err(RecvError::Lagged(missed)) => self.set_lagged(missed),
            },
        }
    }

    /// Fetches available events without waiting.
    fn poll_ready(&mut self) {
        if self.queued.live.is_none()
            && let Some(live) = &mut self.live
        {
            match live.try_recv() {
                Ok(event) => self.queue_live(event),
                Err(TryRecvError::Lagged(missed)) => self.set_lagged(missed),
                Err(TryRecvError::Empty | TryRecvError::Closed) => {}
            }
        }
        if self.queued.session.is_none() {
            self.queued.session = self.session.try_next();
        }
    }

    fn queue_live(&mut self, event: LiveEvent) {
        if event.recipient.is_none() || event.recipient == self.client.as_ref().map(|client| client.id) {
            self.queued.live = Some(event);
        }
    }

    fn set_lagged(&mut self, missed: u64) {
        self.queued.live = None;
        self.queued.session = Some(SessionEvent::Lagged { missed });
    }

    /// The earliest of the queued events, if their order is known.
    fn take_first(&mut self) -> Option<ClientEvent> {
        if let Some(moved) = self.queued.moved.take() {
            return Some(ClientEvent::Moved(moved));
        }
        let live_is_first = match (&self.queued.session, &self.queued.live) {
            (Some(SessionEvent::Committed { seq, .. }), Some(live)) => {
                live.after <= StateAge { entries: seq.index(), ..self.seen }
            }
            // A replaced log can be shorter, and can contain entries that were never announced.
            (Some(SessionEvent::Reset { .. }), Some(live)) => {
                live.after.replacements <= self.seen.replacements
            }
            (None, Some(live)) => live.after <= self.seen,
            (Some(_) | None, _) => false,
        };
        if live_is_first {
            return self.queued.live.take().map(|live| live.event);
        }
        let event = self.queued.session.take()?;
        match &event {
            SessionEvent::Committed { seq, .. } => self.seen.entries = seq.index() + 1,
            SessionEvent::Reset { version } => {
                self.seen = StateAge { replacements: self.seen.replacements + 1, entries: version.entries };
            }
            SessionEvent::Lagged { .. } => self.queued.ended = true,
            _ => {}
        }
        let (event, moved) = self.position.convert(event);
        self.queued.moved = moved;
        Some(event)
    }
}

/// The next live event; waits forever without an agent.
async fn next_live(live: &mut Option<broadcast::Receiver<LiveEvent>>) -> Result<LiveEvent, RecvError> {
    match live {
        Some(live) => live.recv().await,
        None => std::future::pending().await,
    }
}
