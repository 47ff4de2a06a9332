//! `pi.exec`: runs a program without a shell. The grant is the approval.

use std::path::PathBuf;
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::calls::ExtensionCall;
use super::program_run::{ProgramLimits, run_to_end};
use crate::frame::Failure;
use crate::grants::Grant;

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
    // Signals of the terminal are for Osier, and what stops the program stops what it started.
    command.process_group(0);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(ExecResult { stderr: error.to_string(), code: 1, ..ExecResult::default() }),
    };
    let group = call.session.programs.groups.add(call.extension.place(), &child);
    let (timeout, max_output) = (request.timeout, request.max_buffer);
    let limits = ProgramLimits { timeout, max_output, ..ProgramLimits::default() };
    let result = run_to_end(child, group, limits, &call.cancel).await;
    let killed = result.stopped.is_some();
    let code = result.status.and_then(|status| status.code()).unwrap_or(if killed { 0 } else { 1 });
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (stdout, stderr) = (text(result.stdout), text(result.stderr));
    Ok(ExecResult { stdout, stderr, code, killed, truncated: result.is_cut })
}
