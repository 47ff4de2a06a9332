//! Limits on what extensions send. A flood of notices is cut, and reported once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How many notices an extension may send at once, and per second from then on.
const BURST: f64 = 2_000.0;
const PER_SECOND: f64 = 500.0;

/// How many bytes an extension may send in notices at once, and per second from then on.
const BYTE_BURST: f64 = (256 << 20) as f64;
const BYTES_PER_SECOND: f64 = (32 << 20) as f64;

/// The most requests of an extension that wait for an answer, and the size of their parameters.
pub(super) const MAX_OPEN_CALLS: usize = 5_000;
pub(super) const MAX_OPEN_BYTES: usize = 256 << 20;

/// Counts the notices of the extensions of one process.
#[derive(Debug, Default)]
pub(super) struct FloodGuard(Mutex<HashMap<BudgetKey, NoticeBudget>>);

/// An extension, and whether its notices must not be lost because of others.
type BudgetKey = (u32, bool);

#[derive(Debug)]
struct NoticeBudget {
    left: f64,
    bytes_left: f64,
    at: Instant,
    is_reported: bool,
}

/// What to do with a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FloodDecision {
    Handle,
    /// The first one that is too many.
    Report,
    Drop,
}

impl FloodGuard {
    /// Registrations and typed prompts have a budget of their own.
    pub(super) fn count_notice(&self, extension: u32, method: &str, size: usize) -> FloodDecision {
        let is_important = matches!(method, "on" | "off" | "bus.on" | "editor.submit")
            || method.starts_with("register")
            || method.starts_with("unregister");
        self.count_notice_at((extension, is_important), size, Instant::now())
    }

    fn count_notice_at(&self, key: BudgetKey, size: usize, now: Instant) -> FloodDecision {
        let mut budgets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let full = NoticeBudget { left: BURST, bytes_left: BYTE_BURST, at: now, is_reported: false };
        let budget = budgets.entry(key).or_insert(full);
        let passed = now.saturating_duration_since(budget.at).as_secs_f64();
        budget.left = (budget.left + passed * PER_SECOND).min(BURST);
        budget.bytes_left = (budget.bytes_left + passed * BYTES_PER_SECOND).min(BYTE_BURST);
        budget.at = now;
        let size = size as f64;
        if budget.left >= 1.0 && budget.bytes_left >= size {
            budget.left -= 1.0;
            budget.bytes_left -= size;
            return FloodDecision::Handle;
        }
        match std::mem::replace(&mut budget.is_reported, true) {
            false => FloodDecision::Report,
            true => FloodDecision::Drop,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_flood_is_cut_and_reported_once() {
        let (guard, start) = (FloodGuard::default(), Instant::now());
        let decide = |count: usize, at: Instant| -> Vec<FloodDecision> {
            (0..count).map(|_| guard.count_notice_at((0, false), 10, at)).collect()
        };
        let first = decide(2_002, start);
        assert!(first[..2_000].iter().all(|decision| *decision == FloodDecision::Handle));
        assert_eq!(first[2_000..], [FloodDecision::Report, FloodDecision::Drop]);
        let later = decide(501, start + Duration::from_secs(1));
        assert_eq!(later.iter().filter(|decision| **decision == FloodDecision::Handle).count(), 500);
        let others = [(1, false), (0, true)];
        assert!(others.into_iter().all(|key| guard.count_notice_at(key, 10, start) == FloodDecision::Handle));
    }

    #[test]
    fn a_few_large_notices_are_a_flood_too() {
        let (guard, start) = (FloodGuard::default(), Instant::now());
        let decide = |at: Instant| guard.count_notice_at((0, false), 60 << 20, at);
        let decisions: Vec<FloodDecision> = (0..5).map(|_| decide(start)).collect();
        assert!(decisions[..4].iter().all(|decision| *decision == FloodDecision::Handle));
        assert_eq!(decisions[4], FloodDecision::Report);
        assert_eq!(decide(start + Duration::from_secs(2)), FloodDecision::Handle);
        assert_eq!(guard.count_notice_at((1, false), 60 << 20, start), FloodDecision::Handle);
    }

    #[test]
    fn a_flood_of_log_lines_loses_no_prompts_and_registrations() {
        let guard = FloodGuard::default();
        let logs = (0..3_000).filter(|_| guard.count_notice(0, "log", 10) == FloodDecision::Handle).count();
        assert!(logs < 3_000);
        for method in ["editor.submit", "registerTool", "on", "unregisterProvider"] {
            assert_eq!(guard.count_notice(0, method, 10), FloodDecision::Handle, "{method}");
        }
    }
}
