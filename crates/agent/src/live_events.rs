//! Live events: what clients see only while it happens. They are never stored. Streamed replies use the
//! session's drafts instead.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use osier_protocol::ClientEvent;
use osier_session::{Session, StateAge};
use tokio::sync::broadcast;

use crate::attached_clients::AttachedClients;
use crate::running_events::RunningEvents;

/// How many events a slow client may fall behind before it must attach again.
const CHANNEL_CAPACITY: usize = 1024;

/// A live event with the age of the session when it was sent.
#[derive(Debug, Clone)]
pub(crate) struct LiveEvent {
    pub(crate) after: StateAge,
    pub(crate) event: ClientEvent,
    /// The only client that gets it.
    pub(crate) recipient: Option<ClientId>,
}

/// A client in this process, to tell it from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientId(u64);

impl ClientId {
    /// An id that no other client has.
    #[allow(clippy::new_without_default, reason = "two ids are never equal")]
    pub fn new() -> ClientId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        ClientId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Sends live events to all attached clients.
#[derive(Debug, Clone)]
pub(crate) struct LiveSender {
    session: Session,
    sender: broadcast::Sender<LiveEvent>,
    running: Arc<Mutex<RunningEvents>>,
    pub(crate) clients: AttachedClients,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LiveSender {
    pub(crate) fn new(session: Session) -> LiveSender {
        let sender = broadcast::Sender::new(CHANNEL_CAPACITY);
        LiveSender { session, sender, running: Arc::default(), clients: AttachedClients::new() }
    }

    pub(crate) fn send(&self, event: ClientEvent) {
        self.send_to(None, event);
    }

    /// Sends an event to one client; without a recipient, to all.
    pub(crate) fn send_to(&self, recipient: Option<ClientId>, event: ClientEvent) {
        // The lock is held until the event is sent: a client that attaches gets it once, from one of the two.
        let mut running = self.running();
        running.follow(&event);
        // It is fine if no client is attached.
        let _ = self.sender.send(LiveEvent { after: self.session.state().age(), event, recipient });
    }

    /// What runs now, and all later events.
    pub(crate) fn subscribe(&self) -> (Vec<ClientEvent>, broadcast::Receiver<LiveEvent>) {
        let running = self.running();
        (running.events(), self.sender.subscribe())
    }

    /// False if the event belongs to a command or a summary that has ended.
    pub(crate) fn still_runs(&self, event: &ClientEvent) -> bool {
        self.running().still_runs(event)
    }

    fn running(&self) -> MutexGuard<'_, RunningEvents> {
        lock(&self.running)
    }

    /// When the guard is dropped, the command of the user has ended, whether or not it succeeded.
    pub(crate) fn end_command_on_drop(&self) -> EndOnDrop<'_> {
        EndOnDrop { live: self, end: RunningEvents::end_command }
    }

    /// Shows that a hook works, until the guard is dropped.
    pub(crate) fn show_work(&self, command: Option<&str>) -> ShownWork<'_> {
        let id = self.running().new_work_id();
        self.send(ClientEvent::ExtensionWorkStarted { id, command: command.map(str::to_owned) });
        ShownWork { live: self, id }
    }

    /// When the guard is dropped, nothing waits to be tried again.
    pub(crate) fn end_retry_on_drop(&self) -> EndOnDrop<'_> {
        EndOnDrop { live: self, end: RunningEvents::end_retry }
    }

    /// When the guard is dropped, the summary is written or was given up.
    pub(crate) fn end_summary_on_drop(&self) -> EndOnDrop<'_> {
        EndOnDrop { live: self, end: RunningEvents::end_summary }
    }
}

/// Work of a hook that clients show. It ends when this is dropped.
#[derive(Debug)]
pub struct ShownWork<'a> {
    live: &'a LiveSender,
    id: u64,
}

impl Drop for ShownWork<'_> {
    fn drop(&mut self) {
        self.live.send(ClientEvent::ExtensionWorkEnded { id: self.id });
    }
}

/// Ends something that no event ends.
pub(crate) struct EndOnDrop<'a> {
    live: &'a LiveSender,
    end: fn(&mut RunningEvents),
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        (self.end)(&mut self.live.running());
    }
}
