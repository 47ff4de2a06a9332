//! The `osier` binary as users run it: every invocation that the tasks need. xtask links none of its crates.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

use crate::{json, workspace};

pub(crate) struct Osier {
    bin: PathBuf,
    home: PathBuf,
}

/// Whether a command succeeded or was refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CommandOutcome {
    Succeeded,
    Refused,
}

/// The parent of an appended entry.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AppendParent<'a> {
    Leaf,
    Root,
    Entry(&'a str),
}

impl Osier {
    /// Builds the release binary unless one is given. Sessions and caches go to `home`.
    pub(crate) fn new(given: Option<&str>, home: PathBuf) -> Result<Self> {
        let bin = match given {
            Some(path) => {
                std::fs::canonicalize(path).with_context(|| format!("cannot find the binary {path}"))?
            }
            None => build()?,
        };
        Ok(Self { bin, home })
    }

    /// The same binary with another home.
    pub(crate) fn with_home(&self, home: &Path) -> Osier {
        Osier { bin: self.bin.clone(), home: home.to_owned() }
    }

    pub(crate) fn binary(&self) -> &Path {
        &self.bin
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.bin);
        command.env("OSIER_HOME", &self.home).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    fn sessions(&self, verb: &str, file: &Path, rest: &[&str]) -> Command {
        let mut command = self.command();
        command.args(["sessions", verb]).arg(file).args(rest);
        command
    }

    // Reading, for conformance.

    /// `{leafId, messages, thinkingLevel, model}`
    pub(crate) fn context(&self, file: &Path, at: Option<&str>) -> Result<Value> {
        run_json(self.sessions("context", file, &["--json"]).args(at_option(at)))
    }

    /// The entries, oldest first.
    pub(crate) fn path(&self, file: &Path, at: Option<&str>) -> Result<Value> {
        run_json(self.sessions("path", file, &["--json"]).args(at_option(at)))
    }

    /// `[{entry, children, label?, labelTimestamp?}]`
    pub(crate) fn tree(&self, file: &Path) -> Result<Value> {
        run_json(&mut self.sessions("tree", file, &["--json", "--filter", "all"]))
    }

    pub(crate) fn card(&self, file: &Path) -> Result<Value> {
        run_json(&mut self.sessions("show", file, &["--json"]))
    }

    pub(crate) fn verify(&self, file: &Path) -> Result<()> {
        run_checked(&mut self.sessions("verify", file, &[])).map(drop)
    }

    // Writing, for conformance.

    /// Appends a message and returns the entry's id. Creates the file if it does not exist.
    pub(crate) fn append_message(
        &self,
        file: &Path,
        role: &str,
        text: &str,
        below: AppendParent<'_>,
    ) -> Result<String> {
        let mut command = self.sessions("append", file, &["--role", role]);
        match below {
            AppendParent::Leaf => {}
            AppendParent::Root => drop(command.args(["--parent", "root"])),
            AppendParent::Entry(id) => drop(command.args(["--parent", id])),
        }
        entry_id(command.arg("--").arg(text))
    }

    pub(crate) fn append_entry(&self, file: &Path, entry: &Value) -> Result<String> {
        entry_id(self.sessions("append", file, &["--entry"]).arg(entry.to_string()))
    }

    /// An empty text clears the label.
    pub(crate) fn label(&self, file: &Path, entry: &str, text: &str) -> Result<()> {
        run_checked(&mut self.sessions("label", file, &[entry, text])).map(drop)
    }

    pub(crate) fn rename(&self, file: &Path, name: &str) -> Result<()> {
        run_checked(&mut self.sessions("rename", file, &[name])).map(drop)
    }

    /// Moves to an entry or to `root`, as a user would. Some entries are refused.
    pub(crate) fn move_to(&self, file: &Path, entry: &str) -> Result<CommandOutcome> {
        run_or_refused(&mut self.sessions("move", file, &[entry]))
    }

    /// Moves to exactly this entry.
    pub(crate) fn move_exactly(&self, file: &Path, entry: &str) -> Result<()> {
        run_checked(&mut self.sessions("move", file, &[entry, "--exact"])).map(drop)
    }

    pub(crate) fn undo(&self, file: &Path) -> Result<CommandOutcome> {
        run_or_refused(&mut self.sessions("undo", file, &[]))
    }

    pub(crate) fn redo(&self, file: &Path) -> Result<CommandOutcome> {
        run_or_refused(&mut self.sessions("redo", file, &[]))
    }

    pub(crate) fn delete_branch(&self, file: &Path, entry: &str) -> Result<CommandOutcome> {
        run_or_refused(&mut self.sessions("delete-branch", file, &[entry]))
    }

    /// Forks the path to `entry`, and returns the file of the new session.
    pub(crate) fn fork(&self, file: &Path, entry: &str) -> Result<PathBuf> {
        let made = run_json(&mut self.sessions("fork", file, &[entry, "--exact", "--json"]))?;
        made["file"].as_str().map(PathBuf::from).with_context(|| format!("fork printed no file name: {made}"))
    }

    // For the benchmark.

    pub(crate) fn bench_open(&self, file: &Path, what: &str) -> Command {
        let mut command = self.command();
        command.arg("bench-open").arg(file).args(["--what", what]);
        command
    }

    pub(crate) fn bench_append(&self, file: &Path, count: usize, durability: &str) -> Command {
        let mut command = self.command();
        command.arg("bench-append").arg(file).args([
            "--count",
            &count.to_string(),
            "--durability",
            durability,
        ]);
        command
    }

    pub(crate) fn list(&self, cwd: &Path) -> Command {
        let mut command = self.command();
        command.current_dir(cwd).args(["sessions", "list", "--json"]);
        command
    }

    pub(crate) fn bench_continue(&self, cwd: &Path) -> Command {
        let mut command = self.command();
        command.current_dir(cwd).arg("bench-continue");
        command
    }

    /// The folder with the sessions of a working directory.
    pub(crate) fn sessions_folder(&self, cwd: &Path) -> Result<PathBuf> {
        let output = run_checked(self.command().arg("bench-dir").arg(cwd))?;
        Ok(self.home.join("sessions").join(String::from_utf8(output)?.trim()))
    }

    /// Deletes all caches, so that the next run is cold.
    pub(crate) fn clear_caches(&self) -> Result<()> {
        match std::fs::remove_dir_all(self.home.join("cache")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}

fn at_option(at: Option<&str>) -> Vec<&str> {
    at.map_or_else(Vec::new, |id| vec!["--at", id])
}

fn build() -> Result<PathBuf> {
    println!("== cargo build --release -p osier");
    build_with(&["--release"])
}

/// The binary that the tests of the workspace have built beside this one. Another build could need other features, and so
/// compile everything again.
#[cfg(test)]
pub(crate) fn built_for_tests() -> Result<PathBuf> {
    let this = std::env::current_exe()?;
    let binary = this.ancestors().nth(2).context("a test is in target/debug/deps")?.join("osier");
    if binary.exists() { Ok(binary) } else { build_with(&[]) }
}

fn build_with(options: &[&str]) -> Result<PathBuf> {
    let mut cargo = workspace::cargo()?;
    cargo.args(["build", "-p", "osier", "--message-format=json-render-diagnostics"]).args(options);
    let output = cargo.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "cannot build osier");
    let messages = String::from_utf8(output.stdout)?;
    let executable = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().filter(|_| message["target"]["name"] == "osier").map(PathBuf::from)
    };
    messages.lines().find_map(executable).context("cargo built no binary named osier")
}

fn run_json(command: &mut Command) -> Result<Value> {
    let stdout = run_checked(command)?;
    json::parse(&stdout).with_context(|| format!("{} printed no JSON", command_line(command)))
}

fn entry_id(command: &mut Command) -> Result<String> {
    let id = String::from_utf8(run_checked(command)?)?.trim().to_owned();
    ensure!(
        !id.is_empty() && !id.contains(char::is_whitespace),
        "{} printed {id:?} instead of an id",
        command_line(command)
    );
    Ok(id)
}

fn run_checked(command: &mut Command) -> Result<Vec<u8>> {
    let output = start(command)?;
    if output.status.success() { Ok(output.stdout) } else { Err(command_error(command, &output)) }
}

/// Exit code 1 means refused; any other nonzero code is a failure.
fn run_or_refused(command: &mut Command) -> Result<CommandOutcome> {
    let output = start(command)?;
    match output.status.code() {
        Some(0) => Ok(CommandOutcome::Succeeded),
        Some(1) => Ok(CommandOutcome::Refused),
        _ => Err(command_error(command, &output)),
    }
}

fn start(command: &mut Command) -> Result<Output> {
    command.output().with_context(|| format!("cannot start {}", command_line(command)))
}

fn command_error(command: &Command, output: &Output) -> anyhow::Error {
    let stderr = String::from_utf8_lossy(&output.stderr);
    anyhow!("{} failed ({}): {}", command_line(command), output.status, stderr.trim())
}

fn command_line(command: &Command) -> String {
    let args = command.get_args().map(OsStr::to_string_lossy).collect::<Vec<_>>();
    format!("osier {}", args.join(" "))
}
