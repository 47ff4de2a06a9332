//! The frames on their way to a client. Their total size is bounded: the sender of a frame waits while the client
//! does not read.

use std::io;
use std::sync::Arc;

use futures_util::SinkExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use crate::frame::ServerFrame;
use crate::transport::FrameWriter;

/// The bytes that may wait for a client. A larger frame waits until the queue is empty.
const MAX_QUEUED: usize = 1 << 20;

/// The queue of a connection. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Outbox {
    frames: UnboundedSender<QueuedFrame>,
    room: Arc<Semaphore>,
}

#[derive(Debug)]
struct QueuedFrame {
    text: String,
    /// The room that it takes.
    _room: OwnedSemaphorePermit,
}

/// The connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutboxClosed;

impl Outbox {
    /// Starts a task that writes the frames. It ends when the last clone is dropped, or when writing fails.
    pub(super) fn start(writer: FrameWriter) -> (Outbox, JoinHandle<io::Result<()>>) {
        let (frames, queued) = unbounded_channel();
        let room = Arc::new(Semaphore::new(MAX_QUEUED));
        (Outbox { frames, room }, tokio::spawn(write_frames(writer, queued)))
    }

    /// Waits for room and queues a frame.
    pub(super) async fn send(&self, frame: &ServerFrame) -> Result<(), OutboxClosed> {
        let text = frame.to_json();
        let size = u32::try_from(text.len().clamp(1, MAX_QUEUED)).unwrap_or(u32::MAX);
        let room = self.room.clone().acquire_many_owned(size).await.map_err(|_| OutboxClosed)?;
        self.frames.send(QueuedFrame { text, _room: room }).map_err(|_| OutboxClosed)
    }

    /// Waits until a frame could be queued.
    pub(super) async fn wait_for_room(&self) {
        drop(self.room.acquire().await);
    }
}

async fn write_frames(mut writer: FrameWriter, mut queued: UnboundedReceiver<QueuedFrame>) -> io::Result<()> {
    while let Some(frame) = queued.recv().await {
        writer.feed(frame.text).await?;
        while let Ok(frame) = queued.try_recv() {
            writer.feed(frame.text).await?;
        }
        writer.flush().await?;
    }
    writer.close().await
}
