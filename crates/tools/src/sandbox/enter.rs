//! The process that restricts itself and becomes the shell. It either does all of it, or fails without running anything.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use super::evidence::REFUSED;
use super::policy::{Mounts, Policy};
use super::{files, mounts, syscalls};

/// The hidden command of this program: a policy, a command line, and shells follow.
pub const COMMAND: &str = "run-confined";

/// As shells exit when a command cannot be run.
const CANNOT: u8 = 126;

/// Restricts this process and becomes the shell. Returns only if that failed. Must be called before any thread starts.
pub fn enter(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let error = restricted(&arguments.collect::<Vec<_>>());
    eprintln!("{REFUSED}{error}");
    ExitCode::from(CANNOT)
}

fn restricted(arguments: &[OsString]) -> io::Error {
    let [policy, command, shells @ ..] = arguments else { return io::Error::other("no command") };
    let policy: Policy = match serde_json::from_slice(policy.as_encoded_bytes()) {
        Ok(policy) => policy,
        Err(error) => return io::Error::other(error),
    };
    match restrict(&policy) {
        Ok(()) => become_shell(command, shells),
        Err(error) => error,
    }
}

fn restrict(policy: &Policy) -> io::Result<()> {
    if policy.mounts == Mounts::Namespace {
        mounts::enter(policy)?;
    }
    mounts::drop_capabilities();
    files::restrict(policy)?;
    syscalls::restrict(policy)
}

fn become_shell(command: &OsStr, shells: &[OsString]) -> io::Error {
    let mut last = io::ErrorKind::NotFound.into();
    for shell in shells {
        last = Command::new(shell).arg("-c").arg(command).exec();
        if last.kind() != io::ErrorKind::NotFound {
            break;
        }
    }
    last
}
