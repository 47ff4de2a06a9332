//! Lines over pipes. Only LF ends a line; a CR before it is dropped. Characters such as U+2028 are ordinary characters.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::{Sink, StreamExt, future, stream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use crate::transport::{CountedStream, FrameWriter, IncomingFrame, ReceivedBytes, Transport};

/// The size of the buffer for reading.
const READ_BUFFER: usize = 64 << 10;
/// The sink accepts no more frames while this many bytes wait to be written.
const WRITE_BUFFER: usize = 64 << 10;

impl Transport {
    /// Frames as lines of at most `max_frame` bytes. Empty lines are ignored.
    pub fn lines(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        max_frame: usize,
    ) -> Transport {
        let received = ReceivedBytes::default();
        let reader = LineReader::new(CountedStream::new(reader, received.clone()), max_frame);
        let lines = stream::unfold(reader, async |mut reader| Some((reader.next().await?, reader)));
        let is_empty = |frame: &IncomingFrame| matches!(frame, IncomingFrame::Text(text) if text.is_empty());
        let frames = lines.filter(move |frame| future::ready(!is_empty(frame)));
        Transport::new(frames, LineSink::new(writer)).with_received(received)
    }
}

/// Writes lines to a pipe.
pub fn line_writer(writer: impl AsyncWrite + Send + Unpin + 'static) -> FrameWriter {
    Box::pin(LineSink::new(writer))
}

/// Splits bytes that arrive in pieces. It keeps at most one line in memory, and nothing of a line that is too long.
#[derive(Debug)]
pub struct LineSplitter {
    line: Vec<u8>,
    max_line: usize,
    is_too_long: bool,
}

impl LineSplitter {
    pub fn new(max_line: usize) -> LineSplitter {
        LineSplitter { line: Vec::new(), max_line, is_too_long: false }
    }

    /// Adds bytes, and calls `each` with every line that they complete.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(IncomingFrame)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.extend(&bytes[..end]);
            each(self.end_line());
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes);
    }

    /// The last line, if no LF ends it.
    pub fn finish(&mut self) -> Option<IncomingFrame> {
        (self.is_too_long || !self.line.is_empty()).then(|| self.end_line())
    }

    fn extend(&mut self, bytes: &[u8]) {
        // One more byte than the limit may be the CR before the LF.
        if self.is_too_long || self.line.len() + bytes.len() > self.max_line + 1 {
            self.is_too_long = true;
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) -> IncomingFrame {
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if std::mem::take(&mut self.is_too_long) || line.len() > self.max_line {
            return IncomingFrame::Invalid(format!("it is longer than {} bytes", self.max_line));
        }
        match String::from_utf8(line) {
            Ok(text) => IncomingFrame::Text(text),
            Err(_) => IncomingFrame::Invalid("it is not valid UTF-8".to_owned()),
        }
    }
}

/// The lines of an input.
#[derive(Debug)]
pub struct LineReader<R> {
    input: R,
    splitter: LineSplitter,
    ready: VecDeque<IncomingFrame>,
    buffer: Vec<u8>,
    has_ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(input: R, max_line: usize) -> LineReader<R> {
        let (splitter, ready, buffer) = (LineSplitter::new(max_line), VecDeque::new(), vec![0; READ_BUFFER]);
        LineReader { input, splitter, ready, buffer, has_ended: false }
    }

    /// The next line; `None` at the end of the input, or when it cannot be read. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<IncomingFrame> {
        while self.ready.is_empty() && !self.has_ended {
            match self.input.read(&mut self.buffer).await {
                Ok(count) if count > 0 => {
                    let ready = &mut self.ready;
                    self.splitter.push(&self.buffer[..count], |line| ready.push_back(line));
                }
                ended => {
                    self.has_ended = true;
                    self.ready.extend(self.splitter.finish().filter(|_| ended.is_ok()));
                }
            }
        }
        self.ready.pop_front()
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
    use futures_util::SinkExt;
    use proptest::prelude::*;

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

    fn split(pieces: &[&[u8]], max_line: usize) -> Vec<IncomingFrame> {
        let (mut splitter, mut lines) = (LineSplitter::new(max_line), Vec::new());
        for piece in pieces {
            splitter.push(piece, |line| lines.push(line));
        }
        lines.extend(splitter.finish());
        lines
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_complete_with_and_without_cr() {
        assert_eq!(split(&[b"12345\r\n12345\n"], 5), texts(&["12345", "12345"]));
        let too_long = IncomingFrame::Invalid("it is longer than 5 bytes".to_owned());
        assert_eq!(split(&[b"123456\n"], 5), std::slice::from_ref(&too_long));
        assert_eq!(split(&[b"123456\r"], 5), [too_long]);
    }

    proptest! {
        /// How the input is cut into pieces changes nothing, and the lines are those between the LFs.
        #[test]
        fn pieces_do_not_matter(
            input in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200),
            cuts in prop::collection::vec(0usize..200, 0..10),
            max_line in 0usize..40,
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(input.len())).collect();
            cuts.sort_unstable();
            let bounds: Vec<usize> = [0].into_iter().chain(cuts).chain([input.len()]).collect();
            let pieces: Vec<&[u8]> = bounds.windows(2).map(|pair| &input[pair[0]..pair[1]]).collect();
            let lines = split(&pieces, max_line);
            prop_assert_eq!(&lines, &split(&[&input], max_line));

            let mut expected: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
            if expected.last().is_some_and(|last| last.is_empty()) {
                expected.pop();
            }
            prop_assert_eq!(lines.len(), expected.len());
            for (line, bytes) in lines.iter().zip(expected) {
                let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
                match line {
                    IncomingFrame::Text(line) => prop_assert_eq!(line.as_bytes(), bytes),
                    IncomingFrame::Invalid(_) | IncomingFrame::Unreadable(_) => {
                        prop_assert!(bytes.len() > max_line || std::str::from_utf8(bytes).is_err());
                    }
                }
            }
        }

        #[test]
        fn memory_is_bounded_by_the_limit(input in prop::collection::vec(any::<u8>(), 0..500), max_line in 0usize..50) {
            let mut splitter = LineSplitter::new(max_line);
            for byte in input {
                splitter.push(&[byte], drop);
                prop_assert!(splitter.line.len() <= max_line + 1);
            }
        }
    }
}
