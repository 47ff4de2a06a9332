//! Programs that extensions start with `node:child_process`. Osier runs them; the extension reads and writes their pipes.
//! The grant is the approval.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::calls::ExtensionCall;
use super::extension::{Extension, TimeLimit};
use super::hook::remove_nulls;
use super::process_group::{ProcessGroup, ProgramGroups};
use super::program_run::{ProgramLimits, ProgramResult, StopReason, run_to_end};
use super::screen::ExtensionPlace;
use super::session::CallKey;
use crate::frame::Failure;
use crate::grants::Grant;

/// The most programs that an extension has at once.
const MAX_PROGRAMS: usize = 64;
/// The most bytes of input that wait for a program to read them, and so many may wait when a write is answered.
const MAX_INPUT: usize = 64 << 20;
const INPUT_ROOM: usize = 64 << 10;

/// The running programs of a session, by the numbers that their extensions chose.
#[derive(Debug, Default)]
pub(crate) struct RunningPrograms {
    programs: Mutex<HashMap<CallKey, ProgramOrders>>,
    pub(super) groups: Arc<ProgramGroups>,
}

impl RunningPrograms {
    fn lock(&self) -> MutexGuard<'_, HashMap<CallKey, ProgramOrders>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the programs of an extension that has ended, except detached ones.
    pub(super) fn end_all(&self, place: ExtensionPlace) {
        self.groups.kill_all(place);
        self.lock().retain(|key, _| (key.0, key.1) != place);
    }
}

/// Where orders for a program go.
#[derive(Debug)]
struct ProgramOrders {
    sender: UnboundedSender<ProgramOrder>,
    /// The bytes of input that the program has not read.
    waiting: Arc<watch::Sender<usize>>,
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

/// Starts a program. Its output and its end arrive as requests and a notice.
pub(super) fn start(call: &ExtensionCall) -> Result<Value, Failure> {
    let request: ProgramRequest = call.params()?;
    let extension = &call.extension;
    let key = (extension.process_number, extension.number, request.id);
    let running = &call.session.programs;
    let place = extension.place();
    // Other calls run at the same time.
    let mut programs = running.lock();
    let own = programs.keys().filter(|known| (known.0, known.1) == place).count();
    if own >= MAX_PROGRAMS {
        return Err(Failure::new(format!("spawn {} EAGAIN: too many programs run", request.program)));
    }
    if programs.contains_key(&key) {
        return Err(Failure::new(format!("spawn {} EINVAL: the number is in use", request.program)));
    }
    let child = request.spawn(call)?;
    let group = match request.detached {
        true => None,
        false => running.groups.add(place, &child),
    };
    let (sender, receiver) = unbounded_channel();
    let waiting = Arc::new(watch::Sender::new(0));
    let pid = child.id();
    programs.insert(key, ProgramOrders { sender, waiting: waiting.clone() });
    drop(programs);
    let (session, extension) = (Arc::downgrade(&call.session), extension.clone());
    tokio::spawn(async move {
        let program = RunningProgram { extension: &extension, id: key.2, waiting: &waiting };
        program.attend(child, group, receiver).await;
        if let Some(session) = session.upgrade() {
            session.programs.lock().remove(&key);
        }
    });
    Ok(json!({ "pid": pid }))
}

/// A program, and the extension that started it.
struct RunningProgram<'a> {
    extension: &'a Arc<Extension>,
    id: u64,
    /// The bytes of input that the program has not read.
    waiting: &'a watch::Sender<usize>,
}

impl RunningProgram<'_> {
    /// Passes output on, and carries out orders, until the program and its output have ended. It also ends when its extension does:
    /// then nobody gives orders any longer.
    async fn attend(
        &self,
        mut child: Child,
        group: Option<ProcessGroup>,
        mut orders: UnboundedReceiver<ProgramOrder>,
    ) {
        let pid = child.id();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let outputs = async {
            tokio::join!(self.forward("stdout", stdout), self.forward("stderr", stderr));
        };
        tokio::pin!(outputs);
        let (mut input, mut unread, mut closes) = (child.stdin.take(), VecDeque::<u8>::new(), false);
        let (mut has_output, mut status) = (true, None);
        while has_output || status.is_none() {
            tokio::select! {
                () = &mut outputs, if has_output => has_output = false,
                ended = child.wait(), if status.is_none() => status = Some(ended.ok()),
                written = write_some(&mut input, &unread), if input.is_some() && !unread.is_empty() => {
                    // A program that closed its input reads nothing more.
                    let count = written.unwrap_or(unread.len());
                    unread.drain(..count);
                    self.waiting.send_modify(|waiting| *waiting -= count);
                    closes |= written.is_none();
                }
                order = orders.recv() => match order {
                    Some(ProgramOrder::Write(bytes)) if input.is_some() => unread.extend(bytes),
                    Some(ProgramOrder::Write(bytes)) => {
                        self.waiting.send_modify(|waiting| *waiting -= bytes.len());
                    }
                    Some(ProgramOrder::CloseInput) => closes = true,
                    Some(ProgramOrder::Signal(name)) => send_signal(pid, &name),
                    // The group ends with its guard.
                    None => return,
                }
            }
            if closes && unread.is_empty() {
                input = None;
            }
        }
        if let Some(group) = group {
            group.release();
        }
        use std::os::unix::process::ExitStatusExt;
        let status = status.flatten();
        let code = status.and_then(|status| status.code());
        let signal = status.and_then(|status| status.signal()).map(signal_name);
        self.extension.notice("program.exit", &json!({ "id": self.id, "code": code, "signal": signal }));
    }

    /// Gives output to the extension. It gets the next piece when it has taken this one, so a program cannot fill its memory.
    async fn forward(&self, stream: &str, output: Option<impl AsyncRead + Unpin>) {
        let Some(mut output) = output else { return };
        let mut chunk = vec![0; 32 << 10];
        while let Ok(count @ 1..) = output.read(&mut chunk).await {
            let data = STANDARD.encode(&chunk[..count]);
            let params = json!({ "id": self.id, "stream": stream, "data": data });
            let (limit, cancel) = (TimeLimit::None, CancellationToken::new());
            if self.extension.request("program.output", &params, limit, &cancel).await.is_err() {
                return;
            }
        }
        self.extension.notice("program.output", &json!({ "id": self.id, "stream": stream, "data": null }));
    }
}

/// Writes what the program takes now. `None` if it takes nothing any more.
async fn write_some(input: &mut Option<ChildStdin>, unread: &VecDeque<u8>) -> Option<usize> {
    match input {
        Some(pipe) => pipe.write(unread.as_slices().0).await.ok().filter(|count| *count > 0),
        None => std::future::pending().await,
    }
}

#[derive(Debug, Deserialize)]
struct OrderParams {
    id: u64,
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    signal: Option<String>,
}

/// `program.write`, `program.closeInput` and `program.kill`. A write is answered when the program has read most of what waits.
pub(super) async fn order(call: &ExtensionCall, method: &str) -> Result<(), Failure> {
    let OrderParams { id, data, signal } = call.params()?;
    let order = match method {
        "program.write" => {
            ProgramOrder::Write(data.and_then(|data| STANDARD.decode(data).ok()).unwrap_or_default())
        }
        "program.closeInput" => ProgramOrder::CloseInput,
        _ => ProgramOrder::Signal(signal.unwrap_or_else(|| "SIGTERM".to_owned())),
    };
    let extension = &call.extension;
    let Some(mut waiting) = give_order(call, (extension.process_number, extension.number, id), order)? else {
        return Ok(());
    };
    tokio::select! {
        // It fails when the program has ended.
        _ = waiting.wait_for(|waiting| *waiting <= INPUT_ROOM) => {}
        () = call.cancel.cancelled() => {}
    }
    Ok(())
}

/// Gives an order to a running program. Returns the bytes that it has not read.
fn give_order(
    call: &ExtensionCall,
    key: CallKey,
    order: ProgramOrder,
) -> Result<Option<watch::Receiver<usize>>, Failure> {
    let running = call.session.programs.lock();
    let Some(orders) = running.get(&key) else { return Ok(None) };
    let is_write = match &order {
        ProgramOrder::Write(bytes) if *orders.waiting.borrow() + bytes.len() > MAX_INPUT => {
            return Err(Failure::new("the program does not read its input"));
        }
        ProgramOrder::Write(bytes) => {
            orders.waiting.send_modify(|waiting| *waiting += bytes.len());
            true
        }
        _ => false,
    };
    // It may have ended just now.
    let _ = orders.sender.send(order);
    Ok(is_write.then(|| orders.waiting.subscribe()))
}

/// Runs a program to its end, for the functions that wait.
pub(super) async fn run(call: &ExtensionCall) -> Result<Value, Failure> {
    let request: ProgramRequest = call.params()?;
    let child = match request.spawn(call) {
        Ok(child) => child,
        Err(failure) => return Ok(json!({ "error": failure.message })),
    };
    let pid = child.id();
    let group = call.session.programs.groups.add(call.extension.place(), &child);
    let limits = ProgramLimits {
        input: request.input.as_ref().and_then(|text| STANDARD.decode(text).ok()),
        timeout: request.timeout,
        max_output: request.max_buffer,
        stops_when_full: true,
    };
    let ProgramResult { stdout, stderr, status, stopped, .. } =
        run_to_end(child, group, limits, &call.cancel).await;
    let error = stopped.map(|reason| match reason {
        StopReason::TooMuchOutput => format!("spawnSync {} ENOBUFS", request.program),
        StopReason::TimedOut | StopReason::Canceled => format!("spawnSync {} ETIMEDOUT", request.program),
    });
    use std::os::unix::process::ExitStatusExt;
    let mut result = json!({
        "pid": pid,
        "status": status.and_then(|status| status.code()),
        "signal": status.and_then(|status| status.signal()).map(signal_name),
        "stdout": STANDARD.encode(stdout),
        "stderr": STANDARD.encode(stderr),
        "error": error,
    });
    remove_nulls(&mut result, &["error"]);
    Ok(result)
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
