//! The sessions that a client has open, and its streams of events.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use osier_protocol::{Attached, Client, ClientError, ErrorCode, LogPosition, SessionId};
use rustc_hash::FxHashMap;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::answers::{MAX_ANSWER, limited_json, too_large};
use super::latest_search::LatestSearch;
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
    pub(super) search: LatestSearch,
}

/// Everything that a connection has open, by the ids of the requests that opened it.
#[derive(Debug, Default)]
pub(super) struct OpenSessions(Mutex<OpenByRequest>);

#[derive(Debug, Default)]
struct OpenByRequest {
    sessions: FxHashMap<u64, ServedSession>,
    streams: FxHashMap<u64, ServedStream>,
    /// Sessions that are being opened, and whether the client has closed them already.
    opening: FxHashMap<u64, bool>,
    is_closed: bool,
}

impl OpenByRequest {
    fn find(&self, session: u64) -> Result<ServedSession, ClientError> {
        self.sessions.get(&session).cloned().ok_or_else(|| {
            invalid_frame(&format!("no session {session} is open; send `open` first and use its id"))
        })
    }

    fn check_new(&self, id: u64) -> Result<(), ClientError> {
        let is_used = self.sessions.contains_key(&id)
            || self.streams.contains_key(&id)
            || self.opening.contains_key(&id);
        if is_used {
            return Err(invalid_frame(&format!("the id {id} is in use")));
        }
        if self.sessions.len() + self.opening.len() >= MAX_OPEN || self.streams.len() >= MAX_OPEN {
            let message =
                format!("a connection can have {MAX_OPEN} sessions and {MAX_OPEN} streams; close some first");
            return Err(ClientError::new(ErrorCode::TooManyRequests, message));
        }
        Ok(())
    }
}

/// A stream of events. It exists from the request on, so that a client can end it before it starts.
#[derive(Debug)]
struct ServedStream {
    session: u64,
    ended: CancellationToken,
    task: Option<AbortHandle>,
}

impl Drop for ServedStream {
    fn drop(&mut self) {
        self.ended.cancel();
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// A stream that is being started.
#[derive(Debug)]
pub(super) struct StartingStream {
    id: u64,
    /// The client has ended the stream or closed the session.
    ended: CancellationToken,
}

impl StartingStream {
    /// Attaches to the session, unless the client ends the stream meanwhile.
    pub(super) async fn attach(
        &self,
        client: &dyn Client,
        after: Option<LogPosition>,
    ) -> Result<Attached, ClientError> {
        let attached = self.ended.run_until_cancelled(client.attach(after)).await;
        attached.unwrap_or_else(|| Err(stream_ended()))
    }
}

fn stream_ended() -> ClientError {
    ClientError::new(
        ErrorCode::SessionClosed,
        "the client closed the session or the stream before it started",
    )
}

impl OpenSessions {
    fn lock(&self) -> MutexGuard<'_, OpenByRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, session: u64) -> Result<ServedSession, ClientError> {
        self.lock().find(session)
    }

    /// Reserves an id for a session that is being opened. Refuses an id that names something already, and more sessions than one
    /// client needs.
    pub(super) fn reserve(&self, id: u64) -> Result<OpeningSession<'_>, ClientError> {
        let mut open = self.lock();
        open.check_new(id)?;
        open.opening.insert(id, false);
        Ok(OpeningSession { open: self, id })
    }

    /// The open sessions.
    pub(super) fn sessions(&self) -> Vec<ServedSession> {
        self.lock().sessions.values().cloned().collect()
    }

    pub(super) fn close(&self, session: u64) {
        let mut open = self.lock();
        open.streams.retain(|_, stream| stream.session != session);
        open.sessions.remove(&session);
        if let Some(is_closed) = open.opening.get_mut(&session) {
            *is_closed = true;
        }
    }

    pub(super) fn detach(&self, stream: u64) {
        self.lock().streams.remove(&stream);
    }

    /// Ends all streams. Returns the sessions that are still open.
    pub(super) fn close_all(&self) -> Vec<ServedSession> {
        let mut open = self.lock();
        open.is_closed = true;
        open.streams.clear();
        let mut sessions: Vec<_> = open.sessions.drain().collect();
        sessions.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(*id));
        sessions.into_iter().map(|(_, session)| session).collect()
    }

    /// Adds a stream that starts later.
    pub(super) fn add_stream(
        &self,
        id: u64,
        session: u64,
    ) -> Result<(ServedSession, StartingStream), ClientError> {
        let mut open = self.lock();
        open.check_new(id)?;
        let served = open.find(session)?;
        if open.is_closed {
            return Err(stream_ended());
        }
        let ended = CancellationToken::new();
        open.streams.insert(id, ServedStream { session, ended: ended.clone(), task: None });
        Ok((served, StartingStream { id, ended }))
    }

    /// Removes a stream that could not start.
    pub(super) fn remove(&self, stream: &StartingStream) {
        // Otherwise its id may name another stream already.
        if !stream.ended.is_cancelled() {
            self.detach(stream.id);
        }
    }

    /// Starts a task that sends the state and then the events.
    pub(super) fn start_stream(
        self: &Arc<Self>,
        stream: StartingStream,
        forwarder: EventForwarder,
        attached: Attached,
    ) -> Result<(), ClientError> {
        let (open, id) = (self.clone(), stream.id);
        let mut lock = self.lock();
        if stream.ended.is_cancelled() {
            return Err(stream_ended());
        }
        let task = tokio::spawn(async move {
            // If the connection is closed, nobody needs the rest.
            let _ = forwarder.forward(attached).await;
            open.remove(&stream);
        });
        if let Some(stream) = lock.streams.get_mut(&id) {
            stream.task = Some(task.abort_handle());
        }
        Ok(())
    }
}

/// A session that is being opened. Its id is free again when this is dropped.
#[derive(Debug)]
pub(super) struct OpeningSession<'a> {
    open: &'a OpenSessions,
    id: u64,
}

impl OpeningSession<'_> {
    /// The session is open, unless the client has closed it meanwhile.
    pub(super) fn finish(self, session: ServedSession) {
        let mut open = self.open.lock();
        if !open.is_closed && open.opening.get(&self.id) == Some(&false) {
            open.sessions.insert(self.id, session);
        }
    }
}

impl Drop for OpeningSession<'_> {
    fn drop(&mut self) {
        self.open.lock().opening.remove(&self.id);
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
        let attached = ServerFrame::Attached { id: self.id, state };
        let Some(attached) = limited_json(&attached, MAX_ANSWER) else {
            return self.outbox.send(ServerFrame::error(self.id, too_large()).to_json()).await;
        };
        self.outbox.send(attached).await?;
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
