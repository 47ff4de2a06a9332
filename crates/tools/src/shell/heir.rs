//! Ends a command if Osier is killed while it runs: whoever comes back finds its call interrupted, and must not find it still
//! at work. A process of its own waits for the end of a pipe that only Osier holds.

use std::io::{self, PipeWriter};
use std::process::Stdio;

use tokio::process::{Child, Command};

/// Waits until nobody can write any more, then ends the group it is told.
const SCRIPT: &str = r#"read -r _; kill -KILL "-$1""#;

/// See the module. Dropped, it ends nothing: the process is killed before the pipe is closed.
#[derive(Debug)]
pub(super) struct Heir {
    _waiting: Child,
    _life: PipeWriter,
}

impl Heir {
    /// For the group that a process leads. Without one the command runs all the same.
    pub(super) fn of(leader: Option<u32>) -> Option<Heir> {
        Heir::waiting(leader?).ok()
    }

    fn waiting(leader: u32) -> io::Result<Heir> {
        let (death, life) = io::pipe()?;
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "osier-heir", &leader.to_string()]).env_clear();
        command.stdin(death).stdout(Stdio::null()).stderr(Stdio::null());
        // In a group of its own, no key of the terminal reaches it.
        let waiting = command.process_group(0).kill_on_drop(true).spawn()?;
        Ok(Heir { _waiting: waiting, _life: life })
    }
}
