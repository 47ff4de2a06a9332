//! The real pi, installed by `peer/install.sh` and called through the scripts next to it. Never linked, never
//! copied.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{json, workspace};

pub(crate) struct Peer {
    node: PathBuf,
    module: PathBuf,
    scripts: PathBuf,
}

impl Peer {
    /// Installs pi. Downloads it only once.
    pub(crate) fn install() -> Result<Self> {
        let scripts = workspace::root()?.join("xtask/peer");
        let dir = match env::var_os("OSIER_PEER_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => workspace::target()?.join("peer"),
        };
        let output = Command::new("bash")
            .arg(scripts.join("install.sh"))
            .arg(&dir)
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start bash")?;
        ensure!(output.status.success(), "cannot install pi into {}", dir.display());
        let stdout = String::from_utf8(output.stdout)?;
        let value = |key: &str| stdout.lines().find_map(|line| line.strip_prefix(key)).map(PathBuf::from);
        Ok(Self {
            node: value("NODE=").context("install.sh printed no NODE")?,
            module: value("MODULE=").context("install.sh printed no MODULE")?,
            scripts,
        })
    }

    /// The pi command-line program.
    pub(crate) fn pi_command(&self) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(self.cli());
        command
    }

    /// The file of the pi command-line program.
    pub(crate) fn cli(&self) -> PathBuf {
        self.module.with_file_name("cli.js")
    }

    pub(crate) fn node(&self) -> &Path {
        &self.node
    }

    /// The folder of pi's example extensions.
    pub(crate) fn examples(&self) -> PathBuf {
        self.module.with_file_name("../../examples/extensions")
    }

    /// One of the scripts.
    pub(crate) fn script_path(&self, name: &str) -> PathBuf {
        self.scripts.join(name)
    }

    /// The search path of this process, with the installed Node first.
    pub(crate) fn search_path(&self) -> Result<OsString> {
        let own = self.node.parent().map(Path::to_owned);
        let path = env::var_os("PATH").unwrap_or_default();
        Ok(env::join_paths(own.into_iter().chain(env::split_paths(&path)))?)
    }

    /// A call of one of the scripts, with pi's module already set.
    pub(crate) fn script(&self, name: &str) -> Command {
        let mut command = Command::new(&self.node);
        command
            .arg("--max-old-space-size=8192")
            .arg(self.script_path(name))
            .arg("--module")
            .arg(&self.module);
        command
    }

    /// Lets pi write random sessions into `out`, each with a `.pi.json` file next to it.
    pub(crate) fn write_sessions(&self, out: &Path, sessions: u64, seed: u64) -> Result<()> {
        let mut command = self.script("write.mjs");
        command.arg("--out").arg(out).args([
            "--sessions",
            &sessions.to_string(),
            "--seed",
            &seed.to_string(),
        ]);
        workspace::run(&mut command).context("pi failed to write random sessions")
    }

    /// Sends `jobs` to a `read.mjs` verb, and returns the answers in the same order.
    pub(crate) fn run_jobs(&self, verb: &str, jobs: &Value) -> Result<Vec<Value>> {
        let stdout = self.pipe(verb, jobs)?;
        match json::parse(&stdout)? {
            Value::Array(answers) => Ok(answers),
            other => anyhow::bail!("unexpected answer from read.mjs {verb}: {other}"),
        }
    }

    /// Lets pi append `count` messages without a lock, and returns the ids it reported.
    pub(crate) fn append_without_lock(&self, file: &Path, count: usize) -> Result<Vec<String>> {
        let stdout = self.pipe("hammer", &serde_json::json!([{ "file": file, "count": count }]))?;
        Ok(String::from_utf8(stdout)?.lines().map(str::to_owned).collect())
    }

    /// Sends one job to a `read.mjs` verb.
    pub(crate) fn run_job(&self, verb: &str, job: &Value) -> Result<Value> {
        json::parse(&self.pipe(verb, job)?)
    }

    fn pipe(&self, verb: &str, jobs: &Value) -> Result<Vec<u8>> {
        let mut command = self.script("read.mjs");
        run_with_stdin(command.arg(verb), jobs).with_context(|| format!("pi failed to `{verb}` (read.mjs)"))
    }
}

/// Runs a command with a value on stdin, and returns its stdout.
pub(crate) fn run_with_stdin(command: &mut Command, given: &Value) -> Result<Vec<u8>> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(given.to_string().as_bytes())?;
    }
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the process failed ({})", output.status);
    Ok(output.stdout)
}
