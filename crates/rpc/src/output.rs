//! The output: complete lines, written in order by one task. What waits for the reader is bounded by its size in bytes, so
//! a client that stops reading holds back the senders and costs little memory.

use std::sync::Arc;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// How many bytes may wait for the reader. A longer line waits alone.
const MAX_WAITING: u32 = 1 << 20;

/// The sender of lines. Clones share the output.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    lines: mpsc::UnboundedSender<WriterCommand>,
    budget: Arc<Semaphore>,
    closed: CancellationToken,
}

#[derive(Debug)]
enum WriterCommand {
    /// The permit returns its bytes to the budget when the line is written.
    Line(String, OwnedSemaphorePermit),
    Flush(oneshot::Sender<()>),
}

impl Output {
    /// Starts the task that writes.
    pub(crate) fn start(output: impl AsyncWrite + Send + Unpin + 'static) -> Output {
        let (lines, commands) = mpsc::unbounded_channel();
        let closed = CancellationToken::new();
        let writer = write_lines(commands, output);
        let stopped = closed.clone();
        tokio::spawn(async move {
            if let Err(error) = writer.await {
                tracing::debug!(%error, "the client closed the output");
            }
            stopped.cancel();
        });
        Output { lines, budget: Arc::new(Semaphore::new(MAX_WAITING as usize)), closed }
    }

    /// Sends a line of JSON. Waits while too much is unread. After the output is closed, lines are dropped.
    pub(crate) async fn send(&self, line: String) {
        let size = u32::try_from(line.len()).unwrap_or(MAX_WAITING).min(MAX_WAITING);
        let permit = self.budget.clone().acquire_many_owned(size);
        tokio::select! {
            Ok(permit) = permit => drop(self.lines.send(WriterCommand::Line(line, permit))),
            () = self.closed.cancelled() => {}
        }
    }

    /// Waits until the reader has closed the output.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Waits until everything is written, or the output is closed.
    pub(crate) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        let _ = self.lines.send(WriterCommand::Flush(done));
        let _ = written.await;
    }
}

async fn write_lines(
    mut commands: mpsc::UnboundedReceiver<WriterCommand>,
    mut output: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    while let Some(command) = commands.recv().await {
        match command {
            WriterCommand::Line(mut line, _permit) => {
                line.push('\n');
                output.write_all(line.as_bytes()).await?;
                if commands.is_empty() {
                    output.flush().await?;
                }
            }
            WriterCommand::Flush(done) => {
                output.flush().await?;
                let _ = done.send(());
            }
        }
    }
    output.flush().await
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn a_reader_that_never_reads_holds_back_the_sender() {
        let (_reader, writer) = tokio::io::duplex(16);
        let output = Output::start(writer);
        let line = "x".repeat(MAX_WAITING as usize / 4);
        for _ in 0..4 {
            output.send(line.clone()).await;
        }
        assert!(output.send("one more".to_owned()).now_or_never().is_none());
        assert_eq!(output.budget.available_permits(), 0);
    }

    #[tokio::test]
    async fn a_line_longer_than_the_budget_is_written() {
        let (mut reader, writer) = tokio::io::duplex(1 << 10);
        let output = Output::start(writer);
        let line = "x".repeat(3 * MAX_WAITING as usize);
        let sent = line.clone();
        tokio::spawn(async move {
            output.send(sent).await;
            output.send("end".to_owned()).await;
        });
        let mut read = String::new();
        reader.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, format!("{line}\nend\n"));
    }

    #[tokio::test]
    async fn nobody_waits_for_a_reader_that_has_closed_the_output() {
        let (reader, writer) = tokio::io::duplex(16);
        let output = Output::start(writer);
        drop(reader);
        for _ in 0..10 {
            output.send("x".repeat(MAX_WAITING as usize)).await;
        }
        output.closed().await;
        output.flush().await;
    }
}
