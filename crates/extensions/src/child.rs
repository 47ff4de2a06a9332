//! The process that runs extensions: a thread with a QuickJS runtime for each, and the main thread. It has no key, no
//! settings and no environment variables of Osier. What extensions want from the outside goes through the protocol.

mod bytes;
mod commonjs;
mod confine;
mod digest;
mod files;
mod handler_parameter;
mod helper;
mod highlight;
mod library_exports;
mod loader;
mod markdown;
mod primitives;
mod probe;
mod resolve;
mod runtime;
mod runtime_library;
mod stack;
mod strip;
mod switchboard;
mod text;

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::frame::{Failure, Frame, FrameError, Outcome, VERSION, null, to_raw};
use crate::inspect::inspect;
pub(crate) use confine::Confinement;
pub(crate) use library_exports::lacks_export;
pub(crate) use resolve::find_file as find_module;
pub(crate) use runtime_library::{find as library_module, source as library_source};
pub(crate) use strip::strip;
use switchboard::Switchboard;

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
pub fn serve(
    input: impl Read + AsFd + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), FrameError> {
    serve_confined(input, output, |_| Vec::new())
}

/// The main thread: it answers what concerns the process, and starts the threads of extensions. They inherit its confinement.
fn serve_confined(
    input: impl Read + AsFd + Send + 'static,
    output: impl Write + Send + 'static,
    confine: fn(&Confinement) -> Vec<String>,
) -> Result<(), FrameError> {
    let output = FrameWriter(Arc::new(Mutex::new(output)));
    output.send(&Frame::Hello { version: VERSION });
    let board = Arc::new(Switchboard::new(input, output.clone()));
    let mut watched: Vec<WatchedExtension> = Vec::new();
    while let Some(frame) = board.next_for_main(|| watched.iter_mut().for_each(|one| one.watch(&output)))? {
        let Some(frame) = answer_for_process(frame, &output, confine) else { continue };
        let Some(number) = switchboard::extension_number(&frame) else { continue };
        let signals = Arc::new(ExtensionSignals::default());
        if !board.add(number, signals.clone(), frame) {
            continue;
        }
        start_extension(number, &output, &board, signals.clone());
        watched.push(WatchedExtension { number, signals, interrupted: 0 });
    }
    Ok(())
}

fn start_extension(
    number: u32,
    output: &FrameWriter,
    board: &Arc<Switchboard>,
    signals: Arc<ExtensionSignals>,
) {
    let (output, board) = (output.clone(), board.clone());
    let work = move || runtime::run(number, &output, signals, &board);
    let thread = thread::Builder::new().name(format!("extension {number}")).stack_size(THREAD_STACK);
    if let Err(error) = thread.spawn(work) {
        eprintln!("cannot start a thread: {error}");
    }
}

/// The requests that concern the process and not a running extension.
const PROCESS_METHODS: &[&str] = &[
    "inspect",
    "confine",
    "librarySource",
    "libraryModule",
    "libraryModules",
    "findModule",
    "declareMissing",
    "strip",
    "isContext",
    "text",
    "probe",
];

/// Answers a request that concerns the process. Returns other frames.
fn answer_for_process(
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
        method => match helper::answer(method, params) {
            Some(answer) => answer.map(|value| to_raw(&value)),
            None => return Some(frame),
        },
    };
    let outcome = outcome.map_or_else(|reason| Outcome::Failed(Failure::new(reason)), Outcome::Done);
    output.send(&Frame::Response { extension: *extension, id: *id, outcome });
    None
}

/// Writes frames of all extensions, one at a time.
#[derive(Clone)]
pub(crate) struct FrameWriter(Arc<Mutex<dyn Write + Send>>);

impl FrameWriter {
    pub(crate) fn send(&self, frame: &Frame) {
        let line = frame.to_line();
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // If nobody reads, the input ends too.
        let _ = output.write_all(&line).and_then(|()| output.flush());
    }
}

/// What the thread of an extension and the one that reads frames share.
#[derive(Debug, Default)]
pub(crate) struct ExtensionSignals {
    /// The running JavaScript code must stop.
    pub(crate) interrupt: AtomicBool,
    /// When the code that runs now started, in milliseconds of [`process_time`]; 0 if none runs.
    pub(crate) busy_since: AtomicU64,
    /// The id of the synchronous call that the extension waits for; 0 if it does not wait.
    pub(crate) waiting_for: AtomicU64,
}

impl ExtensionSignals {
    /// The response to a call has arrived. Returns whether the extension waits for it.
    fn stop_waiting(&self, id: u64) -> bool {
        self.waiting_for.compare_exchange(id, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// Milliseconds since the first call, and at least 1.
pub(crate) fn process_time() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    1 + START.get_or_init(Instant::now).elapsed().as_millis() as u64
}

/// Code may run so long without a pause. Then it is interrupted, and then Osier is asked to kill the process.
const MAX_BUSY: Duration = Duration::from_secs(30);

/// The code of an extension is watched also when Osier does not wait for it.
struct WatchedExtension {
    number: u32,
    signals: Arc<ExtensionSignals>,
    /// When the code began that was interrupted.
    interrupted: u64,
}

impl WatchedExtension {
    fn watch(&mut self, output: &FrameWriter) {
        let since = self.signals.busy_since.load(Ordering::SeqCst);
        let is_waiting = self.signals.waiting_for.load(Ordering::SeqCst) != 0;
        let busy_for = process_time().saturating_sub(since);
        if since == 0 || is_waiting || busy_for <= MAX_BUSY.as_millis() as u64 {
            return;
        }
        match self.interrupted == since {
            false => self.signals.interrupt.store(true, Ordering::Relaxed),
            true if busy_for > (MAX_BUSY + STOP_TIME).as_millis() as u64 => {
                let method = "stuck".into();
                output.send(&Frame::Notice { extension: self.number, method, params: null() });
            }
            true => {}
        }
        self.interrupted = since;
    }
}

/// How long interrupted code may take to end.
const STOP_TIME: Duration = Duration::from_secs(2);
