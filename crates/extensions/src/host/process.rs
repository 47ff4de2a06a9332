//! A process that runs extensions: requests to it, and the frames that it sends.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgid, kill_process_group};
use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::frame_queue::FrameQueue;
use super::launcher::{ExtensionEngine, ExtensionLauncher, LaunchedProcess};
use crate::frame::{FIRST_NODE_CALL, Failure, Frame, FrameError, MAX_FRAME, Outcome, VERSION};

/// How long a process may take to inspect an extension, or to confine itself.
const ASK_TIMEOUT: Duration = Duration::from_secs(60);

/// How a request ended.
pub(crate) type RequestResult = Result<Box<RawValue>, Failure>;

/// Receives what extensions send. It must not block.
pub(crate) trait FrameReceiver: Send + Sync + std::fmt::Debug {
    /// A request, a notice, or the cancellation of a request.
    fn receive(&self, frame: Frame);

    /// The process ended and sends nothing any more.
    fn process_ended(&self, end: ProcessEnd);
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct ProcessEnd {
    pub(crate) reason: String,
    /// The extensions that were at work. Empty if Osier ended the process.
    pub(crate) busy: Vec<u32>,
}

/// See the module documentation. The process can be started again after its end. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct ExtensionProcess {
    launcher: ExtensionLauncher,
    engine: ExtensionEngine,
    receiver: Arc<dyn FrameReceiver>,
    last_id: AtomicU64,
    run: Mutex<ProcessRun>,
}

/// One run of the process, from its start to its end.
#[derive(Debug, Clone)]
struct ProcessRun {
    /// `None` before the first start.
    frames: Option<Arc<FrameQueue>>,
    /// For the responses to synchronous calls of Node.
    call_responses: Option<Arc<FrameQueue>>,
    pending: Arc<PendingRequests>,
    /// Canceled to kill the process.
    kill: CancellationToken,
}

impl ProcessRun {
    /// A run that has ended.
    fn ended() -> ProcessRun {
        let (kill, pending) = (CancellationToken::new(), Arc::default());
        kill.cancel();
        ProcessRun { frames: None, call_responses: None, pending, kill }
    }

    /// Writes a frame, or nothing if the process has ended: `follow` reports that.
    fn send(&self, frame: &Frame) {
        let is_call = matches!(frame, Frame::Response { id, .. } if *id >= FIRST_NODE_CALL);
        let queue = if is_call { &self.call_responses } else { &self.frames };
        if let Some(queue) = queue.as_ref().filter(|_| !self.kill.is_cancelled()) {
            queue.send(&frame.to_line());
        }
    }
}

/// Requests without a response, by id.
#[derive(Debug, Default)]
struct PendingRequests {
    requests: Mutex<HashMap<u64, PendingRequest>>,
    /// The extension because of which the process is killed, and why.
    culprit: Mutex<Option<(u32, String)>>,
}

#[derive(Debug)]
struct PendingRequest {
    extension: u32,
    response: oneshot::Sender<RequestResult>,
}

impl PendingRequests {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, PendingRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn culprit(&self) -> MutexGuard<'_, Option<(u32, String)>> {
        self.culprit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn resolve(&self, id: u64, outcome: Outcome) {
        let Some(waiting) = self.lock().remove(&id) else { return };
        let result = match outcome {
            Outcome::Done(value) => Ok(value),
            Outcome::Failed(failure) => Err(failure),
        };
        // The one who asked may be gone.
        let _ = waiting.response.send(result);
    }

    /// Fails all requests. Returns the extensions that they were for.
    fn fail_all(&self, reason: &str) -> Vec<u32> {
        let mut busy = Vec::new();
        for (_, waiting) in self.lock().drain() {
            busy.push(waiting.extension);
            let _ = waiting.response.send(Err(Failure::new(reason)));
        }
        busy.sort_unstable();
        busy.dedup();
        busy
    }
}

impl ExtensionProcess {
    /// A process that is not started yet.
    pub(crate) fn new(
        launcher: &ExtensionLauncher,
        engine: ExtensionEngine,
        receiver: Arc<dyn FrameReceiver>,
    ) -> ExtensionProcess {
        let (run, last_id) = (Mutex::new(ProcessRun::ended()), AtomicU64::new(0));
        ExtensionProcess { launcher: launcher.clone(), engine, receiver, last_id, run }
    }

    /// Starts the process, which must not run.
    pub(crate) fn start(&self) -> io::Result<()> {
        let LaunchedProcess { input, call_input, output, child, helper } =
            self.launcher.start(&self.engine)?;
        let kill = CancellationToken::new();
        let frames = Some(FrameQueue::start(input, kill.clone()));
        let call_responses = call_input.map(|input| FrameQueue::start(input, kill.clone()));
        let run = ProcessRun { frames, call_responses, pending: Arc::default(), kill };
        let output = BufReader::with_capacity(64 << 10, output);
        tokio::spawn(follow(output, (child, helper), run.clone(), self.receiver.clone()));
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = run;
        self.send(&Frame::Hello { version: VERSION });
        Ok(())
    }

    fn run(&self) -> ProcessRun {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn send(&self, frame: &Frame) {
        self.run().send(frame);
    }

    /// Sends a request. Returns its id and where the response arrives.
    pub(crate) fn request(
        &self,
        extension: u32,
        method: &str,
        params: Box<RawValue>,
    ) -> (u64, oneshot::Receiver<RequestResult>) {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (response, receiver) = oneshot::channel();
        let run = self.run();
        run.pending.lock().insert(id, PendingRequest { extension, response });
        run.send(&Frame::Request { extension, id, method: method.to_owned(), params });
        if run.kill.is_cancelled() {
            run.pending.fail_all("the process of the extension has ended");
        }
        (id, receiver)
    }

    /// Sends a request that concerns the process, and waits for the response. A process that does not answer is killed.
    pub(crate) async fn ask(&self, method: &str, params: Box<RawValue>) -> RequestResult {
        let (id, response) = self.request(0, method, params);
        match tokio::time::timeout(ASK_TIMEOUT, response).await {
            Ok(response) => response.unwrap_or_else(|_| Err(Failure::new("no response"))),
            Err(_) => {
                self.forget(id);
                self.end();
                Err(Failure::new(format!("no answer within {} s", ASK_TIMEOUT.as_secs())))
            }
        }
    }

    /// Forgets a request whose response nobody needs.
    pub(crate) fn forget(&self, id: u64) {
        self.run().pending.lock().remove(&id);
    }

    /// Kills the process because of one of its extensions.
    pub(crate) fn kill_for(&self, extension: u32, reason: &str) {
        let run = self.run();
        run.pending.culprit().get_or_insert_with(|| (extension, reason.to_owned()));
        run.kill.cancel();
    }

    /// Kills the process.
    pub(crate) fn end(&self) {
        self.run().kill.cancel();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.run().kill.is_cancelled()
    }
}

impl Drop for ExtensionProcess {
    fn drop(&mut self) {
        self.run().kill.cancel();
    }
}

/// Reads frames until the process ends or is killed.
async fn follow(
    mut output: impl AsyncBufRead + Unpin,
    (child, helper): (Option<Child>, Option<Child>),
    run: ProcessRun,
    receiver: Arc<dyn FrameReceiver>,
) {
    let group = ProcessGroup::led_by(child.as_ref());
    let ended = tokio::select! {
        ended = read_frames(&mut output, &run.pending, &*receiver) => ended,
        () = run.kill.cancelled() => Ok(()),
    };
    run.kill.cancel();
    let mut status = None;
    if let Some(mut child) = child {
        // It may have ended by itself.
        drop(group);
        let _ = child.start_kill();
        status = child.wait().await.ok();
    }
    drop(helper);
    let culprit = run.pending.culprit().take();
    let reason = match (&culprit, ended) {
        (Some((_, reason)), _) => reason.clone(),
        (None, Err(error)) => error.to_string(),
        (None, Ok(())) => end_reason(status),
    };
    let busy = run.pending.fail_all(&reason);
    receiver
        .process_ended(ProcessEnd { reason, busy: culprit.map_or(busy, |(extension, _)| vec![extension]) });
}

/// A process that leads a group, with the programs that it started. All are killed when this is dropped.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn led_by(child: Option<&Child>) -> ProcessGroup {
        let id = child.and_then(Child::id).and_then(|id| i32::try_from(id).ok());
        let leader = id.and_then(Pid::from_raw).filter(|pid| getpgid(Some(*pid)) == Ok(*pid));
        ProcessGroup(leader)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // It may have ended.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Why a process ended by itself.
fn end_reason(status: Option<std::process::ExitStatus>) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status.and_then(|status| status.signal()) {
        Some(signal) if signal != rustix::process::Signal::KILL.as_raw() => {
            format!("the process of the extension crashed (signal {signal})")
        }
        _ => "the process of the extension has ended".to_owned(),
    }
}

async fn read_frames(
    output: &mut (impl AsyncBufRead + Unpin),
    pending: &PendingRequests,
    receiver: &dyn FrameReceiver,
) -> Result<(), FrameError> {
    let mut line = Vec::new();
    while read_line(output, &mut line).await? {
        match Frame::parse(&line)? {
            Frame::Hello { .. } | Frame::Interrupt { .. } => {}
            Frame::Response { id, outcome, .. } => pending.resolve(id, outcome),
            frame => receiver.receive(frame),
        }
        line.clear();
        line.shrink_to(64 << 10);
    }
    Ok(())
}

/// Reads a line without its LF; false at the end.
async fn read_line(output: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> Result<bool, FrameError> {
    loop {
        let buffer = output.fill_buf().await?;
        if buffer.is_empty() {
            return Ok(false);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        if line.len() + part.len() > MAX_FRAME {
            return Err(FrameError::TooLong);
        }
        line.extend_from_slice(part);
        let used = part.len() + usize::from(end.is_some());
        output.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}
