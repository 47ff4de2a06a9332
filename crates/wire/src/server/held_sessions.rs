//! Sessions of lost connections. They stay open for a while, so that their clients can connect again; a session that is not
//! stored yet is lost afterwards. Their number is limited, because clients may connect and leave faster than sessions expire.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::sessions::ServedSession;

/// The most sessions that are held for one client.
const MAX_PER_CONNECTION: usize = 64;

/// See the module documentation. Clones share the sessions.
#[derive(Debug, Clone)]
pub struct HeldSessions {
    duration: Duration,
    max: usize,
    /// Oldest first.
    sessions: Arc<Mutex<VecDeque<HeldSession>>>,
}

#[derive(Debug)]
struct HeldSession {
    until: Instant,
    _session: ServedSession,
}

impl HeldSessions {
    /// Holds each session for `duration`. With more than `max`, the oldest are closed early.
    pub fn new(duration: Duration, max: usize) -> HeldSessions {
        HeldSessions { duration, max, sessions: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<HeldSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hold(&self, mut sessions: Vec<ServedSession>) {
        // One client must not displace the sessions of all others.
        sessions.truncate(MAX_PER_CONNECTION);
        if sessions.is_empty() {
            return;
        }
        let until = Instant::now() + self.duration;
        let closed = {
            let mut held = self.lock();
            held.extend(sessions.into_iter().map(|session| HeldSession { until, _session: session }));
            let excess = held.len().saturating_sub(self.max);
            held.drain(..excess).collect::<Vec<_>>()
        };
        // Not in the lock: closing a session may take a while.
        drop(closed);
        let held = self.clone();
        tokio::spawn(async move {
            sleep_until(until).await;
            held.close_expired(until);
        });
    }

    fn close_expired(&self, now: Instant) {
        let expired = {
            let mut held = self.lock();
            let count = held.partition_point(|session| session.until <= now);
            held.drain(..count).collect::<Vec<_>>()
        };
        drop(expired);
    }
}
