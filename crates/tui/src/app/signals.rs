//! What the system tells the program, and how the program stops itself for the shell.

use std::io;

use nix::unistd::{getpgid, getpgrp, getppid, getsid};
use rustix::process::{Signal as Raw, kill_current_process_group};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that mean something to the interface.
pub(super) struct Signals {
    pub(super) ending: Ending,
    stop: Signal,
    going_on: Signal,
    resized: Signal,
}

/// Those after which the program ends.
pub(super) struct Ending {
    terminate: Signal,
    hang_up: Signal,
    quit: Signal,
    interrupt: Signal,
}

impl Ending {
    /// The exit code.
    pub(super) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 143,
            _ = self.hang_up.recv() => 129,
            _ = self.quit.recv() => 131,
            _ = self.interrupt.recv() => 130,
        }
    }
}

/// What came.
pub(super) enum Told {
    /// To end, with this exit code.
    End(u8),
    Stop,
    /// It was stopped from outside, and goes on.
    GoOn,
    /// The terminal has another size.
    Resized,
}

fn of(raw: Raw) -> io::Result<Signal> {
    signal(SignalKind::from_raw(raw.as_raw()))
}

impl Signals {
    pub(super) fn new() -> io::Result<Signals> {
        Ok(Signals {
            ending: Ending {
                terminate: of(Raw::TERM)?,
                hang_up: of(Raw::HUP)?,
                quit: of(Raw::QUIT)?,
                interrupt: of(Raw::INT)?,
            },
            stop: of(Raw::TSTP)?,
            going_on: of(Raw::CONT)?,
            resized: of(Raw::WINCH)?,
        })
    }

    pub(super) async fn next(&mut self) -> Told {
        tokio::select! {
            code = self.ending.next() => Told::End(code),
            _ = self.stop.recv() => Told::Stop,
            _ = self.going_on.recv() => Told::GoOn,
            _ = self.resized.recv() => Told::Resized,
        }
    }

    /// While another program had the terminal, its keys were not meant for us.
    pub(super) fn forget_keys(&mut self) -> io::Result<()> {
        (self.ending.interrupt, self.ending.quit) = (of(Raw::INT)?, of(Raw::QUIT)?);
        self.stop = of(Raw::TSTP)?;
        Ok(())
    }

    /// Stops the program; comes back when the shell lets it go on.
    pub(super) async fn suspend(&mut self) -> io::Result<()> {
        self.going_on = of(Raw::CONT)?;
        kill_current_process_group(Raw::STOP)?;
        // The stop may reach this thread a moment late.
        self.going_on.recv().await;
        Ok(())
    }
}

/// Whether there is a shell that would take the terminal and let us go on: a parent of the same session in another group.
/// In a container the session may be the outer system's, which has the number 0 here.
pub(super) fn has_shell() -> bool {
    let parent = getppid();
    let same_session =
        matches!((getsid(Some(parent)), getsid(None)), (Ok(theirs), Ok(ours)) if theirs == ours);
    same_session && getpgid(Some(parent)).is_ok_and(|group| group != getpgrp())
}
