//! Restricts the current process and then executes the shell. If a step fails, nothing runs.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use super::denial::START_ERROR_PREFIX;
use super::policy::{MountMethod, SandboxPolicy};
use super::{file_access, mounts, syscalls};

/// The hidden subcommand of this program. Its arguments are a policy, a command line, and shells.
pub const COMMAND: &str = "run-confined";

/// The exit code of shells for a command that cannot be executed.
const EXIT_CANNOT_EXECUTE: u8 = 126;

/// Restricts this process and executes the shell. Returns only on failure. Call it before any thread starts.
pub fn enter(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let error = restrict_and_exec(&arguments.collect::<Vec<_>>());
    eprintln!("{START_ERROR_PREFIX}{error}");
    ExitCode::from(EXIT_CANNOT_EXECUTE)
}

fn restrict_and_exec(arguments: &[OsString]) -> io::Error {
    let [policy, command, shells @ ..] = arguments else { return io::Error::other("no command") };
    let policy: SandboxPolicy = match serde_json::from_slice(policy.as_encoded_bytes()) {
        Ok(policy) => policy,
        Err(error) => return io::Error::other(error),
    };
    match restrict(&policy) {
        Ok(()) => exec_shell(command, shells),
        Err(error) => error,
    }
}

fn restrict(policy: &SandboxPolicy) -> io::Result<()> {
    if policy.mounts == MountMethod::Namespace {
        mounts::enter(policy)?;
    }
    mounts::drop_capabilities();
    file_access::restrict(policy)?;
    syscalls::restrict(policy)
}

fn exec_shell(command: &OsStr, shells: &[OsString]) -> io::Error {
    let mut last = io::ErrorKind::NotFound.into();
    for shell in shells {
        last = Command::new(shell).arg("-c").arg(command).exec();
        if last.kind() != io::ErrorKind::NotFound {
            break;
        }
    }
    last
}
