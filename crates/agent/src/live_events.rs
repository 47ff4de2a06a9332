//! Live events: what clients see only while it happens. They are never stored. Streamed replies use the
//! session's drafts instead.

use osier_protocol::ClientEvent;
use osier_session::{Session, StateAge};
use tokio::sync::broadcast;

/// How many events a slow client may fall behind before it must attach again.
const CHANNEL_CAPACITY: usize = 1024;

/// A live event with the age of the session when it was sent.
#[derive(Debug, Clone)]
pub(crate) struct LiveEvent {
    pub(crate) after: StateAge,
    pub(crate) event: ClientEvent,
}

/// Sends live events to all attached clients.
#[derive(Debug, Clone)]
pub(crate) struct LiveSender {
    session: Session,
    sender: broadcast::Sender<LiveEvent>,
}

impl LiveSender {
    pub(crate) fn new(session: Session) -> LiveSender {
        LiveSender { session, sender: broadcast::Sender::new(CHANNEL_CAPACITY) }
    }

    pub(crate) fn send(&self, event: ClientEvent) {
        // It is fine if no client is attached.
        let _ = self.sender.send(LiveEvent { after: self.session.state().age(), event });
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<LiveEvent> {
        self.sender.subscribe()
    }
}
