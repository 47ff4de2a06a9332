//! A transport: frames in both directions, whatever carries them.

use std::fmt;
use std::io;
use std::pin::Pin;

use futures_util::{Sink, Stream};

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
}

/// Frames from the other side. It ends when the connection is closed or broken.
pub(crate) type FrameReader = Pin<Box<dyn Stream<Item = IncomingFrame> + Send>>;
/// Frames to the other side.
pub(crate) type FrameWriter = Pin<Box<dyn Sink<String, Error = io::Error> + Send>>;

/// The two directions of a connection.
pub struct Transport {
    pub(crate) reader: FrameReader,
    pub(crate) writer: FrameWriter,
}

impl Transport {
    /// A transport that reads from a stream and writes to a sink. The stream ends when the connection does.
    pub fn new(
        reader: impl Stream<Item = IncomingFrame> + Send + 'static,
        writer: impl Sink<String, Error = io::Error> + Send + 'static,
    ) -> Transport {
        Transport { reader: Box::pin(reader), writer: Box::pin(writer) }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}
