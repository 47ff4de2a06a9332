//! Kills a running process if Osier itself is killed, so that a call recorded as interrupted is not still running. A watchdog
//! process waits until a pipe that only Osier holds is closed.

use std::io::{self, PipeWriter};
use std::process::Stdio;

use tokio::process::{Child, Command};

/// Waits until the pipe is closed, then kills the process group `$1`.
const SCRIPT: &str = r#"read -r _; kill -KILL "-$1""#;

/// A running watchdog of a process group. Dropping it does not kill the group: the watchdog is killed before the pipe is closed.
#[derive(Debug)]
pub struct ParentWatchdog {
    _process: Child,
    _pipe: PipeWriter,
}

impl ParentWatchdog {
    /// Starts a watchdog for the group of `leader`. If it cannot start, the group runs without it.
    pub fn start(leader: Option<u32>) -> Option<ParentWatchdog> {
        ParentWatchdog::spawn(leader?).ok()
    }

    fn spawn(leader: u32) -> io::Result<ParentWatchdog> {
        let (death, life) = io::pipe()?;
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "osier-watchdog", &leader.to_string()]).env_clear();
        command.stdin(death).stdout(Stdio::null()).stderr(Stdio::null());
        // In its own group it does not receive Ctrl+C from the terminal.
        let waiting = command.process_group(0).kill_on_drop(true).spawn()?;
        Ok(ParentWatchdog { _process: waiting, _pipe: life })
    }
}
