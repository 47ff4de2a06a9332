//! Writing frames to a process. A frame goes out at once, in the task that sends it, unless the process has not read the earlier
//! ones; then a task of its own writes the rest.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::UnixStream;
use tokio::net::unix::{OwnedWriteHalf, pipe};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The most bytes that wait for a process. It is more than a few frames of the largest size.
const MAX_WAITING: usize = 256 << 20;

/// Where frames are written to.
#[derive(Debug)]
pub(super) enum FrameOutput {
    Pipe(pipe::Sender),
    Socket(UnixStream),
    HalfSocket(OwnedWriteHalf),
}

impl FrameOutput {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            FrameOutput::Pipe(pipe) => pipe.try_write(bytes),
            FrameOutput::Socket(socket) => socket.try_write(bytes),
            FrameOutput::HalfSocket(socket) => socket.try_write(bytes),
        }
    }

    async fn writable(&self) -> io::Result<()> {
        match self {
            FrameOutput::Pipe(pipe) => pipe.writable().await,
            FrameOutput::Socket(socket) => socket.writable().await,
            FrameOutput::HalfSocket(socket) => socket.writable().await,
        }
    }
}

/// See the module documentation.
#[derive(Debug)]
pub(super) struct FrameQueue {
    output: FrameOutput,
    /// Bytes that could not be written yet.
    waiting: Mutex<VecDeque<u8>>,
    has_waiting: Notify,
}

impl FrameQueue {
    /// Starts the task that writes what waits, until `end` is canceled.
    pub(super) fn start(output: FrameOutput, end: CancellationToken) -> Arc<FrameQueue> {
        let queue = Arc::new(FrameQueue { output, waiting: Mutex::default(), has_waiting: Notify::new() });
        let writer = queue.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = writer.write_waiting() => {}
                () = end.cancelled() => {}
            }
        });
        queue
    }

    /// Sends a line. If the process has ended, nobody misses it. False if too much waits.
    pub(super) fn send(&self, line: &[u8]) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match waiting.is_empty() {
            true => self.output.try_write(line).unwrap_or(0),
            false => 0,
        };
        if written < line.len() {
            if waiting.len() + line.len() > MAX_WAITING {
                return false;
            }
            waiting.extend(&line[written..]);
            self.has_waiting.notify_one();
        }
        true
    }

    async fn write_waiting(&self) {
        loop {
            self.has_waiting.notified().await;
            while self.write_some() {
                if self.output.writable().await.is_err() {
                    return;
                }
            }
        }
    }

    /// Writes what the process takes. Returns whether something is left.
    fn write_some(&self) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while !waiting.is_empty() {
            match self.output.try_write(waiting.as_slices().0) {
                Ok(count) => drop(waiting.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                // The process has ended.
                Err(_) => waiting.clear(),
            }
        }
        waiting.shrink_to(64 << 10);
        false
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn lines_arrive_in_order_although_nobody_reads_at_first() {
        let (own, mut other) = UnixStream::pair().unwrap();
        let end = CancellationToken::new();
        let queue = FrameQueue::start(FrameOutput::Socket(own), end.clone());
        let long = vec![b'x'; 1 << 20];
        let mut expected = Vec::new();
        for number in 0..10 {
            let line = [format!("{number} ").as_bytes(), &long, b"\n"].concat();
            assert!(queue.send(&line));
            expected.extend(line);
        }
        let mut read = vec![0; expected.len()];
        other.read_exact(&mut read).await.unwrap();
        assert!(read == expected);
        drop(other);
        assert!(queue.send(b"nobody reads this\n"));
        end.cancel();
    }

    #[tokio::test]
    async fn a_process_that_reads_nothing_gets_no_more_than_the_limit() {
        let (own, _other) = UnixStream::pair().unwrap();
        let queue = FrameQueue::start(FrameOutput::Socket(own), CancellationToken::new());
        let long = vec![b'x'; 64 << 20];
        let sent = (0..8).take_while(|_| queue.send(&long)).count();
        assert!((3..=4).contains(&sent), "{sent}");
    }
}
