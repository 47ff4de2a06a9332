//! Signals from the system, and suspending the program.

use std::io;

use nix::unistd::{getpgid, getpgrp, getppid, getsid};
use rustix::process::{Signal as Raw, kill_current_process_group};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that the interface handles.
pub(super) struct Signals {
    pub(super) ending: Ending,
    stop: Signal,
    going_on: Signal,
    resized: Signal,
}

/// The signals that end the program.
pub(super) struct Ending {
    terminate: Signal,
    hang_up: Signal,
    quit: Signal,
    interrupt: Signal,
}

impl Ending {
    /// Waits for one of them; returns the exit code.
    pub(super) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 143,
            _ = self.hang_up.recv() => 129,
            _ = self.quit.recv() => 131,
            _ = self.interrupt.recv() => 130,
        }
    }
}

/// A signal that was received.
pub(super) enum Told {
    /// End with this exit code.
    End(u8),
    Stop,
    /// Another process stopped the program, and it continues now.
    GoOn,
    /// The size of the terminal changed.
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

    /// Discards signals from keys that were typed while another program had the terminal.
    pub(super) fn forget_keys(&mut self) -> io::Result<()> {
        (self.ending.interrupt, self.ending.quit) = (of(Raw::INT)?, of(Raw::QUIT)?);
        self.stop = of(Raw::TSTP)?;
        Ok(())
    }

    /// Stops the program; returns when the shell resumes it.
    pub(super) async fn suspend(&mut self) -> io::Result<()> {
        self.going_on = of(Raw::CONT)?;
        kill_current_process_group(Raw::STOP)?;
        // The stop may reach this thread with a delay.
        self.going_on.recv().await;
        Ok(())
    }
}

/// Whether a shell can take the terminal and resume the program: a parent process in the same session but in another process
/// group. In a container, the session may belong to the outer system and have the number 0.
pub(super) fn has_shell() -> bool {
    let parent = getppid();
    let same_session =
        matches!((getsid(Some(parent)), getsid(None)), (Ok(theirs), Ok(ours)) if theirs == ours);
    same_session && getpgid(Some(parent)).is_ok_and(|group| group != getpgrp())
}
