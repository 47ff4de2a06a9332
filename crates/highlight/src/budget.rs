//! The processor time that highlighting may take. Some grammars backtrack on strange input: a line of 512 bytes can take half a
//! second instead of a millisecond. Code earns time by its length, far more than ordinary code needs. When hostile code has used
//! it up, this process shows plain code for a while.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What a process may spend before any code has earned time: to compile patterns, above all.
const START: Duration = Duration::from_secs(5);
/// What a byte of code earns. Ordinary code takes a tenth of it.
const PER_BYTE: Duration = Duration::from_micros(25);
/// The most that ordinary code can save up.
const MOST: Duration = Duration::from_secs(10);
/// How long code is plain once the time is used up, and what there is then. A gateway has other sessions than the hostile one.
const REST: Duration = Duration::from_secs(60);
const AFTER_REST: Duration = Duration::from_secs(1);

pub(crate) static BUDGET: WorkBudget = WorkBudget::new();

/// See the module.
#[derive(Debug)]
pub(crate) struct WorkBudget {
    nanoseconds_left: AtomicI64,
    /// When it was used up, in seconds of the monotonic clock.
    spent_at: AtomicU64,
}

impl WorkBudget {
    const fn new() -> WorkBudget {
        WorkBudget { nanoseconds_left: AtomicI64::new(START.as_nanos() as i64), spent_at: AtomicU64::new(0) }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.nanoseconds_left.load(Ordering::Relaxed) <= 0 && !self.has_rested(clock(ClockId::Monotonic))
    }

    /// Whether enough time has passed since the budget was used up. Then there is a little more.
    fn has_rested(&self, now: Duration) -> bool {
        let rested = now.as_secs() >= self.spent_at.load(Ordering::Relaxed) + REST.as_secs();
        if rested {
            self.nanoseconds_left.store(nanoseconds(AFTER_REST), Ordering::Relaxed);
        }
        rested
    }

    /// Does the work on some bytes of code, and counts its processor time.
    pub(crate) fn charge<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        let before = clock(ClockId::ThreadCPUTime);
        let result = work();
        let spent = clock(ClockId::ThreadCPUTime).saturating_sub(before);
        self.count(bytes, spent, || clock(ClockId::Monotonic));
        result
    }

    fn count(&self, bytes: usize, spent: Duration, now: impl FnOnce() -> Duration) {
        let change = (bytes as i64).saturating_mul(nanoseconds(PER_BYTE)).saturating_sub(nanoseconds(spent));
        let add = |left: i64| (left > 0).then(|| left.saturating_add(change).min(nanoseconds(MOST)));
        // Refused once nothing is left: only rest helps.
        let before = self.nanoseconds_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        if before.is_ok_and(|left| left.saturating_add(change) <= 0) {
            self.spent_at.store(now().as_secs(), Ordering::Relaxed);
        }
    }
}

fn nanoseconds(duration: Duration) -> i64 {
    duration.as_nanos().try_into().unwrap_or(i64::MAX)
}

/// Work is measured by the processor time of its thread, which does not depend on what else the machine does.
fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_000);

    #[test]
    fn ordinary_code_never_uses_up_the_budget() {
        let budget = WorkBudget::new();
        for _ in 0..100_000 {
            budget.count(40, Duration::from_micros(40 * 10), || NOW);
        }
        assert!(!budget.is_spent());
    }

    #[test]
    fn hostile_code_uses_it_up_whatever_was_saved() {
        let budget = WorkBudget::new();
        (0..100_000).for_each(|_| budget.count(512, Duration::ZERO, || NOW));
        let lines = (1..).find(|_| {
            budget.count(512, Duration::from_millis(400), || NOW);
            budget.nanoseconds_left.load(Ordering::Relaxed) <= 0
        });
        assert_eq!(lines, Some(26), "ten seconds");
        budget.count(usize::MAX >> 8, Duration::ZERO, || NOW);
        assert!(budget.nanoseconds_left.load(Ordering::Relaxed) <= 0, "other code does not help");
        assert!(!budget.has_rested(NOW + REST - Duration::from_secs(1)));
        assert!(budget.has_rested(NOW + REST) && !budget.is_spent(), "code has colors again");
        budget.count(0, AFTER_REST, || NOW + REST);
        assert!(!budget.has_rested(NOW + REST * 3 / 2), "and only for a moment, if it is still hostile");
    }

    #[test]
    fn work_is_measured_in_processor_time() {
        let budget = WorkBudget::new();
        let before = budget.nanoseconds_left.load(Ordering::Relaxed);
        let mut sum = 0_u64;
        while clock(ClockId::ThreadCPUTime) == Duration::ZERO || sum < 1_000_000 {
            sum = budget.charge(0, || std::hint::black_box(sum + 1));
        }
        assert!(budget.nanoseconds_left.load(Ordering::Relaxed) < before);
    }
}
