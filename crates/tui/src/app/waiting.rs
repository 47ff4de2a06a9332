//! Waits for work that may hang, such as a query to an unreachable store, while keys and signals stay responsive.

use super::signals::Signals;
use crate::input::Keyboard;

/// How the wait ended.
pub(super) enum WaitOutcome<T> {
    Done(T),
    /// The user canceled the wait.
    Canceled,
    /// The program must exit with this code.
    Exit(u8),
}

/// Waits for the work. Keeps input for later, except for a key that cancels the wait.
pub(super) async fn wait_or_cancel<T>(
    work: impl Future<Output = T>,
    keyboard: &mut Keyboard,
    signals: &mut Signals,
) -> WaitOutcome<T> {
    let waited = tokio::select! {
        biased;
        done = work => WaitOutcome::Done(done),
        is_there = keyboard.wait_for_cancel() => if is_there { WaitOutcome::Canceled } else { WaitOutcome::Exit(129) },
        code = signals.exit.next() => WaitOutcome::Exit(code),
    };
    keyboard.release();
    waited
}
