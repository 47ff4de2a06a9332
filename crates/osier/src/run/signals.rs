//! The signals that request the end of the process: SIGINT (Ctrl-C), SIGTERM and SIGHUP.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for these signals.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// The signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TerminationSignal {
    /// Ctrl-C: the user may only want to cancel the turn.
    Interrupt,
    Terminate,
    /// The terminal was closed.
    HangUp,
}

impl TerminationSignal {
    /// The exit code that shells use for this signal.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            TerminationSignal::HangUp => 129,
            TerminationSignal::Interrupt => 130,
            TerminationSignal::Terminate => 143,
        }
    }
}

impl Signals {
    pub(crate) fn listen() -> Result<Signals> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Signals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> TerminationSignal {
        tokio::select! {
            _ = self.interrupt.recv() => TerminationSignal::Interrupt,
            _ = self.terminate.recv() => TerminationSignal::Terminate,
            _ = self.hangup.recv() => TerminationSignal::HangUp,
        }
    }
}
