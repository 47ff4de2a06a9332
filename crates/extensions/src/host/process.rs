//! A process that runs extensions: requests to it, and the frames that it sends.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::frame_queue::FrameQueue;
use super::launcher::{ExtensionEngine, ExtensionLauncher, LaunchedProcess, NodeHelpers};
use super::process_group::ProcessGroup;
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
pub(crate) struct ProcessRun {
    /// `None` before the first start.
    frames: Option<Arc<FrameQueue>>,
    /// For the responses to synchronous calls of Node.
    call_responses: Option<Arc<FrameQueue>>,
    pending: Arc<PendingRequests>,
    /// Canceled to kill the process.
    kill: CancellationToken,
    /// Canceled when everybody knows of the end.
    ended: CancellationToken,
}

impl ProcessRun {
    /// A run that has ended.
    fn ended() -> ProcessRun {
        let (kill, pending) = (CancellationToken::new(), Arc::default());
        kill.cancel();
        ProcessRun { frames: None, call_responses: None, pending, ended: kill.clone(), kill }
    }

    /// Writes a frame, or nothing if the process has ended: `follow` reports that. A process that reads nothing is ended.
    pub(crate) fn send(&self, frame: &Frame) {
        let is_call = matches!(frame, Frame::Response { id, .. } if *id >= FIRST_NODE_CALL);
        let queue = if is_call { &self.call_responses } else { &self.frames };
        let Some(queue) = queue.as_ref().filter(|_| !self.kill.is_cancelled()) else { return };
        let line = frame.to_line();
        if line.len() > MAX_FRAME {
            return self.send_too_long(frame);
        }
        if !queue.send(&line) {
            let reason = "it does not read what Osier sends".to_owned();
            self.pending.culprit().get_or_insert(EndReason { extension: extension_of(frame), text: reason });
            self.kill.cancel();
        }
    }

    /// The process would end if it got such a frame.
    fn send_too_long(&self, frame: &Frame) {
        let failure = || Failure::new(format!("a frame is longer than {MAX_FRAME} bytes"));
        match frame {
            Frame::Request { id, .. } => self.pending.resolve(*id, Outcome::Failed(failure())),
            Frame::Response { extension, id, .. } => {
                let outcome = Outcome::Failed(failure());
                self.send(&Frame::Response { extension: *extension, id: *id, outcome });
            }
            _ => tracing::warn!("a notice for an extension is too long"),
        }
    }
}

/// Requests without a response, by id.
#[derive(Debug, Default)]
struct PendingRequests {
    requests: Mutex<HashMap<u64, PendingRequest>>,
    /// Why the process is killed.
    culprit: Mutex<Option<EndReason>>,
}

/// The extension because of which a process is killed, and why.
#[derive(Debug, Clone)]
struct EndReason {
    extension: Option<u32>,
    text: String,
}

fn extension_of(frame: &Frame) -> Option<u32> {
    match frame {
        Frame::Request { extension, .. }
        | Frame::Notice { extension, .. }
        | Frame::Response { extension, .. } => Some(*extension),
        Frame::Hello { .. } | Frame::Cancel { .. } | Frame::Interrupt { .. } => None,
    }
}

#[derive(Debug)]
struct PendingRequest {
    /// `None` if it concerns the process.
    extension: Option<u32>,
    response: oneshot::Sender<RequestResult>,
}

impl PendingRequests {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, PendingRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn culprit(&self) -> MutexGuard<'_, Option<EndReason>> {
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

    /// The extensions that have requests.
    fn busy(&self) -> Vec<u32> {
        let mut busy: Vec<u32> = self.lock().values().filter_map(|waiting| waiting.extension).collect();
        busy.sort_unstable();
        busy.dedup();
        busy
    }

    fn fail_all(&self, reason: &str) {
        for (_, waiting) in self.lock().drain() {
            let _ = waiting.response.send(Err(Failure::new(reason)));
        }
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

    /// Starts the process if it does not run.
    pub(crate) async fn start(&self) -> io::Result<()> {
        if !self.has_ended() {
            return Ok(());
        }
        // Its end is handled before it starts again.
        self.run().ended.cancelled().await;
        let LaunchedProcess { input, call_input, output, child, helpers } =
            self.launcher.start(&self.engine)?;
        let kill = CancellationToken::new();
        let frames = Some(FrameQueue::start(input, kill.clone()));
        let call_responses = call_input.map(|input| FrameQueue::start(input, kill.clone()));
        let (pending, ended) = (Arc::default(), CancellationToken::new());
        let run = ProcessRun { frames, call_responses, pending, kill, ended };
        let output = BufReader::with_capacity(64 << 10, output);
        tokio::spawn(follow(output, (child, helpers), run.clone(), self.receiver.clone()));
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = run;
        self.send(&Frame::Hello { version: VERSION });
        Ok(())
    }

    /// The run that goes on now, or the last one.
    pub(crate) fn run(&self) -> ProcessRun {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn send(&self, frame: &Frame) {
        self.run().send(frame);
    }

    /// Sends a request. Returns its id and where the response arrives.
    pub(crate) fn request(
        &self,
        extension: Option<u32>,
        method: &str,
        params: Box<RawValue>,
    ) -> (u64, oneshot::Receiver<RequestResult>) {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (response, receiver) = oneshot::channel();
        let run = self.run();
        run.pending.lock().insert(id, PendingRequest { extension, response });
        let extension = extension.unwrap_or_default();
        run.send(&Frame::Request { extension, id, method: method.to_owned(), params });
        if run.kill.is_cancelled() {
            // `follow` fails those that were sent before. Until then, they show which extensions were at work.
            run.pending.resolve(id, Outcome::Failed(Failure::new("the process of the extension has ended")));
        }
        (id, receiver)
    }

    /// Sends a request that concerns the process, and waits for the response. A process that does not answer is killed.
    pub(crate) async fn ask(&self, method: &str, params: Box<RawValue>) -> RequestResult {
        let (id, response) = self.request(None, method, params);
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
        let reason = EndReason { extension: Some(extension), text: reason.to_owned() };
        run.pending.culprit().get_or_insert(reason);
        run.kill.cancel();
    }

    /// Whether the process was killed because of this extension.
    pub(crate) fn was_killed_for(&self, extension: u32) -> bool {
        let run = self.run();
        run.kill.is_cancelled()
            && run.pending.culprit().as_ref().is_some_and(|reason| reason.extension == Some(extension))
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
    (child, helpers): (Option<Child>, Option<NodeHelpers>),
    run: ProcessRun,
    receiver: Arc<dyn FrameReceiver>,
) {
    let group = child.as_ref().and_then(ProcessGroup::led_by);
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
    drop(helpers);
    let culprit = run.pending.culprit().clone();
    let reason = match (&culprit, ended) {
        (Some(culprit), _) => culprit.text.clone(),
        (None, Err(error)) => error.to_string(),
        (None, Ok(())) => end_reason(status),
    };
    let busy = match culprit.and_then(|culprit| culprit.extension) {
        Some(extension) => vec![extension],
        None => run.pending.busy(),
    };
    // The receiver knows of the end before those do who wait for answers.
    receiver.process_ended(ProcessEnd { reason: reason.clone(), busy });
    run.pending.fail_all(&reason);
    run.ended.cancel();
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::to_raw;

    /// The frames as lines.
    #[derive(Debug, Default)]
    struct Recorder(Mutex<Vec<Vec<u8>>>);

    impl FrameReceiver for Recorder {
        fn receive(&self, frame: Frame) {
            self.0.lock().unwrap().push(frame.to_line());
        }

        fn process_ended(&self, _: ProcessEnd) {}
    }

    fn read_all(bytes: &[u8], buffer: usize) -> (Vec<Vec<u8>>, bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let recorder = Recorder::default();
        let mut input = BufReader::with_capacity(buffer, bytes);
        let read = runtime.block_on(read_frames(&mut input, &PendingRequests::default(), &recorder));
        (recorder.0.into_inner().unwrap(), read.is_ok())
    }

    fn frame() -> impl Strategy<Value = Frame> {
        let method = "\\PC{0,20}";
        let params = prop_oneof![
            any::<Vec<f64>>().prop_map(|value| to_raw(&value)),
            any::<String>().prop_map(|value| to_raw(&value)),
        ];
        prop_oneof![
            (any::<u32>(), method, params.clone()).prop_map(|(extension, method, params)| Frame::Notice {
                extension,
                method,
                params
            }),
            (any::<u32>(), any::<u64>(), method, params)
                .prop_map(|(extension, id, method, params)| Frame::Request { extension, id, method, params }),
            (any::<u32>(), any::<u64>()).prop_map(|(extension, id)| Frame::Cancel { extension, id }),
        ]
    }

    proptest! {
        #[test]
        fn frames_are_read_whatever_the_pieces_in_which_they_arrive(
            frames in prop::collection::vec(frame(), 0..8),
            buffer in 1_usize..200,
        ) {
            let lines: Vec<Vec<u8>> = frames.iter().map(Frame::to_line).collect();
            prop_assert_eq!(read_all(&lines.concat(), buffer), (lines, true));
        }

        #[test]
        fn other_bytes_end_the_reading_after_the_frames_before_them(
            frames in prop::collection::vec(frame(), 0..4),
            junk in prop::collection::vec(any::<u8>(), 1..60),
            buffer in 1_usize..50,
        ) {
            prop_assume!(!junk.contains(&b'\n') && Frame::parse(&junk).is_err());
            let lines: Vec<Vec<u8>> = frames.iter().map(Frame::to_line).collect();
            let bytes = [lines.concat(), junk, b"\n".to_vec()].concat();
            prop_assert_eq!(read_all(&bytes, buffer), (lines, false));
        }
    }

    #[test]
    fn a_line_without_an_end_is_not_read_for_ever() {
        let bytes = vec![b'['; MAX_FRAME + 10];
        assert_eq!(read_all(&bytes, 64 << 10), (Vec::new(), false));
    }

    #[tokio::test]
    async fn a_frame_that_is_too_long_fails_and_ends_no_process() {
        let process = ExtensionProcess::new(
            &ExtensionLauncher::Thread,
            ExtensionEngine::Sandbox,
            Arc::new(Recorder::default()),
        );
        process.start().await.unwrap();
        let (_, response) = process.request(Some(0), "load", to_raw(&"x".repeat(MAX_FRAME)));
        let failure = response.await.unwrap().unwrap_err();
        assert!(failure.message.contains("longer than"), "{failure}");
        assert!(!process.has_ended());
    }
}
