//! Work on many files at once.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum number of threads. More would compete for the disk.
const MAX_THREADS: usize = 8;

/// Fewer items are not worth a thread.
const ITEMS_PER_THREAD: usize = 4;

/// Calls `work` with each number below `count` and returns the results in this order. Uses several threads, each with its
/// own state.
pub(super) fn map_parallel<S, T: Send>(
    count: usize,
    new_state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> T + Sync,
) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(MAX_THREADS).min(count.div_ceil(ITEMS_PER_THREAD));
    if threads < 2 {
        let mut state = new_state();
        return (0..count).map(|number| work(&mut state, number)).collect();
    }
    let next = AtomicUsize::new(0);
    let run = || {
        let (mut state, mut done) = (new_state(), Vec::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return done;
            }
            done.push((number, work(&mut state, number)));
        }
    };
    let mut results: Vec<(usize, T)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut results = run();
        for worker in workers {
            match worker.join() {
                Ok(more) => results.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        for count in [0, 1, 7, 1000] {
            let doubled = map_parallel(count, || (), |(), number| number * 2);
            assert_eq!(doubled, (0..count).map(|number| number * 2).collect::<Vec<_>>());
        }
    }
}
