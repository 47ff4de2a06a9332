//! Frames as lines, over pipes. Only LF ends a line; a CR before it is ignored, and so are empty lines. Characters such as
//! U+2028 are ordinary characters.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::{Sink, Stream, stream};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader};

use crate::transport::{IncomingFrame, Transport};

/// The size of the buffer for reading.
const READ_BUFFER: usize = 64 << 10;
/// The sink accepts no more frames while this many bytes wait to be written.
const WRITE_BUFFER: usize = 64 << 10;

impl Transport {
    /// Frames as lines of at most `max_frame` bytes.
    pub fn lines(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        max_frame: usize,
    ) -> Transport {
        let reader = BufReader::with_capacity(READ_BUFFER, reader);
        Transport::new(line_stream(reader, max_frame), LineSink::new(writer))
    }
}

/// The lines of a reader. A line that is too long is discarded up to its end.
fn line_stream(
    reader: impl AsyncBufRead + Send + Unpin + 'static,
    max_frame: usize,
) -> impl Stream<Item = IncomingFrame> + Send {
    stream::unfold(reader, move |mut reader| async move {
        loop {
            let line = read_line(&mut reader, max_frame).await?;
            if !matches!(&line, IncomingFrame::Text(text) if text.is_empty()) {
                return Some((line, reader));
            }
        }
    })
}

/// The next line; `None` at the end. The last line needs no LF.
async fn read_line(reader: &mut (impl AsyncBufRead + Unpin), max_frame: usize) -> Option<IncomingFrame> {
    let (mut line, mut is_too_long) = (Vec::new(), false);
    loop {
        let buffer = reader.fill_buf().await.ok()?;
        if buffer.is_empty() {
            return (!line.is_empty() || is_too_long).then(|| finish_line(line, is_too_long, max_frame));
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        is_too_long |= line.len() + part.len() > max_frame;
        match is_too_long {
            true => line = Vec::new(),
            false => line.extend_from_slice(part),
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Some(finish_line(line, is_too_long, max_frame));
        }
    }
}

fn finish_line(mut line: Vec<u8>, is_too_long: bool, max_frame: usize) -> IncomingFrame {
    if is_too_long {
        return IncomingFrame::Invalid(format!("it is longer than {max_frame} bytes"));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    match String::from_utf8(line) {
        Ok(text) => IncomingFrame::Text(text),
        Err(_) => IncomingFrame::Invalid("it is not valid UTF-8".to_owned()),
    }
}

/// Writes frames as lines.
struct LineSink<W> {
    writer: W,
    buffer: Vec<u8>,
    /// How much of the buffer is written.
    written: usize,
}

impl<W: AsyncWrite + Unpin> LineSink<W> {
    fn new(writer: W) -> LineSink<W> {
        LineSink { writer, buffer: Vec::new(), written: 0 }
    }

    fn poll_write_buffer(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.buffer.len() {
            let count = ready!(Pin::new(&mut self.writer).poll_write(cx, &self.buffer[self.written..]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
        }
        self.written = 0;
        self.buffer.clear();
        // A large frame must not keep its memory.
        self.buffer.shrink_to(WRITE_BUFFER);
        Poll::Ready(Ok(()))
    }
}

impl<W: AsyncWrite + Unpin> Sink<String> for LineSink<W> {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.buffer.len() < WRITE_BUFFER {
            true => Poll::Ready(Ok(())),
            false => self.poll_write_buffer(cx),
        }
    }

    fn start_send(mut self: Pin<&mut Self>, frame: String) -> io::Result<()> {
        self.buffer.extend_from_slice(frame.as_bytes());
        self.buffer.push(b'\n');
        Ok(())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_buffer(cx))?;
        Pin::new(&mut self.writer).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_buffer(cx))?;
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{SinkExt, StreamExt};

    use super::*;

    async fn read(bytes: &[u8], max_frame: usize) -> Vec<IncomingFrame> {
        Transport::lines(io::Cursor::new(bytes.to_vec()), tokio::io::sink(), max_frame).reader.collect().await
    }

    fn texts(texts: &[&str]) -> Vec<IncomingFrame> {
        texts.iter().map(|text| IncomingFrame::Text((*text).to_owned())).collect()
    }

    #[tokio::test]
    async fn only_lf_ends_a_line() {
        let lines = "a\u{2028}b\r\n\n\r\nc\rd\u{85}e\nlast";
        assert_eq!(read(lines.as_bytes(), 100).await, texts(&["a\u{2028}b", "c\rd\u{85}e", "last"]));
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_or_not_a_text_is_reported_and_the_next_one_is_read() {
        let huge = [vec![b'x'; 300_000], b"\nok\n\xff\nend\n".to_vec()].concat();
        let read = read(&huge, 200_000).await;
        assert!(
            matches!(&read[0], IncomingFrame::Invalid(reason) if reason.contains("200000")),
            "{:?}",
            read[0]
        );
        assert_eq!(read[1], IncomingFrame::Text("ok".to_owned()));
        assert!(matches!(&read[2], IncomingFrame::Invalid(reason) if reason.contains("UTF-8")));
        assert_eq!(read[3], IncomingFrame::Text("end".to_owned()));
    }

    #[tokio::test]
    async fn what_is_written_is_read() {
        let (near, far) = tokio::io::duplex(7);
        let frames: Vec<String> = (0..50).map(|number| format!("frame {number}")).collect();
        let (expected, (reader, writer)) = (frames.clone(), tokio::io::split(near));
        let mut sending = Transport::lines(reader, writer, 100).writer;
        let writing = tokio::spawn(async move {
            for frame in frames {
                sending.feed(frame).await.unwrap();
            }
            sending.close().await.unwrap();
        });
        let (reader, writer) = tokio::io::split(far);
        let received: Vec<IncomingFrame> = Transport::lines(reader, writer, 100).reader.collect().await;
        writing.await.unwrap();
        assert_eq!(received, texts(&expected.iter().map(String::as_str).collect::<Vec<_>>()));
    }
}
