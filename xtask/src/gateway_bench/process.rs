//! Server processes, and what they use.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// A running server. It ends with this value.
pub(crate) struct ServerProcess {
    child: Child,
    _stdout: Lines<BufReader<ChildStdout>>,
    pub(crate) address: String,
    pub(crate) token: String,
}

impl ServerProcess {
    /// Starts a gateway whose sessions are in `home`.
    pub(crate) async fn start_gateway(osier: &Path, home: &Path, cwd: &Path) -> Result<ServerProcess> {
        let mut command = Command::new(osier);
        command.args(["serve", "--port", "0", "--json"]).env("OSIER_HOME", home).current_dir(cwd);
        let mut server = ServerProcess::start(&mut command, |line| {
            let line: Value = serde_json::from_str(line).ok()?;
            Some(line["url"].as_str()?.trim_start_matches("http://").trim_end_matches('/').to_owned())
        })
        .await?;
        server.token = std::fs::read_to_string(home.join("gateway-token"))?.trim().to_owned();
        Ok(server)
    }

    /// Starts the bare broadcast.
    pub(crate) async fn start_broadcast() -> Result<ServerProcess> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("broadcast");
        ServerProcess::start(&mut command, |line| Some(line.to_owned())).await
    }

    async fn start(command: &mut Command, address: impl Fn(&str) -> Option<String>) -> Result<ServerProcess> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut lines = BufReader::new(stdout).lines();
        loop {
            let line = lines.next_line().await?.context("the server ended")?;
            if let Some(address) = address(&line) {
                return Ok(ServerProcess { child, _stdout: lines, address, token: String::new() });
            }
        }
    }

    fn proc_file(&self, name: &str) -> Result<String> {
        let id = self.child.id().context("the server has ended")?;
        Ok(std::fs::read_to_string(PathBuf::from("/proc").join(id.to_string()).join(name))?)
    }

    /// User and system CPU time in milliseconds.
    pub(crate) fn cpu_ms(&self) -> Result<f64> {
        let stat = self.proc_file("stat")?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok());
        // Linux counts in hundredths of a second.
        Ok((ticks(11).context("no user time")? + ticks(12).context("no system time")?) * 10.0)
    }

    /// A size in /proc/PID/status, such as `VmRSS`, in megabytes.
    pub(crate) fn memory_mb(&self, name: &str) -> Result<f64> {
        let status = self.proc_file("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kilobytes = line.context("no such size")?.trim().trim_end_matches("kB").trim();
        Ok(kilobytes.parse::<f64>()? * 1024.0 / 1e6)
    }
}
