//! An output that tells how much of it the client has taken.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use tokio::sync::watch;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct ProgressWriter<W> {
    output: W,
    written: watch::Sender<usize>,
}

impl<W> ProgressWriter<W> {
    /// The output, and the number of bytes that were written.
    pub(crate) fn new(output: W) -> (ProgressWriter<W>, watch::Receiver<usize>) {
        let (written, progress) = watch::channel(0);
        (ProgressWriter { output, written }, progress)
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for ProgressWriter<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.output).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = polled {
            self.written.send_modify(|written| *written += count);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_shutdown(context)
    }
}
