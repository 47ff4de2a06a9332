//! Runs one command line in a session of its own: no terminal to ask questions on, nothing to read, and nothing left of it
//! when it is stopped. A child that stays in the background keeps running and is waited for by nobody.

mod group;
mod heir;
mod output;
mod plain;

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
use crate::sandbox::Wrapped;
use group::Group;
use heir::Heir;
use output::Output;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Exited(i32),
    Killed { signal: i32 },
    TimedOut,
    Cancelled,
}

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) end: End,
    /// What a terminal would show, the last part of it if there was too much.
    pub(crate) text: String,
    pub(crate) truncated: bool,
    pub(crate) total_lines: usize,
    pub(crate) total_bytes: u64,
    /// Where all of the output is.
    pub(crate) full_output: Option<PathBuf>,
    /// Why there is no full output although the text was cut.
    pub(crate) not_kept: Option<String>,
    pub(crate) took: Duration,
    /// The group of the processes that were left running in the background.
    pub(crate) background: Option<u32>,
}

/// How long to wait for output that comes after the command's end, such as that of a process substitution.
const STRAGGLERS: Duration = Duration::from_millis(100);
const LAST_WAIT: Duration = Duration::from_secs(2);
const CHUNK: usize = 64 * 1024;

/// Runs `command` until it ends, its time is over, or it is cancelled. Dropping the future kills it.
pub(crate) async fn run(command: &str, time: Duration, ctx: &ToolContext) -> io::Result<Ran> {
    let begun = Instant::now();
    let (pipe, mut child) = spawn(command, ctx)?;
    let (group, heir) = (Group::led_by(child.id()), Heir::of(child.id()));
    let mut flow = Flow { pipe, output: Output::new(ctx), buffer: vec![0; CHUNK], open: true };
    let end = tokio::select! {
        biased;
        () = ctx.cancel.cancelled() => End::Cancelled,
        () = tokio::time::sleep(time) => End::TimedOut,
        status = flow.until_exit(&mut *child) => ended(status?),
    };
    if matches!(end, End::Cancelled | End::TimedOut) {
        group.stop(ctx.limits.grace).await;
        // A process that hangs in the kernel must not hang the conversation.
        let _ = tokio::time::timeout(LAST_WAIT, child.wait()).await;
    }
    let took = begun.elapsed();
    let _ = tokio::time::timeout(STRAGGLERS, flow.until_closed()).await;
    flow.take_what_is_there();
    drop(heir);
    let background = group.release();
    Ok(flow.finish(end, took, background))
}

fn ended(status: ExitStatus) -> End {
    match status.code() {
        Some(code) => End::Exited(code),
        None => End::Killed { signal: status.signal().unwrap_or_default() },
    }
}

fn spawn(command: &str, ctx: &ToolContext) -> io::Result<(Receiver, Box<dyn ChildWrapper>)> {
    let shells = match &ctx.env.shell {
        Some(shell) => vec![shell.as_os_str()],
        None => vec![OsStr::new("bash"), OsStr::new("sh")],
    };
    if let Some(sandbox) = &ctx.sandbox {
        return spawn_in(sandbox.wrap(&shells, command)?, ctx);
    }
    let mut last = io::ErrorKind::NotFound.into();
    for shell in shells {
        let arguments = vec!["-c".into(), command.into()];
        match spawn_in(Wrapped { program: shell.to_owned(), arguments, variables: Vec::new() }, ctx) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => last = error,
            other => return other,
        }
    }
    Err(last)
}

fn spawn_in(run: Wrapped, ctx: &ToolContext) -> io::Result<(Receiver, Box<dyn ChildWrapper>)> {
    // One pipe for both, so that errors stand where they happened.
    let (reader, writer) = io::pipe()?;
    let errors = writer.try_clone()?;
    let vars = ctx.env.vars.iter().chain(&run.variables).map(|(name, value)| (name, value));
    let mut wrapped = CommandWrap::with_new(&run.program, |shell| {
        shell.args(&run.arguments).current_dir(&ctx.cwd).env_clear().envs(vars);
        shell.stdin(Stdio::null()).stdout(writer).stderr(errors);
    });
    let child = wrapped.wrap(ProcessSession).spawn()?;
    // Waiting for the shell alone: the wrapper's own wait may wait for background children as well.
    Ok((Receiver::from_owned_fd(OwnedFd::from(reader))?, child.into_inner()))
}

/// The output on its way from the pipe to where it is kept.
#[derive(Debug)]
struct Flow {
    pipe: Receiver,
    output: Output,
    buffer: Vec<u8>,
    open: bool,
}

impl Flow {
    async fn until_exit(&mut self, child: &mut dyn ChildWrapper) -> io::Result<ExitStatus> {
        let exit = child.wait();
        tokio::pin!(exit);
        loop {
            tokio::select! {
                status = &mut exit => return status,
                () = self.some(), if self.open => {}
            }
        }
    }

    async fn until_closed(&mut self) {
        while self.open {
            self.some().await;
        }
    }

    async fn some(&mut self) {
        match self.pipe.read(&mut self.buffer).await {
            Ok(0) | Err(_) => self.open = false,
            Ok(got) => self.output.push(&self.buffer[..got]),
        }
    }

    /// At most what a pipe holds: somebody in the background may write faster than this reads.
    fn take_what_is_there(&mut self) {
        for _ in 0..16 {
            match self.pipe.try_read(&mut self.buffer) {
                Ok(0) => return self.open = false,
                Ok(got) => self.output.push(&self.buffer[..got]),
                Err(_) => return,
            }
        }
    }

    fn finish(self, end: End, took: Duration, background: Option<u32>) -> Ran {
        let Flow { pipe, mut output, buffer, open } = self;
        if open {
            output.keep_all();
        }
        let (ran, rest) = output.finish(end, took, background);
        if open {
            tokio::spawn(rest.collect(pipe, buffer));
        }
        ran
    }
}
