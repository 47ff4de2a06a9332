//! Keyboard input. A thread reads bytes from the terminal and passes them on at once; the loop parses them into keys. So reading
//! never blocks the loop, and an incomplete key sequence never blocks reading.

mod parse;

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use crate::key::Input;
use parse::InputParser;

/// Escape and Ctrl+C cancel a wait only after this time. Before that, they are ordinary input.
const CANCEL_DELAY: Duration = Duration::from_secs(1);

/// The input that a sequence of a terminal means.
pub(crate) fn parse_sequence(data: &str) -> Vec<Input> {
    let mut parser = InputParser::default();
    let mut inputs = parser.feed(data.as_bytes());
    inputs.extend(parser.flush());
    inputs
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Keyboard {
    reader: Option<InputReader>,
    parser: InputParser,
    ready: VecDeque<Input>,
    /// Input to deliver later.
    held: VecDeque<Input>,
    /// When the last bytes arrived.
    last_read: Instant,
}

#[derive(Debug)]
struct InputReader {
    bytes: UnboundedReceiver<Vec<u8>>,
    /// Closing it ends the thread.
    open: PipeWriter,
    thread: JoinHandle<()>,
}

impl Keyboard {
    /// Reads nothing before [`Keyboard::start`].
    pub(crate) fn new() -> Keyboard {
        Keyboard {
            reader: None,
            parser: InputParser::default(),
            ready: VecDeque::new(),
            held: VecDeque::new(),
            last_read: Instant::now(),
        }
    }

    pub(crate) fn start(&mut self) -> io::Result<()> {
        let (closed, open) = io::pipe()?;
        let (sender, bytes) = unbounded_channel();
        let thread = std::thread::Builder::new().name("keyboard".to_owned()).spawn(move || {
            // On any error the terminal is gone; the closed channel reports that.
            let _ = read_input(&closed, &sender);
        })?;
        self.reader = Some(InputReader { bytes, open, thread });
        Ok(())
    }

    /// Stops reading, so that another program can read from the terminal. Keeps the input read so far.
    pub(crate) fn pause(&mut self) {
        if let Some(InputReader { mut bytes, open, thread }) = self.reader.take() {
            drop(open);
            // The thread ends as soon as the pipe is closed.
            let _ = thread.join();
            while let Ok(bytes) = bytes.try_recv() {
                self.ready.extend(self.parser.feed(&bytes));
            }
        }
    }

    /// The next input; `None` if the terminal is gone. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Input> {
        loop {
            if let Some(input) = self.ready.pop_front() {
                return Some(input);
            }
            let (until, waits) = (self.parser.timeout(), self.parser.timeout().is_some());
            let until = self.last_read + until.unwrap_or_default();
            tokio::select! {
                // Read available bytes before the timeout applies.
                biased;
                bytes = self.reader.as_mut()?.bytes.recv() => {
                    self.last_read = Instant::now();
                    self.ready.extend(self.parser.feed(&bytes?));
                }
                () = tokio::time::sleep_until(until), if waits => self.ready.extend(self.parser.flush()),
            }
        }
    }
}

impl Keyboard {
    /// Whether input is available.
    pub(crate) fn has_input(&mut self) -> bool {
        while let Some(bytes) = self.reader.as_mut().and_then(|listening| listening.bytes.try_recv().ok()) {
            self.last_read = Instant::now();
            self.ready.extend(self.parser.feed(&bytes));
        }
        !self.ready.is_empty()
    }

    /// Holds input back.
    pub(crate) fn hold(&mut self, input: Input) {
        self.held.push_back(input);
    }

    /// Delivers the held input next.
    pub(crate) fn release(&mut self) {
        self.held.append(&mut self.ready);
        std::mem::swap(&mut self.held, &mut self.ready);
    }

    pub(crate) fn discard_held(&mut self) {
        self.held.clear();
    }

    /// Holds all input until the user presses a key that cancels the wait, which is possible only after a delay. Returns false
    /// if the terminal is gone.
    pub(crate) async fn wait_for_cancel(&mut self) -> bool {
        let from = Instant::now() + CANCEL_DELAY;
        loop {
            let is_late = Instant::now() >= from;
            let stop = self.held.iter().position(Input::is_cancel).filter(|_| is_late);
            if let Some(at) = stop {
                self.held.remove(at);
                return true;
            }
            tokio::select! {
                input = self.next() => match input {
                    Some(input) => self.hold(input),
                    None => return false,
                },
                () = tokio::time::sleep_until(from), if !is_late => {}
            }
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.pause();
    }
}

/// Sends the bytes from stdin until the pipe is closed.
fn read_input(closed: &PipeReader, sender: &UnboundedSender<Vec<u8>>) -> io::Result<()> {
    let stdin = io::stdin();
    let mut buffer = [0; 4096];
    loop {
        let mut ready = [PollFd::new(closed, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut ready, None) {
            Err(Errno::INTR) => continue,
            result => result?,
        };
        if !ready[0].revents().is_empty() {
            return Ok(());
        }
        match read(&stdin, &mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) if sender.send(buffer[..count].to_vec()).is_err() => return Ok(()),
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Key, KeyCode};

    fn typed(bytes: &[u8]) -> (Keyboard, UnboundedSender<Vec<u8>>) {
        let (sender, received) = unbounded_channel();
        sender.send(bytes.to_vec()).unwrap();
        let (_, open) = io::pipe().unwrap();
        let listening = InputReader { bytes: received, open, thread: std::thread::spawn(|| ()) };
        let mut keyboard = Keyboard::new();
        keyboard.reader = Some(listening);
        (keyboard, sender)
    }

    async fn next(keyboard: &mut Keyboard) -> Key {
        match keyboard.next().await {
            Some(Input::Key(key)) => key,
            other => panic!("{other:?} is not a key"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_delay_escape_cancels_a_wait_and_other_keys_are_kept() {
        let (mut keyboard, sender) = typed(b"a\x1b[27ub");
        assert!(keyboard.wait_for_cancel().await);
        keyboard.release();
        for key in ['a', 'b'] {
            assert_eq!(next(&mut keyboard).await, KeyCode::Char(key).into());
        }
        drop(sender);
        assert!(!keyboard.wait_for_cancel().await, "the terminal is gone");
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_wait_consumes_no_keys() {
        let (mut keyboard, _sender) = typed(b"\x03x");
        tokio::select! {
            biased;
            _ = keyboard.wait_for_cancel() => panic!("canceled before the delay"),
            () = std::future::ready(()) => {}
        }
        keyboard.release();
        assert_eq!(next(&mut keyboard).await, Key::ctrl('c'));
        assert_eq!(next(&mut keyboard).await, KeyCode::Char('x').into());
    }
}
