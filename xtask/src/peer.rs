//! The real pi: installed by `peer/install.sh`, asked through the scripts beside it. Never linked, never copied.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{json, place};

pub(crate) struct Peer {
    node: PathBuf,
    module: PathBuf,
    scripts: PathBuf,
}

impl Peer {
    /// Downloads pi on the first call only.
    pub(crate) fn install() -> Result<Self> {
        let scripts = place::root()?.join("xtask/peer");
        let dir = match env::var_os("OSIER_PEER_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => place::target()?.join("peer"),
        };
        let output = Command::new("bash")
            .arg(scripts.join("install.sh"))
            .arg(&dir)
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start bash")?;
        ensure!(output.status.success(), "installing pi into {} failed", dir.display());
        let said = String::from_utf8(output.stdout)?;
        let value = |key: &str| said.lines().find_map(|line| line.strip_prefix(key)).map(PathBuf::from);
        Ok(Self {
            node: value("NODE=").context("install.sh named no NODE")?,
            module: value("MODULE=").context("install.sh named no MODULE")?,
            scripts,
        })
    }

    /// pi itself, as one starts it.
    pub(crate) fn program(&self) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(self.module.with_file_name("cli.js"));
        command
    }

    /// A call of one of the scripts, pi's module already named.
    pub(crate) fn script(&self, name: &str) -> Command {
        let mut command = Command::new(&self.node);
        command
            .arg("--max-old-space-size=8192")
            .arg(self.scripts.join(name))
            .arg("--module")
            .arg(&self.module);
        command
    }

    /// Lets pi write random sessions into `out`, each with a `.pi.json` beside it.
    pub(crate) fn write_sessions(&self, out: &Path, sessions: u64, seed: u64) -> Result<()> {
        let mut command = self.script("write.mjs");
        command.arg("--out").arg(out).args([
            "--sessions",
            &sessions.to_string(),
            "--seed",
            &seed.to_string(),
        ]);
        place::run(&mut command).context("pi could not write its random sessions")
    }

    /// Gives `jobs` to a verb of `read.mjs`; the answers come in the same order.
    pub(crate) fn ask(&self, verb: &str, jobs: &Value) -> Result<Vec<Value>> {
        let stdout = self.pipe(verb, jobs)?;
        match json::parse(&stdout)? {
            Value::Array(answers) => Ok(answers),
            other => anyhow::bail!("read.mjs {verb} answered {other}"),
        }
    }

    /// Lets pi append `count` messages without any lock; gives the ids it was told.
    pub(crate) fn hammer(&self, file: &Path, count: usize) -> Result<Vec<String>> {
        let stdout = self.pipe("hammer", &serde_json::json!([{ "file": file, "count": count }]))?;
        Ok(String::from_utf8(stdout)?.lines().map(str::to_owned).collect())
    }

    /// Gives one job to a verb of `read.mjs`.
    pub(crate) fn tell(&self, verb: &str, job: &Value) -> Result<Value> {
        json::parse(&self.pipe(verb, job)?)
    }

    fn pipe(&self, verb: &str, jobs: &Value) -> Result<Vec<u8>> {
        let mut command = self.script("read.mjs");
        piped(command.arg(verb), jobs).with_context(|| format!("pi failed to `{verb}` (read.mjs)"))
    }
}

/// What a command writes to stdout when it is given a value on stdin.
pub(crate) fn piped(command: &mut Command, given: &Value) -> Result<Vec<u8>> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(given.to_string().as_bytes())?;
    }
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "it ended with {}", output.status);
    Ok(output.stdout)
}
