//! The events of one attachment, between the task that reads the connection and the client. A client that does not read
//! them loses its stream; others are not slowed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::stream;
use osier_protocol::client::AttachedState;
use osier_protocol::{ClientEvent, EventStream, LogPosition};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::client::OpenedOnLink;
use crate::frame::ClientFrame;
use crate::position::StreamPosition;

/// How many events wait for a client that is slow.
const CAPACITY: usize = 1024;

/// The end that the connection writes.
#[derive(Debug)]
pub(super) struct StreamSender {
    events: Sender<ClientEvent>,
    position: StreamPosition,
    status: Arc<StreamStatus>,
}

/// The end that the client reads.
#[derive(Debug)]
pub(super) struct StreamReceiver {
    id: u64,
    events: Receiver<ClientEvent>,
    status: Arc<StreamStatus>,
}

/// How a stream ends.
#[derive(Debug, Default)]
struct StreamStatus {
    /// The engine said that the stream has ended.
    is_finished: AtomicBool,
    missed: AtomicU64,
}

/// A stream for an attachment.
pub(super) fn new_stream(
    id: u64,
    after: Option<LogPosition>,
    state: &AttachedState,
) -> (StreamSender, StreamReceiver) {
    let (sender, events) = channel(CAPACITY);
    let status = Arc::new(StreamStatus::default());
    let position = StreamPosition::new(after, state);
    (StreamSender { events: sender, position, status: status.clone() }, StreamReceiver { id, events, status })
}

impl StreamSender {
    /// Passes an event on. Returns false if the stream has ended: the client is gone or too slow, or an entry is missing.
    pub(super) fn send(&mut self, event: ClientEvent) -> bool {
        let is_complete = self.position.advance(&event);
        if is_complete && self.events.try_send(event).is_ok() {
            return true;
        }
        self.status.missed.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// The engine ended the stream.
    pub(super) fn finish(self) {
        self.status.is_finished.store(true, Ordering::Release);
    }
}

impl StreamReceiver {
    /// The events. If the stream ends for another reason than the engine's, it ends with `lagged`.
    pub(super) fn into_stream(self, session: Arc<OpenedOnLink>) -> EventStream {
        let guard = DetachGuard { session, stream: self.id };
        let state = (self, guard, false);
        Box::pin(stream::unfold(state, |(mut events, guard, is_ended)| async move {
            if is_ended {
                return None;
            }
            match events.events.recv().await {
                Some(event) => {
                    let is_last = matches!(event, ClientEvent::Lagged { .. });
                    Some((event, (events, guard, is_last)))
                }
                None if events.status.is_finished.load(Ordering::Acquire) => None,
                None => {
                    let missed = events.status.missed.load(Ordering::Relaxed);
                    Some((ClientEvent::Lagged { missed }, (events, guard, true)))
                }
            }
        }))
    }
}

/// Ends the stream at the engine when the client drops it.
struct DetachGuard {
    session: Arc<OpenedOnLink>,
    stream: u64,
}

impl Drop for DetachGuard {
    fn drop(&mut self) {
        self.session.link.detach(self.stream);
        self.session.link.notify(&ClientFrame::Detach { stream: self.stream });
    }
}
