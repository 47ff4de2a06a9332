//! A process that runs extensions: requests to it, and the frames that it sends.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::launcher::{ExtensionLauncher, LaunchedProcess};
use crate::frame::{Failure, Frame, FrameError, MAX_FRAME, Outcome, VERSION};

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
    receiver: Arc<dyn FrameReceiver>,
    last_id: AtomicU64,
    run: Mutex<ProcessRun>,
}

/// One run of the process, from its start to its end.
#[derive(Debug, Clone)]
struct ProcessRun {
    frames: mpsc::UnboundedSender<Vec<u8>>,
    pending: Arc<PendingRequests>,
    /// Canceled to kill the process.
    kill: CancellationToken,
}

impl ProcessRun {
    /// A run that has ended.
    fn ended() -> ProcessRun {
        let (kill, pending) = (CancellationToken::new(), Arc::default());
        kill.cancel();
        ProcessRun { frames: mpsc::unbounded_channel().0, pending, kill }
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
    pub(crate) fn new(launcher: &ExtensionLauncher, receiver: Arc<dyn FrameReceiver>) -> ExtensionProcess {
        let run = Mutex::new(ProcessRun::ended());
        ExtensionProcess { launcher: launcher.clone(), receiver, last_id: AtomicU64::new(0), run }
    }

    /// Starts the process, which must not run.
    pub(crate) fn start(&self) -> io::Result<()> {
        let LaunchedProcess { input, output, child } = self.launcher.start()?;
        let (frames, queue) = mpsc::unbounded_channel();
        let run = ProcessRun { frames, pending: Arc::default(), kill: CancellationToken::new() };
        tokio::spawn(write_frames(input, queue));
        let output = BufReader::with_capacity(64 << 10, output);
        tokio::spawn(follow(output, child, run.clone(), self.receiver.clone()));
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = run;
        self.send(&Frame::Hello { version: VERSION });
        Ok(())
    }

    fn run(&self) -> ProcessRun {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn send(&self, frame: &Frame) {
        // If the process has ended, `follow` reports it.
        let _ = self.run().frames.send(frame.to_line());
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
        let frame = Frame::Request { extension, id, method: method.to_owned(), params };
        let _ = run.frames.send(frame.to_line());
        if run.kill.is_cancelled() {
            run.pending.fail_all("the process of the extension has ended");
        }
        (id, receiver)
    }

    /// Sends a request that concerns the process, and waits for the response.
    pub(crate) async fn ask(&self, method: &str, params: Box<RawValue>) -> RequestResult {
        let (_, response) = self.request(0, method, params);
        response.await.unwrap_or_else(|_| Err(Failure::new("no response")))
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

async fn write_frames(
    mut input: Box<dyn AsyncWrite + Send + Unpin>,
    mut queue: mpsc::UnboundedReceiver<Vec<u8>>,
) {
    while let Some(line) = queue.recv().await {
        if input.write_all(&line).await.is_err() || input.flush().await.is_err() {
            break;
        }
    }
}

/// Reads frames until the process ends or is killed.
async fn follow(
    mut output: impl AsyncBufRead + Unpin,
    child: Option<Child>,
    run: ProcessRun,
    receiver: Arc<dyn FrameReceiver>,
) {
    let ended = tokio::select! {
        ended = read_frames(&mut output, &run.pending, &*receiver) => ended,
        () = run.kill.cancelled() => Ok(()),
    };
    run.kill.cancel();
    let mut status = None;
    if let Some(mut child) = child {
        // It may have ended by itself.
        let _ = child.start_kill();
        status = child.wait().await.ok();
    }
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
