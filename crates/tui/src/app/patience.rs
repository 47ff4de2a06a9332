//! Waits for work that may hang, such as a query to an unreachable store, while keys and signals stay responsive.

use super::signals::Signals;
use crate::input::Keyboard;

/// How the wait ended.
pub(super) enum Waited<T> {
    Done(T),
    /// The user canceled the wait.
    Enough,
    /// The program must exit with this code.
    End(u8),
}

/// Waits for the work. Keeps input for later, except for a key that cancels the wait.
pub(super) async fn patiently<T>(
    work: impl Future<Output = T>,
    keyboard: &mut Keyboard,
    signals: &mut Signals,
) -> Waited<T> {
    let waited = tokio::select! {
        biased;
        done = work => Waited::Done(done),
        is_there = keyboard.stopped() => if is_there { Waited::Enough } else { Waited::End(129) },
        code = signals.ending.next() => Waited::End(code),
    };
    keyboard.release();
    waited
}
