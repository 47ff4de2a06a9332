//! Standard input, read by a separate thread: unlike a task that waits for input, the thread does not delay the end of the
//! program.

use std::io::{Cursor, Read};

use futures_util::stream::poll_fn;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use tokio_util::io::StreamReader;

const CHUNK: usize = 64 << 10;

/// Starts to read standard input. At most a few chunks are read ahead.
pub(super) fn standard_input() -> impl AsyncRead + Send + Unpin {
    let (chunks, mut read) = mpsc::channel(2);
    std::thread::spawn(move || {
        let (mut input, mut chunk) = (std::io::stdin().lock(), vec![0; CHUNK]);
        loop {
            let piece = match input.read(&mut chunk) {
                Ok(0) => return,
                Ok(length) => Ok(Cursor::new(chunk[..length].to_vec())),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let is_last = piece.is_err();
            if chunks.blocking_send(piece).is_err() || is_last {
                return;
            }
        }
    });
    StreamReader::new(poll_fn(move |context| read.poll_recv(context)))
}
