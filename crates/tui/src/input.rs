//! Keys as they come from the terminal. A thread waits for bytes and hands them on at once; the loop makes keys of them. So a
//! key is never held back, whatever else happens at that moment, and nobody waits for the rest of one.

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
use parse::Parser;

/// Who waits for less has not waited yet.
const LONG: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(crate) struct Keyboard {
    listening: Option<Listening>,
    parser: Parser,
    ready: VecDeque<Input>,
    /// What is not to be taken yet.
    held: VecDeque<Input>,
    /// When the bytes came that are not a key yet.
    since: Instant,
}

#[derive(Debug)]
struct Listening {
    bytes: UnboundedReceiver<Vec<u8>>,
    /// Its closing ends the thread.
    open: PipeWriter,
    thread: JoinHandle<()>,
}

impl Keyboard {
    /// Nothing is read before [`Keyboard::listen`].
    pub(crate) fn new() -> Keyboard {
        Keyboard {
            listening: None,
            parser: Parser::default(),
            ready: VecDeque::new(),
            held: VecDeque::new(),
            since: Instant::now(),
        }
    }

    pub(crate) fn listen(&mut self) -> io::Result<()> {
        let (closed, open) = io::pipe()?;
        let (heard, bytes) = unbounded_channel();
        let thread = std::thread::Builder::new().name("keyboard".to_owned()).spawn(move || {
            // Whatever goes wrong means that there is no terminal any more, and the end of the channel says so.
            let _ = hear(&closed, &heard);
        })?;
        self.listening = Some(Listening { bytes, open, thread });
        Ok(())
    }

    /// Others may read from the terminal now. What was typed before stays.
    pub(crate) fn pause(&mut self) {
        if let Some(Listening { mut bytes, open, thread }) = self.listening.take() {
            drop(open);
            // It reads nothing more once the pipe is closed, so this is over at once.
            let _ = thread.join();
            while let Ok(bytes) = bytes.try_recv() {
                self.ready.extend(self.parser.take(&bytes));
            }
        }
    }

    /// The next key; none if the terminal is gone. May be dropped while it waits.
    pub(crate) async fn next(&mut self) -> Option<Input> {
        loop {
            if let Some(input) = self.ready.pop_front() {
                return Some(input);
            }
            let (until, waits) = (self.parser.patience(), self.parser.patience().is_some());
            let until = self.since + until.unwrap_or_default();
            tokio::select! {
                // What has come is read before it is too late for it.
                biased;
                bytes = self.listening.as_mut()?.bytes.recv() => {
                    self.since = Instant::now();
                    self.ready.extend(self.parser.take(&bytes?));
                }
                () = tokio::time::sleep_until(until), if waits => self.ready.extend(self.parser.give_up()),
            }
        }
    }
}

impl Keyboard {
    /// Whether something was typed that nobody has taken yet.
    pub(crate) fn has_input(&mut self) -> bool {
        while let Some(bytes) = self.listening.as_mut().and_then(|listening| listening.bytes.try_recv().ok())
        {
            self.since = Instant::now();
            self.ready.extend(self.parser.take(&bytes));
        }
        !self.ready.is_empty()
    }

    /// Keeps something for later.
    pub(crate) fn hold(&mut self, input: Input) {
        self.held.push_back(input);
    }

    /// What was held is taken next.
    pub(crate) fn release(&mut self) {
        self.held.append(&mut self.ready);
        std::mem::swap(&mut self.held, &mut self.ready);
    }

    pub(crate) fn forget(&mut self) {
        self.held.clear();
    }

    /// Holds what is typed until a key says that the user has waited long enough; at first such a key means something else.
    /// False if the terminal is gone.
    pub(crate) async fn stopped(&mut self) -> bool {
        let from = Instant::now() + LONG;
        loop {
            let is_late = Instant::now() >= from;
            let stop = self.held.iter().position(Input::stops).filter(|_| is_late);
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

/// Hands on what is typed until the pipe is closed.
fn hear(closed: &PipeReader, heard: &UnboundedSender<Vec<u8>>) -> io::Result<()> {
    let stdin = io::stdin();
    let mut buffer = [0; 4096];
    loop {
        let mut ready = [PollFd::new(closed, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut ready, None) {
            Err(Errno::INTR) => continue,
            told => told?,
        };
        if !ready[0].revents().is_empty() {
            return Ok(());
        }
        match read(&stdin, &mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) if heard.send(buffer[..count].to_vec()).is_err() => return Ok(()),
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Code, Key};

    fn typed(bytes: &[u8]) -> (Keyboard, UnboundedSender<Vec<u8>>) {
        let (heard, received) = unbounded_channel();
        heard.send(bytes.to_vec()).unwrap();
        let (_, open) = io::pipe().unwrap();
        let listening = Listening { bytes: received, open, thread: std::thread::spawn(|| ()) };
        let mut keyboard = Keyboard::new();
        keyboard.listening = Some(listening);
        (keyboard, heard)
    }

    async fn next(keyboard: &mut Keyboard) -> Key {
        match keyboard.next().await {
            Some(Input::Key(key)) => key,
            other => panic!("{other:?} is no key"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_has_waited_long_enough_stops_with_a_key_and_the_others_stay() {
        let (mut keyboard, heard) = typed(b"a\x1b[27ub");
        assert!(keyboard.stopped().await);
        keyboard.release();
        for key in ['a', 'b'] {
            assert_eq!(next(&mut keyboard).await, Code::Char(key).into());
        }
        drop(heard);
        assert!(!keyboard.stopped().await, "the terminal is gone");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_over_at_once_takes_no_key_away() {
        let (mut keyboard, _heard) = typed(b"\x03x");
        tokio::select! {
            biased;
            _ = keyboard.stopped() => panic!("nobody has waited"),
            () = std::future::ready(()) => {}
        }
        keyboard.release();
        assert_eq!(next(&mut keyboard).await, Key::ctrl('c'));
        assert_eq!(next(&mut keyboard).await, Code::Char('x').into());
    }
}
