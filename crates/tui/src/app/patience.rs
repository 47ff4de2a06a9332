//! Waiting for what may never come, such as a store that is away, without being deaf to the user.

use super::signals::Signals;
use crate::input::Keyboard;

/// What became of the waiting.
pub(super) enum Waited<T> {
    Done(T),
    /// The user has waited long enough.
    Enough,
    /// The program is to end, with this exit code.
    End(u8),
}

/// Waits for something. What is typed meanwhile is kept for later, but for a key that stops it.
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
