//! Splits a stream of bytes into lines at LF. A CR before the LF is dropped. Other separators, such as U+2028, are data.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest line in bytes. It leaves room for several images.
pub const MAX_LINE: usize = 64 << 20;

const CHUNK: usize = 64 << 10;

/// A line of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum InputLine {
    Complete(Vec<u8>),
    /// The line exceeds the limit. None of it is kept.
    TooLong,
}

/// Splits bytes that arrive in pieces. It keeps at most one line in memory.
#[derive(Debug)]
pub struct LineSplitter {
    line: Vec<u8>,
    max_line: usize,
    too_long: bool,
}

impl LineSplitter {
    pub fn new(max_line: usize) -> LineSplitter {
        LineSplitter { line: Vec::new(), max_line, too_long: false }
    }

    /// Adds bytes, and calls `each` with every line that they complete.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(InputLine)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.extend(&bytes[..end]);
            each(self.take_line());
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes);
    }

    /// The last line, if no LF ends it.
    pub fn finish(&mut self) -> Option<InputLine> {
        (self.too_long || !self.line.is_empty()).then(|| self.take_line())
    }

    fn extend(&mut self, bytes: &[u8]) {
        // One more byte than the limit may be the CR before the LF.
        if self.too_long || self.line.len() + bytes.len() > self.max_line + 1 {
            self.too_long = true;
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn take_line(&mut self) -> InputLine {
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        match std::mem::take(&mut self.too_long) || line.len() > self.max_line {
            true => InputLine::TooLong,
            false => InputLine::Complete(line),
        }
    }
}

/// The lines of an input.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    input: R,
    splitter: LineSplitter,
    ready: std::collections::VecDeque<InputLine>,
    chunk: Vec<u8>,
    ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(input: R, max_line: usize) -> LineReader<R> {
        let splitter = LineSplitter::new(max_line);
        LineReader { input, splitter, ready: Default::default(), chunk: vec![0; CHUNK], ended: false }
    }

    /// The next line; `None` at the end of the input. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> io::Result<Option<InputLine>> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Ok(Some(line));
            }
            if self.ended {
                return Ok(None);
            }
            match self.input.read(&mut self.chunk).await? {
                0 => {
                    self.ended = true;
                    self.ready.extend(self.splitter.finish());
                }
                length => {
                    let ready = &mut self.ready;
                    self.splitter.push(&self.chunk[..length], |line| ready.push_back(line));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(pieces: &[&[u8]], max_line: usize) -> Vec<InputLine> {
        let (mut splitter, mut lines) = (LineSplitter::new(max_line), Vec::new());
        for piece in pieces {
            splitter.push(piece, |line| lines.push(line));
        }
        lines.extend(splitter.finish());
        lines
    }

    fn complete(text: &str) -> InputLine {
        InputLine::Complete(text.as_bytes().to_vec())
    }

    #[test]
    fn only_lf_ends_a_line_and_a_cr_before_it_is_dropped() {
        let input = "a\u{2028}b\u{2029}c\r\n\n\rd\re\nlast".as_bytes();
        let lines = split(&[input], 100);
        assert_eq!(
            lines,
            [complete("a\u{2028}b\u{2029}c"), complete(""), complete("\rd\re"), complete("last")]
        );
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_complete_with_and_without_cr() {
        assert_eq!(split(&[b"12345\r\n12345\n"], 5), [complete("12345"), complete("12345")]);
        assert_eq!(split(&[b"123456\nok\n"], 5), [InputLine::TooLong, complete("ok")]);
        assert_eq!(split(&[b"123456\r"], 5), [InputLine::TooLong]);
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
                    InputLine::Complete(line) => prop_assert_eq!(&line[..], bytes),
                    InputLine::TooLong => prop_assert!(bytes.len() > max_line),
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
