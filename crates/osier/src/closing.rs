//! The end of a run: closes all sessions, also those that were left earlier.

use std::time::Duration;

use osier_engine::Engine;

use crate::failure::error_chain;
use crate::layout::sanitize_line;
use crate::output_writer::notice;
use crate::run::signals::Signals;

/// How long running turns and the stores may take to end.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Cancels what runs, closes all sessions, and reports results that could not be stored. A signal ends the waiting.
pub(crate) async fn close_sessions(engine: &Engine) {
    if !engine.has_live_sessions() {
        return;
    }
    let Ok(mut signals) = Signals::listen() else { return };
    let lost = tokio::select! {
        lost = engine.close(EXIT_TIMEOUT) => lost,
        _ = signals.next() => return,
    };
    for lost in lost {
        let reason = match lost.error {
            Some(error) => sanitize_line(&error_chain(&error.into())),
            None => "the store did not answer in time".to_owned(),
        };
        notice(&format!("osier: the last results could not be stored and are lost: {reason}"));
    }
}
