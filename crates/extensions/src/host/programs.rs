//! Programs that extensions start with `node:child_process`. Osier runs them; the extension reads and writes their pipes.
//! The grant is the approval.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::calls::{ExtensionCall, read_params};
use super::extension::Extension;
use super::session::{CallKey, SessionExtensions};
use crate::frame::Failure;
use crate::grants::Grant;

/// The most programs that an extension has at once.
const MAX_PROGRAMS: usize = 64;
/// The most bytes kept of each output of a program that an extension waits for.
const MAX_OUTPUT: usize = 256 << 20;

/// The running programs of a session, by the numbers that their extensions chose.
#[derive(Debug, Default)]
pub(crate) struct RunningPrograms(Mutex<HashMap<CallKey, UnboundedSender<ProgramOrder>>>);

impl RunningPrograms {
    fn lock(&self) -> MutexGuard<'_, HashMap<CallKey, UnboundedSender<ProgramOrder>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an extension wants of a running program.
#[derive(Debug)]
enum ProgramOrder {
    Write(Vec<u8>),
    CloseInput,
    Signal(String),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProgramRequest {
    #[serde(default)]
    id: u64,
    program: String,
    args: Vec<String>,
    cwd: Option<PathBuf>,
    /// Replaces the environment.
    env: Option<BTreeMap<String, String>>,
    /// Whether the program ends with its extension.
    #[serde(default)]
    detached: bool,
    #[serde(default)]
    has_input: bool,
    /// Base64.
    input: Option<String>,
    /// Milliseconds.
    timeout: Option<f64>,
    max_buffer: Option<usize>,
}

impl ProgramRequest {
    fn spawn(&self, call: &ExtensionCall) -> Result<Child, Failure> {
        call.require(Grant::RunPrograms)?;
        let directory = PathBuf::from(&call.session.session.header().cwd);
        let directory = self.cwd.as_ref().map_or(directory.clone(), |cwd| directory.join(cwd));
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&directory).env_clear();
        match &self.env {
            Some(env) => command.envs(env),
            None => command.envs(call.session.options.variables.iter().cloned()),
        };
        let input = if self.has_input || self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(!self.detached);
        // Signals of the terminal are for Osier.
        command.process_group(0);
        command.spawn().map_err(|error| {
            let code = if error.kind() == std::io::ErrorKind::NotFound { "ENOENT" } else { "EACCES" };
            Failure::new(format!("spawn {} {code}", self.program))
        })
    }
}

/// Starts a program. Its output and its end arrive as notices.
pub(super) fn start(call: &ExtensionCall) -> Result<Value, Failure> {
    let request: ProgramRequest = call.params()?;
    let extension = &call.extension;
    let key = (extension.process_number, extension.number, request.id);
    let running = &call.session.programs;
    let own = running.lock().keys().filter(|known| (known.0, known.1) == (key.0, key.1)).count();
    if own >= MAX_PROGRAMS {
        return Err(Failure::new(format!("spawn {} EAGAIN: too many programs run", request.program)));
    }
    let child = request.spawn(call)?;
    let pid = child.id();
    let (orders, receiver) = unbounded_channel();
    running.lock().insert(key, orders);
    let (session, extension) = (Arc::downgrade(&call.session), extension.clone());
    tokio::spawn(async move {
        attend(&extension, key.2, child, receiver).await;
        if let Some(session) = session.upgrade() {
            session.programs.lock().remove(&key);
        }
    });
    Ok(json!({ "pid": pid }))
}

/// Passes output on, and carries out orders, until the program ends. It also ends when its extension does: then nobody gives
/// orders any longer.
async fn attend(
    extension: &Arc<Extension>,
    id: u64,
    mut child: Child,
    mut orders: UnboundedReceiver<ProgramOrder>,
) {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let outputs = async {
        tokio::join!(forward(extension, id, "stdout", stdout), forward(extension, id, "stderr", stderr));
    };
    let mut input = child.stdin.take();
    let pid = child.id();
    let wait = async {
        loop {
            tokio::select! {
                status = child.wait() => break status.ok(),
                order = orders.recv() => match order {
                    Some(ProgramOrder::Write(bytes)) => if let Some(pipe) = &mut input {
                        // The program may have closed its input.
                        let _ = pipe.write_all(&bytes).await;
                    },
                    Some(ProgramOrder::CloseInput) => input = None,
                    Some(ProgramOrder::Signal(name)) => send_signal(pid, &name),
                    None => return None,
                }
            }
        }
    };
    let ((), status) = tokio::join!(outputs, wait);
    use std::os::unix::process::ExitStatusExt;
    let code = status.and_then(|status| status.code());
    let signal = status.and_then(|status| status.signal()).map(signal_name);
    extension.notice("program.exit", &json!({ "id": id, "code": code, "signal": signal }));
}

async fn forward(extension: &Arc<Extension>, id: u64, stream: &str, output: Option<impl AsyncRead + Unpin>) {
    let Some(mut output) = output else { return };
    let mut chunk = vec![0; 32 << 10];
    while let Ok(count @ 1..) = output.read(&mut chunk).await {
        let data = STANDARD.encode(&chunk[..count]);
        extension.notice("program.output", &json!({ "id": id, "stream": stream, "data": data }));
    }
    extension.notice("program.output", &json!({ "id": id, "stream": stream, "data": null }));
}

#[derive(Debug, Deserialize)]
struct OrderParams {
    id: u64,
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    signal: Option<String>,
}

/// `program.write`, `program.closeInput` and `program.kill`.
pub(super) fn order(
    session: &SessionExtensions,
    extension: &Extension,
    method: &str,
    params: &serde_json::value::RawValue,
) -> Result<(), Failure> {
    let OrderParams { id, data, signal } = read_params(params)?;
    let order = match method {
        "program.write" => {
            ProgramOrder::Write(data.and_then(|data| STANDARD.decode(data).ok()).unwrap_or_default())
        }
        "program.closeInput" => ProgramOrder::CloseInput,
        _ => ProgramOrder::Signal(signal.unwrap_or_else(|| "SIGTERM".to_owned())),
    };
    if let Some(orders) = session.programs.lock().get(&(extension.process_number, extension.number, id)) {
        // It may have ended just now.
        let _ = orders.send(order);
    }
    Ok(())
}

/// Runs a program to its end, for the functions that wait.
pub(super) async fn run(call: &ExtensionCall) -> Result<Value, Failure> {
    let request: ProgramRequest = call.params()?;
    let mut child = match request.spawn(call) {
        Ok(child) => child,
        Err(failure) => return Ok(json!({ "error": failure.message })),
    };
    let limit = request.max_buffer.unwrap_or(MAX_OUTPUT).min(MAX_OUTPUT);
    let (stdout, stderr, pid) = (child.stdout.take(), child.stderr.take(), child.id());
    let input = (child.stdin.take(), request.input.as_ref().and_then(|text| STANDARD.decode(text).ok()));
    let feed = async move {
        if let (Some(mut pipe), Some(bytes)) = input {
            let _ = pipe.write_all(&bytes).await;
        }
    };
    let work = async { tokio::join!(collect(stdout, limit), collect(stderr, limit), feed, child.wait()) };
    let timeout =
        request.timeout.filter(|time| *time > 0.0).map(|time| Duration::from_secs_f64(time / 1000.0));
    let done = match timeout {
        Some(time) => tokio::time::timeout(time, work).await.ok(),
        None => Some(work.await),
    };
    let Some((stdout, stderr, (), status)) = done else {
        send_signal(pid, "SIGKILL");
        return Ok(
            json!({ "error": format!("spawnSync {} ETIMEDOUT", request.program), "signal": "SIGTERM", "pid": pid }),
        );
    };
    use std::os::unix::process::ExitStatusExt;
    let status = status.ok();
    Ok(json!({
        "pid": pid,
        "status": status.and_then(|status| status.code()),
        "signal": status.and_then(|status| status.signal()).map(signal_name),
        "stdout": STANDARD.encode(stdout),
        "stderr": STANDARD.encode(stderr),
    }))
}

async fn collect(output: Option<impl AsyncRead + Unpin>, limit: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(output) = output {
        let _ = output.take(limit as u64).read_to_end(&mut bytes).await;
    }
    bytes
}

const SIGNALS: &[(&str, rustix::process::Signal)] = {
    use rustix::process::Signal;
    &[
        ("SIGTERM", Signal::TERM),
        ("SIGKILL", Signal::KILL),
        ("SIGINT", Signal::INT),
        ("SIGHUP", Signal::HUP),
        ("SIGQUIT", Signal::QUIT),
        ("SIGUSR1", Signal::USR1),
        ("SIGUSR2", Signal::USR2),
        ("SIGSTOP", Signal::STOP),
        ("SIGCONT", Signal::CONT),
    ]
};

fn signal_name(number: i32) -> String {
    let known = SIGNALS.iter().find(|(_, signal)| signal.as_raw() == number);
    known.map_or_else(|| format!("SIG{number}"), |(name, _)| (*name).to_owned())
}

/// Sends a signal to a program and to what it started.
fn send_signal(pid: Option<u32>, name: &str) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = SIGNALS.iter().find(|(known, _)| *known == name).map_or(Signal::TERM, |(_, signal)| *signal);
    let pid = pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = kill_process_group(pid, signal);
    }
}
