//! Ctrl-C, and the other ways in which a process is asked to end.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// See the module.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

/// Who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Ctrl-C: somebody is there, and may only want to stop what goes on.
    Interrupt,
    Terminate,
    /// The terminal is gone.
    HangUp,
}

impl Asked {
    /// The exit code, as shells tell it.
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
