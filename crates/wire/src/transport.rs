//! A transport: frames in both directions, whatever carries them.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use futures_util::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The largest frame that an engine accepts, in bytes. Images in prompts are the largest part of what clients send.
pub const MAX_CLIENT_FRAME: usize = 32 << 20;
/// The largest frame that a client accepts, in bytes. The tree of a large session is one frame.
pub const MAX_SERVER_FRAME: usize = 1 << 30;

/// What arrives from the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IncomingFrame {
    Text(String),
    /// Something that is not a text, or too large. The connection can go on.
    Invalid(String),
    /// The same, and nothing after it can be read.
    Unreadable(String),
}

/// Frames from the other side. It ends when the connection is closed or broken.
pub(crate) type FrameReader = Pin<Box<dyn Stream<Item = IncomingFrame> + Send>>;
/// Frames to the other side.
pub type FrameWriter = Pin<Box<dyn Sink<String, Error = io::Error> + Send>>;

/// The two directions of a connection.
pub struct Transport {
    pub(crate) reader: FrameReader,
    pub(crate) writer: FrameWriter,
    pub(crate) received: ReceivedBytes,
}

impl Transport {
    /// A transport that reads from a stream and writes to a sink. The stream ends when the connection does.
    pub fn new(
        reader: impl Stream<Item = IncomingFrame> + Send + 'static,
        writer: impl Sink<String, Error = io::Error> + Send + 'static,
    ) -> Transport {
        let received = ReceivedBytes::default();
        Transport { reader: Box::pin(reader), writer: Box::pin(writer), received }
    }

    /// What arrives, without the direction to the other side.
    pub fn into_incoming(self) -> impl Stream<Item = IncomingFrame> + Send {
        self.reader
    }

    /// The bytes that arrive are counted here. Without it, only complete frames show that the other side is alive.
    #[must_use]
    pub fn with_received(self, received: ReceivedBytes) -> Transport {
        Transport { received, ..self }
    }
}

/// How many bytes have arrived. Clones share the number.
#[derive(Debug, Clone, Default)]
pub struct ReceivedBytes(Arc<AtomicU64>);

impl ReceivedBytes {
    pub fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A stream that counts the bytes that are read from it.
#[derive(Debug)]
pub struct CountedStream<S> {
    stream: S,
    received: ReceivedBytes,
}

impl<S> CountedStream<S> {
    pub fn new(stream: S, received: ReceivedBytes) -> CountedStream<S> {
        CountedStream { stream, received }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        self.received.add((buffer.filled().len() - before) as u64);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}
