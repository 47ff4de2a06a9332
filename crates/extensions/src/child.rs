//! The process that runs extensions: a thread with a QuickJS runtime for each, and one that reads frames. It has no key, no
//! settings and no environment variables of Osier. What extensions want from the outside goes through the protocol.

mod bytes;
mod commonjs;
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
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::frame::{Frame, FrameError, Outcome, VERSION};

/// The first argument of a process that runs extensions.
pub const COMMAND: &str = "extension-host";

/// The size of a thread's stack. JavaScript may use half of it.
const THREAD_STACK: usize = 4 << 20;

/// Runs extensions for the program at the other end of standard input and output, until the input ends.
pub fn run() -> ExitCode {
    match serve(std::io::stdin(), std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Like [`run`], over other pipes.
pub fn serve(input: impl Read, output: impl Write + Send + 'static) -> Result<(), FrameError> {
    let output = FrameWriter(Arc::new(Mutex::new(output)));
    output.send(&Frame::Hello { version: VERSION });
    let mut input = BufReader::with_capacity(64 << 10, input);
    let mut extensions: HashMap<u32, ExtensionThread> = HashMap::new();
    while let Some(frame) = Frame::read(&mut input)? {
        let Some(number) = extension_number(&frame) else { continue };
        extensions.entry(number).or_insert_with(|| ExtensionThread::start(number, &output)).receive(frame);
    }
    Ok(())
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
    /// The id of the synchronous call that the extension waits for; 0 if it does not wait.
    pub(crate) waiting_for: AtomicU64,
}

/// The thread of an extension, as the reader of frames sees it.
struct ExtensionThread {
    signals: Arc<ExtensionSignals>,
    inbox: Sender<Frame>,
    call_results: Sender<Outcome>,
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
        let (shared, output) = (signals.clone(), output.clone());
        let work = move || runtime::run(number, &output, shared, Inbox { frames, call_results });
        let thread = thread::Builder::new().name(format!("extension {number}")).stack_size(THREAD_STACK);
        if let Err(error) = thread.spawn(work) {
            eprintln!("cannot start a thread: {error}");
        }
        ExtensionThread { signals, inbox, call_results: call_sender }
    }

    /// The thread may have ended with an error, which it reported.
    fn receive(&self, frame: Frame) {
        match frame {
            Frame::Interrupt { .. } => self.signals.interrupt.store(true, Ordering::Relaxed),
            Frame::Response { id, outcome, .. } if self.is_waiting_for(id) => {
                let _ = self.call_results.send(outcome);
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
