//! Reads the lines of a file in large chunks. The first chunk is small, because many callers need only the first
//! line. Holds at most one chunk or the longest line in memory.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const FIRST_CHUNK_BYTES: usize = 4 << 10;
const CHUNK_BYTES: usize = 256 << 10;

thread_local! {
    /// The buffer of the last reader of this thread. A list of sessions reads thousands of files, and the pages of a new buffer
    /// cost more than the lines of a small file.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// One line of a file, without its newline.
#[derive(Debug)]
pub(super) struct FileLine<'a> {
    pub(super) offset: u64,
    pub(super) bytes: &'a [u8],
    /// Whether a newline follows. Only the last line of a file can lack it.
    pub(super) has_newline: bool,
}

/// A buffered reader of lines.
#[derive(Debug)]
pub(super) struct LineReader<'f> {
    file: &'f File,
    buffer: Vec<u8>,
    /// The part of the buffer that was read and not yet returned.
    start: usize,
    end: usize,
    /// How much of the buffer is used.
    limit: usize,
    /// The file offset of `buffer[start]`.
    offset: u64,
    at_end: bool,
}

impl<'f> LineReader<'f> {
    pub(super) fn new(file: &'f File, from: u64) -> LineReader<'f> {
        let buffer = BUFFER.take();
        LineReader { file, buffer, start: 0, end: 0, limit: FIRST_CHUNK_BYTES, offset: from, at_end: false }
    }

    pub(super) fn next_line(&mut self) -> io::Result<Option<FileLine<'_>>> {
        let mut searched = 0;
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[self.start + searched..self.end]) {
                return Ok(Some(self.take_line(searched + found, true)));
            }
            searched = self.end - self.start;
            if self.at_end {
                return Ok((searched > 0).then(|| self.take_line(searched, false)));
            }
            self.fill_buffer()?;
        }
    }

    fn take_line(&mut self, len: usize, ended: bool) -> FileLine<'_> {
        let (start, offset) = (self.start, self.offset);
        let used = len + usize::from(ended);
        self.start += used;
        self.offset += used as u64;
        FileLine { offset, bytes: &self.buffer[start..start + len], has_newline: ended }
    }

    /// Moves the rest to the front, of a larger buffer if this one is full.
    fn make_room(&mut self) {
        let left = self.start..self.end;
        let is_full = left.len() == self.limit;
        if is_full || self.end == self.limit && self.limit < CHUNK_BYTES {
            self.limit = CHUNK_BYTES.max(if is_full { 2 * left.len() } else { 0 });
        }
        if self.limit > self.buffer.len() {
            // A new buffer is zeroed by the operating system; growing this one would write the zeros.
            let mut larger = vec![0; self.limit.max(CHUNK_BYTES)];
            larger[..left.len()].copy_from_slice(&self.buffer[left.clone()]);
            self.buffer = larger;
        } else {
            self.buffer.copy_within(left.clone(), 0);
        }
        (self.start, self.end) = (0, left.len());
    }

    fn fill_buffer(&mut self) -> io::Result<()> {
        self.make_room();
        let at = self.offset + self.end as u64;
        match self.file.read_at(&mut self.buffer[self.end..self.limit], at) {
            Ok(0) => self.at_end = true,
            Ok(read) => self.end += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Drop for LineReader<'_> {
    fn drop(&mut self) {
        // A buffer for a very long line must not stay.
        if self.buffer.len() <= CHUNK_BYTES {
            BUFFER.set(std::mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_of_any_length_are_returned_with_their_offsets() {
        let mut file = tempfile::tempfile().unwrap();
        let long = "x".repeat(3 * CHUNK_BYTES + 5);
        write!(file, "a\n\n{long}\nlast").unwrap();
        let mut reader = LineReader::new(&file, 0);
        let mut seen = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            seen.push((line.offset, line.bytes.len(), line.has_newline));
        }
        let end = 3 + long.len() as u64;
        assert_eq!(seen, [(0, 1, true), (2, 0, true), (3, long.len(), true), (end + 1, 4, false)]);
    }

    /// What an earlier reader left in the buffer is never returned.
    #[test]
    fn readers_one_after_the_other_read_their_own_files() {
        for round in 0..50 {
            let mut file = tempfile::tempfile().unwrap();
            let lines: Vec<String> =
                (0..round).map(|number| format!("{number}").repeat(round * number)).collect();
            lines.iter().for_each(|line| writeln!(file, "{line}").unwrap());
            let mut reader = LineReader::new(&file, 0);
            // Readers also end in the middle, and several exist at once.
            let mut other = LineReader::new(&file, 0);
            other.next_line().unwrap();
            for line in &lines {
                let read = reader.next_line().unwrap().map(|line| line.bytes.to_vec());
                assert_eq!(read.as_deref(), Some(line.as_bytes()), "round {round}");
            }
            assert!(reader.next_line().unwrap().is_none());
        }
    }
}
