//! The writing half of a WebSocket: frames as text messages, and a close message that states why this side ends the connection.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use futures_util::Sink;

use crate::websocket::{CloseReason, OutgoingMessage};

/// See the module documentation.
pub(crate) struct SocketSink<S, M> {
    sink: S,
    write: fn(OutgoingMessage) -> M,
    /// Set by the reading half.
    closing: Arc<OnceLock<CloseReason>>,
    is_reason_sent: bool,
}

impl<S, M> SocketSink<S, M> {
    pub(crate) fn new(
        sink: S,
        write: fn(OutgoingMessage) -> M,
        closing: Arc<OnceLock<CloseReason>>,
    ) -> SocketSink<S, M> {
        SocketSink { sink, write, closing, is_reason_sent: false }
    }
}

fn io_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
    io::Error::other(error)
}

impl<S, M> Sink<String> for SocketSink<S, M>
where
    S: Sink<M> + Unpin,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.sink).poll_ready(cx).map_err(io_error)
    }

    fn start_send(mut self: Pin<&mut Self>, frame: String) -> io::Result<()> {
        let message = (self.write)(OutgoingMessage::Text(frame));
        Pin::new(&mut self.sink).start_send(message).map_err(io_error)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.sink).poll_flush(cx).map_err(io_error)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let reason = self.closing.get().filter(|_| !self.is_reason_sent).cloned();
        if let Some(reason) = reason {
            ready!(Pin::new(&mut self.sink).poll_ready(cx)).map_err(io_error)?;
            let message = (self.write)(OutgoingMessage::Close(reason));
            Pin::new(&mut self.sink).start_send(message).map_err(io_error)?;
            self.is_reason_sent = true;
        }
        Pin::new(&mut self.sink).poll_close(cx).map_err(io_error)
    }
}
