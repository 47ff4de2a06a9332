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
pub(crate) trait FrameReceiver: Send + Sync {
    /// A request, a notice, or the cancellation of a request.
    fn receive(&self, frame: Frame);

    /// The process ended and sends nothing any more.
    fn process_ended(&self, reason: &str);
}

/// See the module documentation. The process is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct ExtensionProcess {
    frames: mpsc::UnboundedSender<Vec<u8>>,
    pending: Arc<PendingRequests>,
    last_id: AtomicU64,
    /// Canceled to kill the process.
    kill: CancellationToken,
}

#[derive(Debug, Default)]
struct PendingRequests(Mutex<HashMap<u64, oneshot::Sender<RequestResult>>>);

impl PendingRequests {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<RequestResult>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn resolve(&self, id: u64, outcome: Outcome) {
        let Some(waiting) = self.lock().remove(&id) else { return };
        let result = match outcome {
            Outcome::Done(value) => Ok(value),
            Outcome::Failed(failure) => Err(failure),
        };
        // The one who asked may be gone.
        let _ = waiting.send(result);
    }

    fn fail_all(&self, reason: &str) {
        for (_, waiting) in self.lock().drain() {
            let _ = waiting.send(Err(Failure::new(reason)));
        }
    }
}

impl ExtensionProcess {
    pub(crate) fn start(
        launcher: &ExtensionLauncher,
        receiver: Arc<dyn FrameReceiver>,
    ) -> io::Result<ExtensionProcess> {
        let LaunchedProcess { input, output, child } = launcher.start()?;
        let (frames, queue) = mpsc::unbounded_channel();
        let (pending, kill) = (Arc::<PendingRequests>::default(), CancellationToken::new());
        tokio::spawn(write_frames(input, queue));
        tokio::spawn(run(
            BufReader::with_capacity(64 << 10, output),
            child,
            pending.clone(),
            receiver,
            kill.clone(),
        ));
        let process = ExtensionProcess { frames, pending, last_id: AtomicU64::new(0), kill };
        process.send(&Frame::Hello { version: VERSION });
        Ok(process)
    }

    pub(crate) fn send(&self, frame: &Frame) {
        // If the process has ended, `run` reports it.
        let _ = self.frames.send(frame.to_line());
    }

    /// Sends a request. Returns its id and where the response arrives.
    pub(crate) fn request(
        &self,
        extension: u32,
        method: &str,
        params: Box<RawValue>,
    ) -> (u64, oneshot::Receiver<RequestResult>) {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, receiver) = oneshot::channel();
        self.pending.lock().insert(id, sender);
        self.send(&Frame::Request { extension, id, method: method.to_owned(), params });
        if self.kill.is_cancelled() {
            self.pending.fail_all("the process of the extension has ended");
        }
        (id, receiver)
    }

    /// Forgets a request whose response nobody needs.
    pub(crate) fn forget(&self, id: u64) {
        self.pending.lock().remove(&id);
    }

    pub(crate) fn kill(&self) {
        self.kill.cancel();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.kill.is_cancelled()
    }
}

impl Drop for ExtensionProcess {
    fn drop(&mut self) {
        self.kill.cancel();
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
async fn run(
    mut output: impl AsyncBufRead + Unpin,
    child: Option<Child>,
    pending: Arc<PendingRequests>,
    receiver: Arc<dyn FrameReceiver>,
    kill: CancellationToken,
) {
    let ended = tokio::select! {
        ended = read_frames(&mut output, &pending, &*receiver) => ended,
        () = kill.cancelled() => Ok(()),
    };
    kill.cancel();
    if let Some(mut child) = child {
        // It may have ended by itself.
        let _ = child.kill().await;
    }
    let reason = match ended {
        Ok(()) => "the process of the extension has ended".to_owned(),
        Err(error) => error.to_string(),
    };
    pending.fail_all(&reason);
    receiver.process_ended(&reason);
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
