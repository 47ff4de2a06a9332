//! Starting a process that runs extensions.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::{Child, Command};

use crate::child;

/// How the process of extensions is started.
#[derive(Debug, Clone)]
pub enum ExtensionLauncher {
    /// This program, with [`child::COMMAND`] as its first argument.
    Program(PathBuf),
    /// A thread of this process. It cannot be killed.
    #[cfg(test)]
    Thread,
}

/// The pipes of a process that runs extensions, and the process.
pub(super) struct LaunchedProcess {
    pub(super) input: Box<dyn AsyncWrite + Send + Unpin>,
    pub(super) output: Box<dyn AsyncRead + Send + Unpin>,
    /// Killed when it is dropped.
    pub(super) child: Option<Child>,
}

impl ExtensionLauncher {
    pub(super) fn start(&self) -> io::Result<LaunchedProcess> {
        match self {
            ExtensionLauncher::Program(program) => start_program(program),
            #[cfg(test)]
            ExtensionLauncher::Thread => start_thread(),
        }
    }
}

/// The process gets no environment variables: they may contain keys.
fn start_program(program: &PathBuf) -> io::Result<LaunchedProcess> {
    let mut command = Command::new(program);
    command.arg(child::COMMAND).env_clear().current_dir("/").kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let no_pipe = || io::Error::other("the process has no pipes");
    let (input, output) = (child.stdin.take().ok_or_else(no_pipe)?, child.stdout.take().ok_or_else(no_pipe)?);
    Ok(LaunchedProcess { input: Box::new(input), output: Box::new(output), child: Some(child) })
}

#[cfg(test)]
fn start_thread() -> io::Result<LaunchedProcess> {
    use std::os::unix::net::UnixStream;
    let (own, others) = UnixStream::pair()?;
    let reader = others.try_clone()?;
    std::thread::spawn(move || child::serve(reader, others));
    own.set_nonblocking(true)?;
    let (output, input) = tokio::io::split(tokio::net::UnixStream::from_std(own)?);
    Ok(LaunchedProcess { input: Box::new(input), output: Box::new(output), child: None })
}
