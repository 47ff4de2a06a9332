//! Keys as they come from the terminal. A thread waits for bytes and hands them on at once; the loop makes keys of them. So a
//! key is never held back, whatever else happens at that moment, and nobody waits for the rest of one.

mod parse;

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use crate::key::Input;
use parse::Parser;

/// See the module.
#[derive(Debug)]
pub(crate) struct Keyboard {
    listening: Option<Listening>,
    parser: Parser,
    ready: VecDeque<Input>,
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
        Keyboard { listening: None, parser: Parser::default(), ready: VecDeque::new(), since: Instant::now() }
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
                bytes = self.listening.as_mut()?.bytes.recv() => {
                    self.since = Instant::now();
                    self.ready.extend(self.parser.take(&bytes?));
                }
                () = tokio::time::sleep_until(until), if waits => self.ready.extend(self.parser.give_up()),
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
