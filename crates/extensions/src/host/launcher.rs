//! Starting a process that runs extensions.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;

use osier_tools::ParentWatchdog;
use tokio::io::AsyncRead;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use super::frame_queue::FrameOutput;
use super::node::NodeCommand;
use crate::child;

/// What runs the code of a process.
#[derive(Debug, Clone)]
pub(crate) enum ExtensionEngine {
    /// QuickJS in a confined process of this program.
    Sandbox,
    /// Node, with the rights of the user.
    Node(NodeCommand),
}

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
    pub(super) input: FrameOutput,
    /// For the responses to synchronous calls, if they do not go to `input`.
    pub(super) call_input: Option<FrameOutput>,
    pub(super) output: Box<dyn AsyncRead + Send + Unpin>,
    /// Killed when it is dropped.
    pub(super) child: Option<Child>,
    pub(super) helpers: Option<NodeHelpers>,
}

/// The processes beside Node. They end when this is dropped.
pub(super) struct NodeHelpers {
    /// Removes types and measures text.
    pub(super) _sandbox: Option<Child>,
    /// Ends Node if Osier is killed: an endless loop in Node does not notice it.
    pub(super) _watchdog: Option<ParentWatchdog>,
}

impl ExtensionLauncher {
    pub(super) fn start(&self, engine: &ExtensionEngine) -> io::Result<LaunchedProcess> {
        if let ExtensionEngine::Node(command) = engine {
            return command.start(self);
        }
        match self {
            ExtensionLauncher::Program(program) => start_program(program),
            #[cfg(test)]
            ExtensionLauncher::Thread => start_thread(),
        }
    }

    /// Starts a process that answers requests of another process on a socket.
    pub(super) fn start_helper(&self, socket: UnixStream) -> io::Result<Option<Child>> {
        let others = socket.try_clone()?;
        match self {
            ExtensionLauncher::Program(program) => {
                let mut command = Command::new(program);
                command.arg(child::COMMAND).env_clear().current_dir("/").kill_on_drop(true);
                let (input, output) = (OwnedFd::from(socket), OwnedFd::from(others));
                command.stdin(input).stdout(output).stderr(Stdio::null()).spawn().map(Some)
            }
            #[cfg(test)]
            ExtensionLauncher::Thread => {
                std::thread::spawn(move || child::serve(socket, others));
                Ok(None)
            }
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
    let input = FrameOutput::Pipe(pipe::Sender::from_owned_fd(input.into_owned_fd()?)?);
    Ok(LaunchedProcess {
        input,
        call_input: None,
        output: Box::new(output),
        child: Some(child),
        helpers: None,
    })
}

#[cfg(test)]
fn start_thread() -> io::Result<LaunchedProcess> {
    let (own, others) = UnixStream::pair()?;
    let reader = others.try_clone()?;
    std::thread::spawn(move || child::serve(reader, others));
    own.set_nonblocking(true)?;
    let (output, input) = tokio::net::UnixStream::from_std(own)?.into_split();
    let input = FrameOutput::HalfSocket(input);
    Ok(LaunchedProcess { input, call_input: None, output: Box::new(output), child: None, helpers: None })
}
