//! A connection that ends when its client stops reading. Without it, a client could keep responses in memory forever.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How many bytes a connection has written. Clones share the number.
#[derive(Debug, Clone, Default)]
pub(crate) struct WrittenBytes(Arc<AtomicUsize>);

impl WrittenBytes {
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct StallGuard<S> {
    stream: S,
    limit: Duration,
    /// Runs while a write waits for the client.
    stalled: Option<Pin<Box<Sleep>>>,
    written: WrittenBytes,
}

impl<S> StallGuard<S> {
    pub(crate) fn new(stream: S, limit: Duration) -> StallGuard<S> {
        StallGuard { stream, limit, stalled: None, written: WrittenBytes::default() }
    }

    pub(crate) fn written(&self) -> WrittenBytes {
        self.written.clone()
    }

    fn count(&mut self, polled: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = polled {
            self.written.0.fetch_add(*bytes, Ordering::Relaxed);
        }
    }

    fn check<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        let timer = self.stalled.get_or_insert_with(|| Box::pin(sleep(self.limit)));
        match timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallGuard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallGuard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.count(&polled);
        self.check(polled, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.check(polled, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.check(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.count(&polled);
        self.check(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_stops_reading_is_disconnected() {
        let (client, server) = tokio::io::duplex(8);
        let mut server = StallGuard::new(server, Duration::from_secs(30));
        let error = server.write_all(&[0; 9]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_client_is_not_disconnected() {
        let (mut client, server) = tokio::io::duplex(8);
        let mut server = StallGuard::new(server, Duration::from_secs(30));
        let reading = tokio::spawn(async move {
            for _ in 0..8 {
                sleep(Duration::from_secs(29)).await;
                client.read_exact(&mut [0; 8]).await.unwrap();
            }
        });
        server.write_all(&[0; 64]).await.unwrap();
        reading.await.unwrap();
    }
}
