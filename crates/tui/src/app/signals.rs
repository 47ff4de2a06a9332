//! Signals from the system, and suspending the program.

use std::io;

use nix::unistd::{getpgid, getpgrp, getppid, getsid};
use rustix::process::{Signal as Raw, kill_current_process_group};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that the interface handles.
pub(super) struct Signals {
    pub(super) exit: ExitSignals,
    stop: Signal,
    continued: Signal,
    resized: Signal,
}

/// The signals that end the program.
pub(super) struct ExitSignals {
    terminate: Signal,
    hang_up: Signal,
    quit: Signal,
    interrupt: Signal,
}

impl ExitSignals {
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
pub(super) enum SignalEvent {
    /// End with this exit code.
    Exit(u8),
    Stop,
    /// Another process stopped the program, and it continues now.
    Continued,
    /// The size of the terminal changed.
    Resized,
}

fn listen_for(raw: Raw) -> io::Result<Signal> {
    signal(SignalKind::from_raw(raw.as_raw()))
}

impl Signals {
    pub(super) fn new() -> io::Result<Signals> {
        Ok(Signals {
            exit: ExitSignals {
                terminate: listen_for(Raw::TERM)?,
                hang_up: listen_for(Raw::HUP)?,
                quit: listen_for(Raw::QUIT)?,
                interrupt: listen_for(Raw::INT)?,
            },
            stop: listen_for(Raw::TSTP)?,
            continued: listen_for(Raw::CONT)?,
            resized: listen_for(Raw::WINCH)?,
        })
    }

    pub(super) async fn next(&mut self) -> SignalEvent {
        tokio::select! {
            code = self.exit.next() => SignalEvent::Exit(code),
            _ = self.stop.recv() => SignalEvent::Stop,
            _ = self.continued.recv() => SignalEvent::Continued,
            _ = self.resized.recv() => SignalEvent::Resized,
        }
    }

    /// Discards signals from keys that were typed while another program had the terminal.
    pub(super) fn discard_key_signals(&mut self) -> io::Result<()> {
        (self.exit.interrupt, self.exit.quit) = (listen_for(Raw::INT)?, listen_for(Raw::QUIT)?);
        self.stop = listen_for(Raw::TSTP)?;
        Ok(())
    }

    /// Stops the program; returns when the shell resumes it.
    pub(super) async fn suspend(&mut self) -> io::Result<()> {
        self.continued = listen_for(Raw::CONT)?;
        kill_current_process_group(Raw::STOP)?;
        // The stop may reach this thread with a delay.
        self.continued.recv().await;
        Ok(())
    }
}

/// Whether a shell can take the terminal and resume the program: a parent process in the same session but in another process
/// group. In a container, the session may belong to the outer system and have the number 0.
pub(super) fn has_job_control() -> bool {
    let parent = getppid();
    let same_session =
        matches!((getsid(Some(parent)), getsid(None)), (Ok(theirs), Ok(ours)) if theirs == ours);
    same_session && getpgid(Some(parent)).is_ok_and(|group| group != getpgrp())
}
