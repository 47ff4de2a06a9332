//! Runs a program in a pseudoterminal: keys go in, bytes come out, and a terminal emulator renders the
//! screen.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A program without output for this long is stuck.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(60);

/// The end of a frame (synchronized output).
pub(crate) const FRAME_END: &[u8] = b"\x1b[?2026l";

/// See the module documentation.
pub(crate) struct Pty {
    master: File,
    child: Child,
    parser: vt100::Parser,
    /// All output so far.
    pub(crate) bytes: Vec<u8>,
    pub(crate) started: Instant,
}

impl Pty {
    pub(crate) fn start(command: Command, columns: u16, rows: u16) -> Result<Self> {
        Self::start_as(command, "xterm-256color", columns, rows)
    }

    /// Starts a program in a terminal of this kind.
    pub(crate) fn start_as(mut command: Command, term: &str, columns: u16, rows: u16) -> Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?.into_string()?;
        let slave = File::options().read(true).write(true).open(name)?;
        tcsetwinsize(&master, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
        command.stdin(slave.try_clone()?).stdout(slave.try_clone()?).stderr(slave);
        command.env("TERM", term);
        let began = Instant::now();
        let child = command.spawn()?;
        let parser = vt100::Parser::new(rows, columns, 0);
        Ok(Self { master: File::from(master), child, parser, bytes: Vec::new(), started: began })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn press(&mut self, keys: &str) -> Result<()> {
        Ok(self.master.write_all(keys.as_bytes())?)
    }

    pub(crate) fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// The text on the screen.
    pub(crate) fn text(&self) -> String {
        self.parser.screen().contents()
    }

    /// Reads output for at most this long. Returns whether there was any.
    pub(crate) fn read(&mut self, timeout: Duration) -> Result<bool> {
        let timeout =
            Timespec { tv_sec: timeout.as_secs().try_into()?, tv_nsec: timeout.subsec_nanos().into() };
        let mut waiting = [PollFd::new(&self.master, PollFlags::IN)];
        if poll(&mut waiting, Some(&timeout))? == 0 {
            return Ok(false);
        }
        let mut buffer = [0; 1 << 16];
        match self.master.read(&mut buffer) {
            Ok(count @ 1..) => {
                self.parser.process(&buffer[..count]);
                self.bytes.extend_from_slice(&buffer[..count]);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Reads until the screen shows this text.
    pub(crate) fn wait_for(&mut self, wanted: &str) -> Result<()> {
        self.wait_until(wanted, |pty| pty.text().contains(wanted))
    }

    /// Reads until these bytes appear at or after `from`, and returns the position behind them.
    pub(crate) fn wait_bytes(&mut self, from: usize, wanted: &[u8]) -> Result<usize> {
        let find = |pty: &Self| {
            let found = pty.bytes[from..].windows(wanted.len()).position(|bytes| bytes == wanted);
            found.map(|at| from + at + wanted.len())
        };
        self.wait_until(&String::from_utf8_lossy(wanted), |pty| find(pty).is_some())?;
        Ok(find(self).unwrap_or(self.bytes.len()))
    }

    fn wait_until(&mut self, what: &str, is_met: impl Fn(&Self) -> bool) -> Result<()> {
        while !is_met(self) {
            if !self.read(OUTPUT_TIMEOUT)? {
                bail!("timed out waiting for {what:?}; the screen shows:\n{}", self.text());
            }
        }
        Ok(())
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_runs_in_a_terminal_and_its_screen_is_read() {
        let mut command = Command::new("sh");
        command.args(["-c", "stty size; read word; echo \"got $word\"; sleep 1000"]);
        let mut pty = Pty::start(command, 33, 11).unwrap();
        pty.wait_for("11 33").unwrap();
        pty.press("it\n").unwrap();
        pty.wait_for("got it").unwrap();
        assert!(pty.wait_bytes(0, b"got").unwrap() > 0);
    }
}
