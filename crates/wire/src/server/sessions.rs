//! The sessions that a client has open, and its streams of events.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use osier_protocol::{Attached, Client, ClientError, ErrorCode, LogPosition, SessionId};
use rustc_hash::FxHashMap;
use tokio::task::AbortHandle;

use super::requests::AnswerPermit;
use crate::decode::invalid_frame;
use crate::frame::{EventFrame, ServerFrame, generation_text};
use crate::outbox::{Outbox, OutboxClosed};
use crate::position::StreamPosition;

/// The most sessions and streams of one connection.
const MAX_OPEN: usize = 1000;

/// A session that a client has open.
#[derive(Debug, Clone)]
pub(super) struct ServedSession {
    pub(super) id: SessionId,
    pub(super) client: Arc<dyn Client>,
}

/// Everything that a connection has open, by the ids of the requests that opened it.
#[derive(Debug, Default)]
pub(super) struct OpenSessions(Mutex<OpenByRequest>);

#[derive(Debug, Default)]
struct OpenByRequest {
    sessions: FxHashMap<u64, ServedSession>,
    streams: FxHashMap<u64, ServedStream>,
    is_closed: bool,
}

#[derive(Debug)]
struct ServedStream {
    session: u64,
    task: AbortHandle,
}

impl Drop for ServedStream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl OpenSessions {
    fn lock(&self) -> MutexGuard<'_, OpenByRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, session: u64) -> Result<ServedSession, ClientError> {
        let found = self.lock().sessions.get(&session).cloned();
        found.ok_or_else(|| invalid_frame(&format!("no request with the id {session} opened a session")))
    }

    /// Refuses an id that names something already, and more than one client needs.
    pub(super) fn check_new(&self, id: u64) -> Result<(), ClientError> {
        let open = self.lock();
        if open.sessions.contains_key(&id) || open.streams.contains_key(&id) {
            return Err(invalid_frame(&format!("the id {id} is in use")));
        }
        if open.sessions.len() >= MAX_OPEN || open.streams.len() >= MAX_OPEN {
            let message = format!("a connection can have {MAX_OPEN} open sessions and {MAX_OPEN} streams");
            return Err(ClientError::new(ErrorCode::TooManyRequests, message));
        }
        Ok(())
    }

    pub(super) fn insert(&self, id: u64, session: ServedSession) {
        let mut open = self.lock();
        if !open.is_closed {
            open.sessions.insert(id, session);
        }
    }

    pub(super) fn close(&self, session: u64) {
        let mut open = self.lock();
        open.streams.retain(|_, stream| stream.session != session);
        open.sessions.remove(&session);
    }

    pub(super) fn detach(&self, stream: u64) {
        self.lock().streams.remove(&stream);
    }

    /// Ends all streams. Returns the sessions that are still open.
    pub(super) fn close_all(&self) -> Vec<ServedSession> {
        let mut open = self.lock();
        open.is_closed = true;
        open.streams.clear();
        open.sessions.drain().map(|(_, session)| session).collect()
    }

    /// Starts a task that sends the state and then the events.
    pub(super) fn start_stream(self: &Arc<Self>, stream: EventForwarder, session: u64, attached: Attached) {
        let (open, id) = (self.clone(), stream.id);
        let mut lock = self.lock();
        if lock.is_closed {
            return;
        }
        let task = tokio::spawn(async move {
            // If the connection is closed, nobody needs the rest.
            let _ = stream.forward(attached).await;
            open.detach(id);
        });
        lock.streams.insert(id, ServedStream { session, task: task.abort_handle() });
    }
}

/// Forwards the events of one attachment, in their order.
#[derive(Debug)]
pub(super) struct EventForwarder {
    /// The id of the request that attached.
    pub(super) id: u64,
    pub(super) session_id: SessionId,
    pub(super) after: Option<LogPosition>,
    pub(super) outbox: Outbox,
    /// Kept until the state is queued.
    pub(super) permit: AnswerPermit,
}

impl EventForwarder {
    async fn forward(mut self, attached: Attached) -> Result<(), OutboxClosed> {
        let Attached { state, mut events } = attached;
        let mut position = StreamPosition::new(self.after, &state);
        self.outbox.send(ServerFrame::Attached { id: self.id, state }.to_json()).await?;
        self.permit = None;
        while let Some(event) = events.next().await {
            position.advance(&event);
            let now = position.get();
            let frame = EventFrame {
                session_id: self.session_id.clone(),
                stream: self.id,
                generation: generation_text(now),
                revision: now.entries,
                event,
            };
            self.outbox.send(ServerFrame::Event(frame).to_json()).await?;
        }
        self.outbox.send(ServerFrame::Ended { stream: self.id }.to_json()).await
    }
}
