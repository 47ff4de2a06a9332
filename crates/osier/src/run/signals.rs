//! The signals that request the end of the process: SIGINT (Ctrl-C), SIGTERM and SIGHUP.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for these signals.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

/// The signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Ctrl-C: the user may only want to cancel the turn.
    Interrupt,
    Terminate,
    /// The terminal was closed.
    HangUp,
}

impl Asked {
    /// The exit code that shells use for this signal.
    pub(crate) fn code(self) -> u8 {
        match self {
            Asked::HangUp => 129,
            Asked::Interrupt => 130,
            Asked::Terminate => 143,
        }
    }
}

impl Signals {
    pub(crate) fn catch() -> Result<Signals> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Signals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.interrupt.recv() => Asked::Interrupt,
            _ = self.terminate.recv() => Asked::Terminate,
            _ = self.hang_up.recv() => Asked::HangUp,
        }
    }
}
