//! Fairness between processes that append to one session. The last writer already knows the log, and would be faster
//! than every process that has to read the log first. So a process that won against others pauses before its next append, for
//! about as long as it had to wait itself; and the longer a process has waited, the less it pauses.

use std::time::{Duration, Instant};

use crate::making::random;

/// The pause after the first lost race; half of it after the second, and so on.
const FIRST_PAUSE: Duration = Duration::from_millis(16);

/// The longest time for which a process lets others go first.
const LONGEST: Duration = Duration::from_millis(250);

/// How it went with the appends of this process to one session.
#[derive(Debug, Default)]
pub(crate) struct Contention {
    /// Races lost in a row, and since when.
    lost: u32,
    since: Option<Instant>,
    /// How long others are let go first.
    debt: Duration,
}

impl Contention {
    /// How long to wait before an attempt. Only the first one after a success waits.
    pub(crate) fn before_attempt(&mut self) -> Duration {
        jittered(std::mem::take(&mut self.debt))
    }

    /// Another process was faster. How long to wait before looking at what it wrote.
    pub(crate) fn lost(&mut self) -> Duration {
        self.since.get_or_insert_with(Instant::now);
        self.lost += 1;
        let pause = FIRST_PAUSE / (1 << (self.lost - 1).min(8));
        jittered(pause)
    }

    pub(crate) fn won(&mut self) {
        if let Some(since) = self.since.take() {
            self.debt = since.elapsed().min(LONGEST);
        }
        self.lost = 0;
    }
}

/// Between half of it and one and a half.
fn jittered(pause: Duration) -> Duration {
    let thousandths = 500 + u32::try_from(random() % 1000).unwrap_or_default();
    pause * thousandths / 1000
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Contention;

    #[test]
    fn a_process_that_won_against_others_lets_them_go_first_once() {
        let mut contention = Contention::default();
        contention.won();
        assert_eq!(contention.before_attempt(), Duration::ZERO, "nobody was in the way");
        let first = contention.lost();
        let later = (0..8).map(|_| contention.lost()).last().unwrap();
        assert!(later < first / 4, "{later:?} after many losses, {first:?} after the first");
        contention.won();
        assert!(contention.before_attempt() > Duration::ZERO);
        assert_eq!(contention.before_attempt(), Duration::ZERO);
    }
}
