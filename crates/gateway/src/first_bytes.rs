//! A connection that ends if its client does not say in time which version of HTTP it speaks. The server has its own time
//! limits only after that.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The first bytes of HTTP/2. Anything else is HTTP/1.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct FirstBytesGuard<S> {
    stream: S,
    /// The part of the preface that has arrived.
    matched: usize,
    /// `None` once the version is known.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> FirstBytesGuard<S> {
    pub(crate) fn new(stream: S, limit: Duration) -> FirstBytesGuard<S> {
        FirstBytesGuard { stream, matched: 0, deadline: Some(Box::pin(sleep(limit))) }
    }

    fn receive(&mut self, bytes: &[u8]) {
        let expected = &HTTP2_PREFACE[self.matched..];
        let count = bytes.len().min(expected.len());
        self.matched += count;
        let is_http1 = bytes[..count] != expected[..count];
        if is_http1 || self.matched == HTTP2_PREFACE.len() {
            self.deadline = None;
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FirstBytesGuard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Some(deadline) = &mut self.deadline else { return polled };
        if polled.is_pending() {
            return deadline.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()));
        }
        self.receive(&buffer.filled()[before..]);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FirstBytesGuard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// What the server reads if the client sends this and then waits.
    async fn read(sent: &[u8]) -> io::Result<()> {
        let (mut client, server) = tokio::io::duplex(100);
        let mut server = FirstBytesGuard::new(server, Duration::from_secs(10));
        client.write_all(sent).await.unwrap();
        server.read_exact(&mut vec![0; sent.len()]).await?;
        tokio::select! {
            read = server.read_u8() => read.map(drop),
            () = sleep(Duration::from_secs(3600)) => Ok(()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_name_its_version_is_disconnected() {
        for sent in [&b""[..], b"P", b"PRI * HTTP/2.0\r\n"] {
            assert_eq!(read(sent).await.unwrap_err().kind(), io::ErrorKind::TimedOut, "{sent:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_whose_version_is_known_has_other_limits() {
        for sent in [&b"G"[..], b"POST", b"PRI *X", HTTP2_PREFACE] {
            assert!(read(sent).await.is_ok(), "{sent:?}");
        }
    }
}
