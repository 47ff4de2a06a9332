//! The frames on their way to the other side, written in their order by one task. Their total size is bounded: the sender of
//! a frame waits while the other side does not read.

use std::io;
use std::sync::Arc;

use futures_util::SinkExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::transport::FrameWriter;

/// The bytes that may wait. A larger frame waits until the queue is empty.
const MAX_QUEUED: usize = 1 << 20;

/// The queue of a connection. Clones share it.
#[derive(Debug, Clone)]
pub struct Outbox {
    queue: UnboundedSender<QueuedItem>,
    room: Arc<Semaphore>,
    closed: CancellationToken,
}

#[derive(Debug)]
enum QueuedItem {
    /// The permit is the room that the frame takes until it is written.
    Frame(String, OwnedSemaphorePermit),
    Flush(oneshot::Sender<()>),
}

/// The connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxClosed;

impl Outbox {
    /// Starts a task that writes the frames. It ends when the last clone is dropped, or when writing fails.
    pub fn start(writer: FrameWriter) -> (Outbox, JoinHandle<io::Result<()>>) {
        let (queue, queued) = unbounded_channel();
        let (room, closed) = (Arc::new(Semaphore::new(MAX_QUEUED)), CancellationToken::new());
        let guard = closed.clone().drop_guard();
        let writing = tokio::spawn(async move {
            let _guard = guard;
            write_frames(writer, queued).await
        });
        (Outbox { queue, room, closed }, writing)
    }

    /// Waits for room and queues a frame.
    pub async fn send(&self, frame: String) -> Result<(), OutboxClosed> {
        let size = u32::try_from(frame.len().clamp(1, MAX_QUEUED)).unwrap_or(u32::MAX);
        let room = tokio::select! {
            room = self.room.clone().acquire_many_owned(size) => room.map_err(|_| OutboxClosed)?,
            () = self.closed.cancelled() => return Err(OutboxClosed),
        };
        self.queue.send(QueuedItem::Frame(frame, room)).map_err(|_| OutboxClosed)
    }

    /// Whether a small frame could be queued now.
    pub fn has_room(&self) -> bool {
        self.room.available_permits() > 0
    }

    /// Waits until a small frame could be queued.
    pub async fn wait_for_room(&self) {
        drop(self.room.acquire().await);
    }

    /// Waits until the other side has closed the connection.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Waits until everything is written, or the connection is closed.
    pub async fn flush(&self) {
        let (done, written) = oneshot::channel();
        let _ = self.queue.send(QueuedItem::Flush(done));
        let _ = written.await;
    }
}

async fn write_frames(mut writer: FrameWriter, mut queued: UnboundedReceiver<QueuedItem>) -> io::Result<()> {
    while let Some(first) = queued.recv().await {
        let (mut next, mut rooms, mut flushed) = (Some(first), Vec::new(), Vec::new());
        while let Some(item) = next {
            match item {
                QueuedItem::Frame(frame, room) => {
                    writer.feed(frame).await?;
                    rooms.push(room);
                }
                QueuedItem::Flush(done) => flushed.push(done),
            }
            next = queued.try_recv().ok();
        }
        writer.flush().await?;
        // What the writer has buffered is not read yet, so it takes room until here.
        drop(rooms);
        for done in flushed {
            // Whoever asked may be gone.
            let _ = done.send(());
        }
    }
    writer.close().await
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::lines::line_writer;

    #[tokio::test]
    async fn a_reader_that_never_reads_holds_back_the_sender() {
        let (_reader, writer) = tokio::io::duplex(16);
        let (outbox, _writing) = Outbox::start(line_writer(writer));
        let frame = "x".repeat(MAX_QUEUED / 4);
        // The task that writes holds one frame.
        while outbox.has_room() {
            if outbox.send(frame.clone()).now_or_never().is_none() {
                tokio::task::yield_now().await;
            }
        }
        assert!(outbox.send("one more".to_owned()).now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_frame_longer_than_the_queue_is_written() {
        let (mut reader, writer) = tokio::io::duplex(1 << 10);
        let (outbox, _writing) = Outbox::start(line_writer(writer));
        let frame = "x".repeat(3 * MAX_QUEUED);
        let sent = frame.clone();
        tokio::spawn(async move {
            outbox.send(sent).await.unwrap();
            outbox.send("end".to_owned()).await.unwrap();
        });
        let mut read = String::new();
        reader.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, format!("{frame}\nend\n"));
    }

    #[tokio::test]
    async fn nobody_waits_for_a_reader_that_has_closed_the_connection() {
        let (reader, writer) = tokio::io::duplex(16);
        let (outbox, _writing) = Outbox::start(line_writer(writer));
        drop(reader);
        while outbox.send("x".repeat(MAX_QUEUED)).await.is_ok() {}
        outbox.closed().await;
        outbox.flush().await;
    }
}
