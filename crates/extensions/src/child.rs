//! The process that runs extensions: a thread with a QuickJS runtime for each, and one that reads frames. It has no key, no
//! settings and no environment variables of Osier. What extensions want from the outside goes through the protocol.

mod bytes;
mod commonjs;
mod confine;
mod digest;
mod files;
mod loader;
mod markdown;
mod positions;
mod primitives;
mod resolve;
mod runtime;
mod runtime_library;
mod strip;
mod text;

use std::collections::HashMap;
use std::io::{BufReader, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::frame::{Failure, Frame, FrameError, Outcome, VERSION, null, to_raw};
use crate::inspect::inspect;
pub(crate) use confine::Confinement;
pub(crate) use positions::SourcePositions;
pub(crate) use resolve::find_file as find_module;
pub(crate) use runtime_library::find as library_module;
pub(crate) use strip::{StrippedSource, strip};

/// The first argument of a process that runs extensions.
pub const COMMAND: &str = "extension-host";

/// The size of a thread's stack. JavaScript may use half of it.
const THREAD_STACK: usize = 4 << 20;

/// Runs extensions for the program at the other end of standard input and output, until the input ends.
pub fn run() -> ExitCode {
    match serve_confined(std::io::stdin(), std::io::stdout(), confine::confine) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Like [`run`], over other pipes and without confinement, because it would apply to the whole process.
pub fn serve(input: impl Read, output: impl Write + Send + 'static) -> Result<(), FrameError> {
    serve_confined(input, output, |_| Vec::new())
}

fn serve_confined(
    input: impl Read,
    output: impl Write + Send + 'static,
    confine: fn(&Confinement) -> Vec<String>,
) -> Result<(), FrameError> {
    let output = FrameWriter(Arc::new(Mutex::new(output)));
    output.send(&Frame::Hello { version: VERSION });
    let mut input = BufReader::with_capacity(64 << 10, input);
    let mut extensions: HashMap<u32, ExtensionThread> = HashMap::new();
    while let Some(frame) = Frame::read(&mut input)? {
        let Some(frame) = answer_before_start(frame, &output, confine) else { continue };
        let Some(number) = extension_number(&frame) else { continue };
        extensions.entry(number).or_insert_with(|| ExtensionThread::start(number, &output)).receive(frame);
    }
    Ok(())
}

/// Answers what concerns the process and not a running extension. Returns other frames.
fn answer_before_start(
    frame: Frame,
    output: &FrameWriter,
    confine: fn(&Confinement) -> Vec<String>,
) -> Option<Frame> {
    let Frame::Request { extension, id, method, params } = &frame else { return Some(frame) };
    let outcome = match method.as_str() {
        "inspect" => match serde_json::from_str::<PathBuf>(params.get()).map_err(|error| error.to_string()) {
            Ok(path) => inspect(&path).map(|manifest| to_raw(&manifest)),
            Err(error) => Err(error),
        },
        "confine" => serde_json::from_str(params.get())
            .map(|confinement| to_raw(&confine(&confinement)))
            .map_err(|error| error.to_string()),
        _ => return Some(frame),
    };
    let outcome = outcome.map_or_else(|reason| Outcome::Failed(Failure::new(reason)), Outcome::Done);
    output.send(&Frame::Response { extension: *extension, id: *id, outcome });
    None
}

fn extension_number(frame: &Frame) -> Option<u32> {
    match frame {
        Frame::Hello { .. } => None,
        Frame::Request { extension, .. }
        | Frame::Notice { extension, .. }
        | Frame::Response { extension, .. }
        | Frame::Cancel { extension, .. }
        | Frame::Interrupt { extension } => Some(*extension),
    }
}

/// Writes frames of all extensions, one at a time.
#[derive(Clone)]
pub(crate) struct FrameWriter(Arc<Mutex<dyn Write + Send>>);

impl FrameWriter {
    pub(crate) fn send(&self, frame: &Frame) {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // If nobody reads, the input ends too.
        let _ = output.write_all(&frame.to_line()).and_then(|()| output.flush());
    }
}

/// What the thread of an extension and the thread that reads frames share.
#[derive(Debug, Default)]
pub(crate) struct ExtensionSignals {
    /// The running JavaScript code must stop.
    pub(crate) interrupt: AtomicBool,
    /// When the code that runs now started, in milliseconds of [`process_time`]; 0 if none runs.
    pub(crate) busy_since: AtomicU64,
    /// The id of the synchronous call that the extension waits for; 0 if it does not wait.
    pub(crate) waiting_for: AtomicU64,
}

/// Milliseconds since the first call, and at least 1.
pub(crate) fn process_time() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    1 + START.get_or_init(Instant::now).elapsed().as_millis() as u64
}

/// Code may run so long without a pause. Then it is interrupted, and then Osier is asked to kill the process.
const MAX_BUSY: Duration = Duration::from_secs(30);
const WATCH_INTERVAL: Duration = Duration::from_secs(2);

/// Watches the code of an extension, also when Osier does not wait for it.
fn watch(number: u32, signals: &Arc<ExtensionSignals>, output: &FrameWriter) {
    let (signals, output) = (Arc::downgrade(signals), output.clone());
    let work = move || {
        let mut interrupted = 0;
        while let Some(signals) = signals.upgrade() {
            let since = signals.busy_since.load(Ordering::SeqCst);
            let is_waiting = signals.waiting_for.load(Ordering::SeqCst) != 0;
            let limit = MAX_BUSY.as_millis() as u64;
            if since != 0 && !is_waiting && process_time().saturating_sub(since) > limit {
                match std::mem::replace(&mut interrupted, since) == since {
                    false => signals.interrupt.store(true, Ordering::Relaxed),
                    true => output.send(&Frame::Notice {
                        extension: number,
                        method: "stuck".into(),
                        params: null(),
                    }),
                }
            }
            drop(signals);
            thread::sleep(WATCH_INTERVAL);
        }
    };
    // Without the thread, Osier still notices code that it waits for.
    let _ = thread::Builder::new().name(format!("watch {number}")).stack_size(64 << 10).spawn(work);
}

/// The thread of an extension, as the reader of frames sees it.
struct ExtensionThread {
    signals: Arc<ExtensionSignals>,
    inbox: Sender<Frame>,
    call_results: Sender<Outcome>,
    output: FrameWriter,
}

/// What the thread of an extension receives.
pub(crate) struct Inbox {
    pub(crate) frames: Receiver<Frame>,
    pub(crate) call_results: Receiver<Outcome>,
}

impl ExtensionThread {
    fn start(number: u32, output: &FrameWriter) -> ExtensionThread {
        let signals = Arc::new(ExtensionSignals::default());
        let ((inbox, frames), (call_sender, call_results)) = (channel(), channel());
        let (shared, own_output) = (signals.clone(), output.clone());
        let work = move || runtime::run(number, &own_output, shared, Inbox { frames, call_results });
        watch(number, &signals, output);
        let thread = thread::Builder::new().name(format!("extension {number}")).stack_size(THREAD_STACK);
        if let Err(error) = thread.spawn(work) {
            eprintln!("cannot start a thread: {error}");
        }
        ExtensionThread { signals, inbox, call_results: call_sender, output: output.clone() }
    }

    /// The thread may have ended with an error, which it reported.
    fn receive(&self, frame: Frame) {
        match frame {
            Frame::Interrupt { .. } => self.signals.interrupt.store(true, Ordering::Relaxed),
            Frame::Response { id, outcome, .. } if self.is_waiting_for(id) => {
                let _ = self.call_results.send(outcome);
            }
            // A thread that waits for Osier is not stuck.
            Frame::Request { extension, id, method, .. }
                if method == "ping" && self.signals.waiting_for.load(Ordering::SeqCst) != 0 =>
            {
                self.output.send(&Frame::Response { extension, id, outcome: Outcome::Done(null()) });
            }
            frame => {
                let _ = self.inbox.send(frame);
            }
        }
    }

    fn is_waiting_for(&self, id: u64) -> bool {
        let waiting = &self.signals.waiting_for;
        waiting.compare_exchange(id, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}
