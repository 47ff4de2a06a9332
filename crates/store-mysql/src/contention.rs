//! Fairness between processes that append to one session. The last writer has the log cached, so it would always be faster
//! than processes that must read the log first. So a process that wins after losing pauses before its next append, for about
//! as long as it had to wait itself; and the more races a process has lost, the shorter it pauses between attempts.

use std::time::{Duration, Instant};

use crate::log_creation::random_id;

/// The pause after the first lost race; half of it after the second, and so on.
const FIRST_PAUSE: Duration = Duration::from_millis(16);

/// The maximum pause after a win.
const MAX_PAUSE: Duration = Duration::from_millis(250);

/// The recent wins and losses of this process in one session.
#[derive(Debug, Default)]
pub(crate) struct Contention {
    /// The number of races lost in a row, and the time of the first loss.
    losses: u32,
    first_loss: Option<Instant>,
    /// How long to let other processes go first.
    next_pause: Duration,
}

impl Contention {
    /// The pause before the next attempt. Nonzero only for the first attempt after a win.
    pub(crate) fn take_pause(&mut self) -> Duration {
        with_jitter(std::mem::take(&mut self.next_pause))
    }

    /// Records that another process was faster. Returns the pause before reading what it wrote.
    pub(crate) fn record_loss(&mut self) -> Duration {
        self.first_loss.get_or_insert_with(Instant::now);
        self.losses += 1;
        let pause = FIRST_PAUSE / (1 << (self.losses - 1).min(8));
        with_jitter(pause)
    }

    pub(crate) fn record_win(&mut self) {
        if let Some(since) = self.first_loss.take() {
            self.next_pause = since.elapsed().min(MAX_PAUSE);
        }
        self.losses = 0;
    }
}

/// Between 0.5 and 1.5 times `pause`.
fn with_jitter(pause: Duration) -> Duration {
    let thousandths = 500 + u32::try_from(random_id() % 1000).unwrap_or_default();
    pause * thousandths / 1000
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Contention;

    #[test]
    fn process_that_wins_after_losing_lets_others_go_first_once() {
        let mut contention = Contention::default();
        contention.record_win();
        assert_eq!(contention.take_pause(), Duration::ZERO, "no other process interfered");
        let first = contention.record_loss();
        let later = (0..8).map(|_| contention.record_loss()).last().unwrap();
        assert!(later < first / 4, "{later:?} after many losses, {first:?} after the first");
        contention.record_win();
        assert!(contention.take_pause() > Duration::ZERO);
        assert_eq!(contention.take_pause(), Duration::ZERO);
    }
}
