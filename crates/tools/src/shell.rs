//! Runs a command line in its own process session, without a terminal and without input. Stopping it stops all its processes.
//! A process that the command leaves in the background keeps running, and the call does not wait for it.

mod group;
mod output;
pub(crate) mod parent_watchdog;
mod terminal_text;

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use crate::context::ToolContext;
use crate::sandbox::LaunchSpec;
use group::ProcessGroup;
use output::CommandOutput;
use parent_watchdog::ParentWatchdog;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandEnd {
    Exited(i32),
    Killed { signal: i32 },
    TimedOut,
    Cancelled,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct CommandResult {
    pub(crate) end: CommandEnd,
    /// The output as a terminal would show it; only the last part if there was too much.
    pub(crate) text: String,
    pub(crate) truncated: bool,
    pub(crate) total_lines: usize,
    pub(crate) total_bytes: u64,
    /// The file with the full output.
    pub(crate) full_output: Option<PathBuf>,
    /// Why the full output was not saved completely.
    pub(crate) save_error: Option<String>,
    pub(crate) duration: Duration,
    /// The process group that still runs in the background.
    pub(crate) background: Option<u32>,
}

/// How long to wait for output after the command ends, such as output of a process substitution.
const LATE_OUTPUT_WAIT: Duration = Duration::from_millis(100);
const EXIT_WAIT: Duration = Duration::from_secs(2);
const CHUNK: usize = 64 * 1024;

/// Runs `command` until it exits, times out or is canceled. Dropping the future kills it.
pub(crate) async fn run(command: &str, time: Duration, ctx: &ToolContext) -> io::Result<CommandResult> {
    let started = Instant::now();
    let (pipe, mut child) = spawn(command, ctx)?;
    tracing::debug!(process = child.id(), sandboxed = ctx.sandbox.is_some(), "started a command");
    let (group, watchdog) = (ProcessGroup::from_leader(child.id()), ParentWatchdog::start(child.id()));
    let mut reader =
        OutputReader { pipe, output: CommandOutput::new(ctx), buffer: vec![0; CHUNK], open: true };
    let end = tokio::select! {
        biased;
        () = ctx.cancel.cancelled() => CommandEnd::Cancelled,
        () = tokio::time::sleep(time) => CommandEnd::TimedOut,
        status = reader.read_until_exit(&mut *child) => command_end(status?),
    };
    if matches!(end, CommandEnd::Cancelled | CommandEnd::TimedOut) {
        group.stop(ctx.limits.kill_grace).await;
        // A process that hangs in the kernel must not block the conversation.
        let _ = tokio::time::timeout(EXIT_WAIT, child.wait()).await;
    }
    let took = started.elapsed();
    tracing::debug!(process = child.id(), ?end, ?took, "a command ended");
    let _ = tokio::time::timeout(LATE_OUTPUT_WAIT, reader.read_until_closed()).await;
    reader.drain_pipe();
    drop(watchdog);
    let background = group.release();
    Ok(reader.finish(end, took, background))
}

fn command_end(status: ExitStatus) -> CommandEnd {
    match status.code() {
        Some(code) => CommandEnd::Exited(code),
        None => CommandEnd::Killed { signal: status.signal().unwrap_or_default() },
    }
}

fn spawn(command: &str, ctx: &ToolContext) -> io::Result<(Receiver, Box<dyn ChildWrapper>)> {
    let shells = match &ctx.env.shell {
        Some(shell) => vec![shell.as_os_str()],
        None => vec![OsStr::new("bash"), OsStr::new("sh")],
    };
    if let Some(sandbox) = &ctx.sandbox {
        return spawn_launch(sandbox.launch_spec(&shells, command)?, ctx);
    }
    let mut last = io::ErrorKind::NotFound.into();
    for shell in shells {
        let arguments = vec!["-c".into(), command.into()];
        match spawn_launch(LaunchSpec { program: shell.to_owned(), arguments, variables: Vec::new() }, ctx) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => last = error,
            other => return other,
        }
    }
    Err(last)
}

fn spawn_launch(run: LaunchSpec, ctx: &ToolContext) -> io::Result<(Receiver, Box<dyn ChildWrapper>)> {
    // One pipe for both streams keeps their order.
    let (reader, writer) = io::pipe()?;
    let errors = writer.try_clone()?;
    let vars = ctx.env.vars.iter().chain(&run.variables).map(|(name, value)| (name, value));
    let mut wrapped = CommandWrap::with_new(&run.program, |shell| {
        shell.args(&run.arguments).current_dir(&ctx.cwd).env_clear().envs(vars);
        shell.stdin(Stdio::null()).stdout(writer).stderr(errors);
    });
    let child = wrapped.wrap(ProcessSession).spawn()?;
    // Wait only for the shell; the wrapper would also wait for background children.
    Ok((Receiver::from_owned_fd(OwnedFd::from(reader))?, child.into_inner()))
}

/// Reads output from the pipe.
#[derive(Debug)]
struct OutputReader {
    pipe: Receiver,
    output: CommandOutput,
    buffer: Vec<u8>,
    open: bool,
}

impl OutputReader {
    async fn read_until_exit(&mut self, child: &mut dyn ChildWrapper) -> io::Result<ExitStatus> {
        let exit = child.wait();
        tokio::pin!(exit);
        loop {
            tokio::select! {
                status = &mut exit => return status,
                () = self.read_some(), if self.open => {}
            }
        }
    }

    async fn read_until_closed(&mut self) {
        while self.open {
            self.read_some().await;
        }
    }

    async fn read_some(&mut self) {
        match self.pipe.read(&mut self.buffer).await {
            Ok(0) | Err(_) => self.open = false,
            Ok(count) => self.output.push(&self.buffer[..count]),
        }
    }

    /// Reads at most the capacity of a pipe, because a background process may write faster than this reads.
    fn drain_pipe(&mut self) {
        for _ in 0..16 {
            match self.pipe.try_read(&mut self.buffer) {
                Ok(0) => return self.open = false,
                Ok(count) => self.output.push(&self.buffer[..count]),
                Err(_) => return,
            }
        }
    }

    fn finish(self, end: CommandEnd, took: Duration, background: Option<u32>) -> CommandResult {
        let OutputReader { pipe, mut output, buffer, open } = self;
        if open {
            output.save_all();
        }
        let (result, rest) = output.finish(end, took, background);
        if open {
            tokio::spawn(rest.collect(pipe, buffer));
        }
        result
    }
}
