//! Runs git with settings under which it runs no other program, stores bytes as they are, and takes no lock in the user's
//! repository.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use osier_tools::CommandEnv;

/// Hooks, monitors and signatures would run other programs.
const SETTINGS: [&str; 8] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=false",
    "core.looseCompression=1",
    "core.quotePath=false",
    "gc.auto=0",
    "commit.gpgSign=false",
    "merge.directoryRenames=false",
];

/// Where git works.
#[derive(Debug, Clone)]
pub(super) struct Git {
    env: Arc<CommandEnv>,
    directory: PathBuf,
    variables: Vec<(&'static str, OsString)>,
}

impl Git {
    pub(super) fn new(env: Arc<CommandEnv>, directory: &Path) -> Git {
        Git { env, directory: directory.to_owned(), variables: Vec::new() }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Git {
        self.variables.push((name, value.into()));
        self
    }

    fn command(&self, arguments: &[&OsStr]) -> Command {
        let mut command = Command::new("git");
        let is_kept = |name: &OsString| !name.as_bytes().starts_with(b"GIT_");
        command
            .env_clear()
            .envs(self.env.vars.iter().filter(|(name, _)| is_kept(name)).cloned())
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .envs(self.variables.iter().cloned())
            .current_dir(&self.directory);
        for setting in SETTINGS {
            command.arg("-c").arg(setting);
        }
        command.args(["-c", "user.name=osier", "-c", "user.email=osier@localhost"]).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs git with this input. The exit code may be anything.
    pub(super) fn output(&self, arguments: &[&str], input: &[u8]) -> io::Result<Output> {
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        let mut child = self.command(&arguments).stdin(Stdio::piped()).spawn()?;
        let mut stdin = child.stdin.take();
        std::thread::scope(|scope| {
            // Git may write before it has read everything.
            let writer = scope.spawn(move || stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input)));
            let output = child.wait_with_output();
            let written = writer.join().unwrap_or(Ok(()));
            match output {
                Ok(output) if output.status.success() => written.map(|()| output),
                output => output,
            }
        })
    }

    /// Runs git and returns what it prints.
    pub(super) fn run_with(&self, arguments: &[&str], input: &[u8]) -> io::Result<Vec<u8>> {
        let output = self.output(arguments, input)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let line = errors.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed").trim();
        let command = arguments.first().copied().unwrap_or_default();
        Err(io::Error::other(format!("git {command}: {}", line.trim_start_matches("fatal: "))))
    }

    pub(super) fn run(&self, arguments: &[&str]) -> io::Result<Vec<u8>> {
        self.run_with(arguments, b"")
    }

    /// One line of output.
    pub(super) fn line(&self, arguments: &[&str]) -> io::Result<String> {
        let output = self.run(arguments)?;
        Ok(String::from_utf8_lossy(&output).trim_end_matches('\n').to_owned())
    }

    /// One line of output that is a path.
    pub(super) fn path(&self, arguments: &[&str]) -> io::Result<PathBuf> {
        let mut output = self.run(arguments)?;
        if output.last() == Some(&b'\n') {
            output.pop();
        }
        Ok(self.directory.join(OsString::from_vec(output)))
    }
}

/// The parts of an output that end with a zero byte.
pub(super) fn zero_separated(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

/// A path that git printed.
pub(super) fn git_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
