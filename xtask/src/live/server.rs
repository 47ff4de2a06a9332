//! The model server, as a child process that ends with this one.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace;

pub(super) struct LlamaServer {
    child: Child,
    port: u16,
}

impl LlamaServer {
    /// Installs what is missing, and waits until the server is ready.
    pub(super) fn start(dir: &Path, settings: &[(&str, &str)]) -> Result<LlamaServer> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new("bash");
        command.arg(workspace::root()?.join("xtask/live/serve.sh")).arg(dir).arg(port.to_string());
        command.envs(settings.iter().copied());
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start bash")?;
        let stdout = child.stdout.take().context("stdout is not piped")?;
        let server = LlamaServer { child, port };
        let ready =
            BufReader::new(stdout).lines().map_while(Result::ok).any(|line| line.starts_with("ready"));
        ensure!(
            ready,
            "the server did not start; run xtask/live/serve.sh {} {port} to see why",
            dir.display()
        );
        Ok(server)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
