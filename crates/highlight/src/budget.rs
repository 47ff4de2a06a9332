//! The processor time that highlighting may take. Some grammars backtrack on strange input: a line of 512 bytes can take half a
//! second instead of a millisecond. Code earns time by its length, far more than ordinary code needs. Once hostile code has used
//! it up, this process shows plain code.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What a process may spend before any code has earned time: to compile patterns, above all.
const START: Duration = Duration::from_secs(5);
/// What a byte of code earns. Ordinary code takes a tenth of it.
const PER_BYTE: Duration = Duration::from_micros(25);
/// The most that ordinary code can save up.
const MOST: Duration = Duration::from_secs(10);

pub(crate) static BUDGET: WorkBudget = WorkBudget::new();

/// See the module.
#[derive(Debug)]
pub(crate) struct WorkBudget {
    nanoseconds_left: AtomicI64,
}

impl WorkBudget {
    const fn new() -> WorkBudget {
        WorkBudget { nanoseconds_left: AtomicI64::new(START.as_nanos() as i64) }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.nanoseconds_left.load(Ordering::Relaxed) <= 0
    }

    /// Does the work on some bytes of code, and counts its processor time.
    pub(crate) fn charge<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        let before = thread_time();
        let result = work();
        self.count(bytes, thread_time().saturating_sub(before));
        result
    }

    fn count(&self, bytes: usize, spent: Duration) {
        let change = (bytes as i64).saturating_mul(nanoseconds(PER_BYTE)).saturating_sub(nanoseconds(spent));
        let add = |left: i64| (left > 0).then(|| left.saturating_add(change).min(nanoseconds(MOST)));
        // Refused once nothing is left: it stays spent.
        let _ = self.nanoseconds_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

fn nanoseconds(duration: Duration) -> i64 {
    duration.as_nanos().try_into().unwrap_or(i64::MAX)
}

/// The processor time of this thread: unlike the time of day, it does not depend on what else the machine does.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_code_never_uses_up_the_budget() {
        let budget = WorkBudget::new();
        for _ in 0..100_000 {
            budget.count(40, Duration::from_micros(40 * 10));
        }
        assert!(!budget.is_spent());
    }

    #[test]
    fn hostile_code_uses_it_up_for_good_whatever_was_saved() {
        let budget = WorkBudget::new();
        (0..100_000).for_each(|_| budget.count(512, Duration::ZERO));
        let lines = (1..).find(|_| {
            budget.count(512, Duration::from_millis(400));
            budget.is_spent()
        });
        assert_eq!(lines, Some(26), "ten seconds");
        budget.count(usize::MAX >> 8, Duration::ZERO);
        assert!(budget.is_spent());
    }

    #[test]
    fn work_is_measured_in_processor_time() {
        let budget = WorkBudget::new();
        let before = budget.nanoseconds_left.load(Ordering::Relaxed);
        let mut sum = 0_u64;
        while thread_time() == Duration::ZERO || sum < 1_000_000 {
            sum = budget.charge(0, || std::hint::black_box(sum + 1));
        }
        assert!(budget.nanoseconds_left.load(Ordering::Relaxed) < before);
    }
}
