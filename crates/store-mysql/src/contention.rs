//! Fairness between processes that append to one session. The last writer has the log cached, so it is faster than every process
//! that must read the log first. So a process that loses races for too long joins a queue, which is a few rows of `osier_locks`.
//! The first process in the queue appends. Processes that notice the queue wait until it is empty.
//!
//! Correctness does not depend on the queue: an append still fails if its position is taken. A killed process leaves the queue
//! after a few seconds.

use std::time::{Duration, Instant};

use osier_store::{LogVersion, StoreError};

use crate::append::AppendRequest;
use crate::locks;
use crate::log_creation::random_id;
use crate::store::{LogState, StoreInner, retry_until_done};

/// The pause after the first lost race; half of it after the second, and so on.
const FIRST_PAUSE: Duration = Duration::from_millis(16);

/// A process that has lost races for this long joins the queue.
const STARVATION_TIME: Duration = Duration::from_millis(300);

/// How often a process checks whether it is first in the queue, or the queue is empty.
const QUEUE_POLL_INTERVAL: Duration = Duration::from_millis(20);

const QUEUE_RENEWAL_INTERVAL: Duration = Duration::from_secs(1);

/// After this time, a process appends in any case.
const MAX_QUEUE_WAIT: Duration = Duration::from_secs(5);

/// The recent losses of this process in one session.
#[derive(Debug, Default)]
pub(crate) struct Contention {
    /// The number of races lost in a row, and the time of the first loss.
    losses: u32,
    first_loss: Option<Instant>,
    /// Whether there was a queue when the last race was lost.
    queue_exists: bool,
    /// Whether this process is in the queue.
    is_queued: bool,
}

impl Contention {
    /// Records that another process was faster. Returns the pause before the next attempt.
    pub(crate) fn record_loss(&mut self, queue_exists: bool) -> Duration {
        self.losses += 1;
        self.first_loss.get_or_insert_with(Instant::now);
        self.queue_exists = queue_exists;
        with_jitter(FIRST_PAUSE / (1 << (self.losses - 1).min(8)))
    }

    fn is_starving(&self) -> bool {
        self.is_queued || self.first_loss.is_some_and(|first| first.elapsed() >= STARVATION_TIME)
    }
}

/// Between 50% and 150% of `pause`.
fn with_jitter(pause: Duration) -> Duration {
    let thousandths = 500 + u32::try_from(random_id() % 1000).unwrap_or_default();
    pause * thousandths / 1000
}

impl StoreInner {
    /// Appends. If several processes append to the session, first waits for its turn.
    pub(crate) async fn append_in_turn(
        &self,
        append: AppendRequest<'_>,
        state: &mut LogState,
    ) -> Result<LogVersion, StoreError> {
        let contention = &mut state.contention;
        if contention.is_starving() {
            tracing::debug!(session = append.id, "waiting in the queue of appends");
            self.stay_in_queue(append.id).await?;
            contention.is_queued = true;
            self.wait_for_turn(append.id, true).await?;
        } else if contention.queue_exists || self.has_append_queue(append.id) {
            self.wait_for_turn(append.id, false).await?;
        }
        let done = self.append(append, state).await;
        // After a lost race the caller tries again, so the process keeps its place in the queue.
        if !matches!(done, Err(StoreError::Conflict { .. })) {
            if state.contention.is_queued {
                // If this fails, the place expires.
                if let Err(error) = self.leave_queue(append.id).await {
                    tracing::debug!(%error, "cannot leave the queue of an append");
                }
            }
            state.contention = Contention::default();
        }
        done
    }

    async fn append(
        &self,
        append: AppendRequest<'_>,
        state: &mut LogState,
    ) -> Result<LogVersion, StoreError> {
        let bytes: usize = append.lines.iter().map(Vec::len).sum();
        Ok(retry_until_done!(self, bytes, |connection| append.run_attempt(connection, state)))
    }

    /// Waits until the queue is empty or, if this process is in it, until this process is first.
    async fn wait_for_turn(&self, id: &str, is_queued: bool) -> Result<(), StoreError> {
        let (started, mut renewed) = (Instant::now(), Instant::now());
        while started.elapsed() < MAX_QUEUE_WAIT {
            let first = retry_until_done!(self, 0, |connection| locks::first_in_queue(connection, id));
            if first.is_none_or(|first| first == self.holder()) {
                break;
            }
            if is_queued && renewed.elapsed() > QUEUE_RENEWAL_INTERVAL {
                self.stay_in_queue(id).await?;
                renewed = Instant::now();
            }
            tokio::time::sleep(with_jitter(QUEUE_POLL_INTERVAL)).await;
        }
        Ok(())
    }

    /// Renews the place in the queue. Joins the queue if there is no place or it expired.
    async fn stay_in_queue(&self, id: &str) -> Result<(), StoreError> {
        let holder = self.holder();
        if !retry_until_done!(self, 0, |connection| locks::stay_in_queue(connection, id, holder)) {
            retry_until_done!(self, 0, |connection| locks::join_queue(connection, id, holder));
        }
        Ok(())
    }

    async fn leave_queue(&self, id: &str) -> Result<(), StoreError> {
        let (holder, retries) = (self.holder(), self.background_retries());
        retry_until_done!(self, 0, retries, |connection| locks::leave_queue(connection, id, holder));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{Contention, STARVATION_TIME};

    #[test]
    fn pauses_shrink_with_each_loss() {
        let mut contention = Contention::default();
        let first = contention.record_loss(false);
        let later = (0..8).map(|_| contention.record_loss(false)).last().unwrap();
        assert!(later < first / 4, "{later:?} after many losses, {first:?} after the first");
    }

    #[test]
    fn process_that_loses_for_too_long_starves() {
        let mut contention = Contention::default();
        assert!(!contention.is_starving());
        contention.record_loss(false);
        contention.first_loss = Instant::now().checked_sub(STARVATION_TIME);
        assert!(contention.is_starving());
    }
}
