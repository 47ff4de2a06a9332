//! Who reads the frames that Osier sends. The thread of an extension that waits for a frame reads the pipe itself, so that an event
//! needs no change of threads. While all of them run code, the main thread reads: it can interrupt code, and watches how long it runs.

use std::collections::{HashMap, VecDeque};
use std::io::{BufReader, Read};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{ExtensionSignals, FrameWriter};
use crate::frame::{Failure, Frame, FrameError, Outcome, null};

/// How often the main thread looks whether somebody reads.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// What a thread was waiting for.
pub(crate) enum NextFrame {
    Frame(Frame),
    /// The time is up.
    Timeout,
    /// Osier sends nothing any more.
    End,
}

/// See the module documentation.
pub(crate) struct Switchboard {
    state: Mutex<BoardState>,
    /// Wakes the main thread.
    main: Condvar,
    /// Used by the thread that set `is_reading`.
    input: Mutex<Box<dyn FrameSource>>,
    output: FrameWriter,
}

#[derive(Default)]
struct BoardState {
    is_reading: bool,
    end: Option<Result<(), FrameError>>,
    /// Frames that concern the process, and the first frames of extensions.
    for_main: VecDeque<Frame>,
    mailboxes: HashMap<u32, Mailbox>,
}

/// What waits for the thread of an extension.
struct Mailbox {
    frames: VecDeque<Frame>,
    call_result: Option<Outcome>,
    /// The thread waits for `changed`, so it can read.
    is_waiting: bool,
    changed: Arc<Condvar>,
    signals: Arc<ExtensionSignals>,
}

/// Where frames come from.
trait FrameSource: Send {
    /// Waits until there is something to read. False if the time is up.
    fn wait(&self, until: Instant) -> bool;

    fn read(&mut self) -> Result<Option<Frame>, FrameError>;
}

impl<R: Read + AsFd + Send> FrameSource for BufReader<R> {
    fn wait(&self, until: Instant) -> bool {
        if !self.buffer().is_empty() {
            return true;
        }
        let time = until.saturating_duration_since(Instant::now());
        let time = Timespec::try_from(time).ok();
        let mut files = [PollFd::new(self.get_ref(), PollFlags::IN)];
        // An error is noticed by reading.
        poll(&mut files, time.as_ref()).map_or(true, |ready| ready > 0)
    }

    fn read(&mut self) -> Result<Option<Frame>, FrameError> {
        Frame::read(self)
    }
}

impl Switchboard {
    pub(super) fn new(input: impl Read + AsFd + Send + 'static, output: FrameWriter) -> Switchboard {
        Switchboard {
            state: Mutex::default(),
            main: Condvar::new(),
            input: Mutex::new(Box::new(BufReader::with_capacity(64 << 10, input))),
            output,
        }
    }

    fn lock(&self) -> MutexGuard<'_, BoardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the thread of an extension, with its first frame. False if it was added before: its next frame was read before the main
    /// thread took the first one. It gets the frame.
    pub(super) fn add(&self, number: u32, signals: Arc<ExtensionSignals>, frame: Frame) -> bool {
        let mut state = self.lock();
        let is_new = !state.mailboxes.contains_key(&number);
        state.mailboxes.entry(number).or_insert_with(|| Mailbox {
            frames: VecDeque::new(),
            call_result: None,
            is_waiting: false,
            changed: Arc::default(),
            signals,
        });
        self.deliver(&mut state, frame);
        is_new
    }

    /// The next frame for the main thread, which reads if nobody else can. Calls `watch` about once per interval.
    pub(super) fn next_for_main(&self, mut watch: impl FnMut()) -> Result<Option<Frame>, FrameError> {
        let mut state = self.lock();
        loop {
            if let Some(frame) = state.for_main.pop_front() {
                return Ok(Some(frame));
            }
            if let Some(end) = state.end.take() {
                state.end = Some(Ok(()));
                return end.map(|()| None);
            }
            let can_read = state.mailboxes.values().any(|mailbox| mailbox.is_waiting);
            state = match state.is_reading || can_read {
                true => {
                    state.wake_reader();
                    let waited = self.main.wait_timeout(state, WATCH_INTERVAL);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                false => {
                    let has_extensions = !state.mailboxes.is_empty();
                    self.read(state, has_extensions.then(|| Instant::now() + WATCH_INTERVAL))
                }
            };
            drop(state);
            watch();
            state = self.lock();
        }
    }

    /// The next frame for an extension.
    pub(super) fn next(&self, number: u32, until: Option<Instant>) -> NextFrame {
        let take = |mailbox: &mut Mailbox| mailbox.frames.pop_front();
        match self.wait_for(number, until, take) {
            Ok(Some(frame)) => NextFrame::Frame(frame),
            Ok(None) => NextFrame::Timeout,
            Err(()) => NextFrame::End,
        }
    }

    /// The result of the synchronous call that an extension waits for.
    pub(super) fn call_result(&self, number: u32) -> Outcome {
        let take = |mailbox: &mut Mailbox| mailbox.call_result.take();
        let ended = || Outcome::Failed(Failure::new("Osier does not answer"));
        self.wait_for(number, None, take).ok().flatten().unwrap_or_else(ended)
    }

    /// Waits until `take` finds something. `Ok(None)` if the time is up, `Err` at the end.
    fn wait_for<T>(
        &self,
        number: u32,
        until: Option<Instant>,
        take: impl Fn(&mut Mailbox) -> Option<T>,
    ) -> Result<Option<T>, ()> {
        let mut state = self.lock();
        loop {
            let Some(mailbox) = state.mailboxes.get_mut(&number) else { return Err(()) };
            let (found, changed) = (take(mailbox), mailbox.changed.clone());
            let is_late = until.is_some_and(|until| until <= Instant::now());
            if found.is_some() || is_late {
                state.wake_reader();
                return Ok(found);
            }
            if state.end.is_some() {
                return Err(());
            }
            if !state.is_reading {
                state = self.read(state, until);
                continue;
            }
            state.set_waiting(number, true);
            state = match until {
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let time = until.saturating_duration_since(Instant::now());
                    changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.set_waiting(number, false);
        }
    }

    /// Reads one frame and delivers it, or returns when the time is up.
    fn read<'a>(
        &'a self,
        mut state: MutexGuard<'a, BoardState>,
        until: Option<Instant>,
    ) -> MutexGuard<'a, BoardState> {
        state.is_reading = true;
        drop(state);
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let frame = until.is_none_or(|until| input.wait(until)).then(|| input.read());
        drop(input);
        let mut state = self.lock();
        state.is_reading = false;
        match frame {
            None => {}
            Some(Ok(Some(frame))) => self.deliver(&mut state, frame),
            Some(Ok(None)) => self.end(&mut state, Ok(())),
            Some(Err(error)) => self.end(&mut state, Err(error)),
        }
        state
    }

    fn end(&self, state: &mut BoardState, end: Result<(), FrameError>) {
        state.end = Some(end);
        self.main.notify_one();
        state.mailboxes.values().for_each(|mailbox| mailbox.changed.notify_one());
    }

    /// Gives a frame to the thread that it is for.
    fn deliver(&self, state: &mut BoardState, frame: Frame) {
        let Some(number) = extension_number(&frame) else { return };
        let mailbox = state.mailboxes.get_mut(&number).filter(|_| !concerns_process(&frame));
        let Some(mailbox) = mailbox else {
            state.for_main.push_back(frame);
            self.main.notify_one();
            return;
        };
        let signals = &mailbox.signals;
        match frame {
            Frame::Interrupt { .. } => signals.interrupt.store(true, Ordering::Relaxed),
            Frame::Response { id, outcome, .. } if signals.stop_waiting(id) => {
                mailbox.call_result = Some(outcome);
                mailbox.changed.notify_one();
            }
            // A thread that waits for Osier is not stuck.
            Frame::Request { extension, id, method, .. }
                if method == "ping" && signals.waiting_for.load(Ordering::SeqCst) != 0 =>
            {
                self.output.send(&Frame::Response { extension, id, outcome: Outcome::Done(null()) });
            }
            frame => {
                mailbox.frames.push_back(frame);
                mailbox.changed.notify_one();
            }
        }
    }
}

impl BoardState {
    fn set_waiting(&mut self, number: u32, is_waiting: bool) {
        if let Some(mailbox) = self.mailboxes.get_mut(&number) {
            mailbox.is_waiting = is_waiting;
        }
    }

    /// If nobody reads, wakes a thread that can.
    fn wake_reader(&self) {
        if !self.is_reading
            && let Some(mailbox) = self.mailboxes.values().find(|mailbox| mailbox.is_waiting)
        {
            mailbox.changed.notify_one();
        }
    }
}

pub(super) fn extension_number(frame: &Frame) -> Option<u32> {
    match frame {
        Frame::Hello { .. } => None,
        Frame::Request { extension, .. }
        | Frame::Notice { extension, .. }
        | Frame::Response { extension, .. }
        | Frame::Cancel { extension, .. }
        | Frame::Interrupt { extension } => Some(*extension),
    }
}

/// Whether the main thread answers a request, whatever extension it names.
fn concerns_process(frame: &Frame) -> bool {
    matches!(frame, Frame::Request { method, .. } if super::PROCESS_METHODS.contains(&method.as_str()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn an_extension_is_added_once_and_gets_both_frames() {
        let (input, _osier) = UnixStream::pair().unwrap();
        let board = Switchboard::new(input, FrameWriter(Arc::new(Mutex::new(Vec::new()))));
        let cancel = |id: u64| Frame::Cancel { extension: 1, id };
        assert!(board.add(1, Arc::default(), cancel(7)));
        assert!(!board.add(1, Arc::default(), cancel(8)));
        for expected in [7, 8] {
            let next = board.next(1, Some(Instant::now()));
            assert!(matches!(next, NextFrame::Frame(Frame::Cancel { id, .. }) if id == expected));
        }
    }
}
