//! Standard output, written by a separate thread: a slow reader blocks nothing else, and a reader that closed the pipe is
//! detected. Every piece is written and flushed at once, without buffering.

use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Writes to standard output from a separate thread.
#[derive(Debug)]
pub(crate) struct StdoutWriter {
    commands: Sender<WriterCommand>,
    closed: CancellationToken,
    /// The write error, if writing failed.
    error: Arc<OnceLock<io::Error>>,
}

#[derive(Debug)]
enum WriterCommand {
    Bytes(Vec<u8>),
    /// Signals that everything before it is written.
    Flush(oneshot::Sender<()>),
}

impl StdoutWriter {
    pub(crate) fn stdout() -> StdoutWriter {
        StdoutWriter::new(io::stdout())
    }

    fn new(mut out: impl Write + Send + 'static) -> StdoutWriter {
        let (pieces, given) = mpsc::channel();
        let gone = CancellationToken::new();
        let failed = Arc::new(OnceLock::new());
        let (closed_by_thread, reason) = (gone.clone(), failed.clone());
        std::thread::spawn(move || {
            if let Err(error) = write_commands(&given, &mut out) {
                // Set the error before the queue and its pending flushes are dropped: `flush` reads it then.
                let _ = reason.set(error);
                closed_by_thread.cancel();
            }
        });
        StdoutWriter { commands: pieces, closed: gone, error: failed }
    }

    pub(crate) fn write(&self, piece: impl Into<Vec<u8>>) {
        // An error means that the writer stopped, which `closed` reports.
        let _ = self.commands.send(WriterCommand::Bytes(piece.into()));
    }

    /// Waits until writing has failed, for example because the reader closed the pipe.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Waits until everything so far is written.
    pub(crate) async fn flush(&self) -> io::Result<()> {
        let (mark, reached) = oneshot::channel();
        let _ = self.commands.send(WriterCommand::Flush(mark));
        reached.await.map_err(|_| match self.error.get() {
            Some(error) => {
                error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
            }
            None => io::ErrorKind::BrokenPipe.into(),
        })
    }
}

fn write_commands(pieces: &Receiver<WriterCommand>, out: &mut impl Write) -> io::Result<()> {
    for piece in pieces {
        match piece {
            WriterCommand::Bytes(bytes) => {
                out.write_all(&bytes)?;
                out.flush()?;
            }
            WriterCommand::Flush(mark) => drop(mark.send(())),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepts one write and fails afterwards.
    struct OneOnly(Option<oneshot::Sender<Vec<u8>>>);

    impl Write for OneOnly {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let first = self.0.take().ok_or(io::ErrorKind::BrokenPipe)?;
            let _ = first.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn each_piece_is_written_at_once_and_a_closed_reader_is_detected() {
        let (first, seen) = oneshot::channel();
        let stdout = StdoutWriter::new(OneOnly(Some(first)));
        stdout.write("one");
        assert_eq!(seen.await.unwrap(), b"one");
        stdout.flush().await.unwrap();
        stdout.write("two");
        stdout.closed().await;
        assert!(stdout.flush().await.is_err());
    }
}
