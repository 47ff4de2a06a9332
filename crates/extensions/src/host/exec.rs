//! `pi.exec`: runs a program without a shell. The grant is the approval.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use super::calls::ExtensionCall;
use crate::frame::Failure;
use crate::grants::Grant;

/// The most bytes kept of each output.
const MAX_OUTPUT: usize = 256 << 20;
/// How long a program may take to end after it was asked to.
const KILL_GRACE: Duration = Duration::from_secs(5);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecRequest {
    program: String,
    args: Vec<String>,
    cwd: Option<PathBuf>,
    /// Milliseconds.
    timeout: Option<f64>,
    max_buffer: Option<usize>,
}

/// What `pi.exec` returns.
#[derive(Debug, Default, Serialize)]
pub(super) struct ExecResult {
    stdout: String,
    stderr: String,
    code: i32,
    killed: bool,
    truncated: bool,
}

/// A missing program is a result too.
pub(super) async fn exec(call: &ExtensionCall) -> Result<ExecResult, Failure> {
    call.require(Grant::RunPrograms)?;
    let request: ExecRequest = call.params()?;
    let directory = PathBuf::from(&call.session.session.header().cwd);
    let directory = request.cwd.as_ref().map_or(directory.clone(), |cwd| directory.join(cwd));
    let mut command = Command::new(&request.program);
    command
        .args(&request.args)
        .current_dir(directory)
        .env_clear()
        .envs(call.session.options.variables.iter().cloned());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(ExecResult { stderr: error.to_string(), code: 1, ..ExecResult::default() }),
    };
    let limit = request.max_buffer.unwrap_or(MAX_OUTPUT).min(MAX_OUTPUT);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let outputs = async { tokio::join!(read(stdout, limit), read(stderr, limit)) };
    let run = async {
        let (outputs, killed) = tokio::join!(outputs, wait(&mut child, &request, call));
        (outputs, killed)
    };
    let (((stdout, first), (stderr, second)), killed) = run.await;
    let code = child.wait().await.ok().and_then(|status| status.code());
    let code = code.unwrap_or(if killed { 0 } else { 1 });
    Ok(ExecResult { stdout, stderr, code, killed, truncated: first || second })
}

/// Waits for the end of a program. Returns whether it was stopped.
async fn wait(child: &mut Child, request: &ExecRequest, call: &ExtensionCall) -> bool {
    let timeout = async {
        match request.timeout.filter(|time| *time > 0.0) {
            Some(time) => tokio::time::sleep(Duration::from_secs_f64(time / 1000.0)).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = child.wait() => return false,
        () = timeout => {}
        () = call.cancel.cancelled() => {}
    }
    terminate(child);
    if tokio::time::timeout(KILL_GRACE, child.wait()).await.is_err() {
        // It may have ended just now.
        let _ = child.kill().await;
    }
    true
}

fn terminate(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// The output as text, and whether it was cut off.
async fn read(output: Option<impl AsyncRead + Unpin>, limit: usize) -> (String, bool) {
    let Some(mut output) = output else { return (String::new(), false) };
    let (mut bytes, mut chunk, mut is_cut) = (Vec::new(), [0; 8192], false);
    while let Ok(count @ 1..) = output.read(&mut chunk).await {
        let room = limit.saturating_sub(bytes.len());
        is_cut |= count > room;
        bytes.extend_from_slice(&chunk[..count.min(room)]);
    }
    (String::from_utf8_lossy(&bytes).into_owned(), is_cut)
}
