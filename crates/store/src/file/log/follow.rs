//! Follows a file that other programs append to, and detects when it was replaced or edited.

use std::io;
use std::os::unix::fs::FileExt;

use osier_tree::entry::{ParsedLine, parse_line};

use super::{HeadsSource, LogFile, ReadState, TAIL_BYTES};
use crate::error::StoreError;
use crate::file::file_identity::FileIdentity;
use crate::file::reader::LineReader;

/// How far to read.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ReadLimit {
    /// Include a last line without a newline, if it is a complete entry.
    End,
    /// Stop after the last newline, because a writer may be in the middle of the last line.
    LastNewline,
}

impl LogFile {
    /// Reads the lines after the read part.
    pub(super) fn read_appended(&mut self, upto: ReadLimit) -> Result<(), StoreError> {
        self.load_heads()?;
        let HeadsSource::InMemory(heads) = &mut self.heads_source else {
            unreachable!("the heads were just loaded")
        };
        let reached = &mut self.read_state;
        let (begun_at, was_torn) = (reached.end, std::mem::take(&mut reached.torn));
        let mut reader = LineReader::new(&self.file, reached.end);
        while let Some(line) = reader.next_line().map_err(StoreError::io("read", &self.path))? {
            let found = parse_line(line.bytes);
            if !line.has_newline
                && (upto == ReadLimit::LastNewline
                    || !matches!(found, ParsedLine::Entry(_) | ParsedLine::Header(_)))
            {
                reached.torn = upto == ReadLimit::End || was_torn && line.offset == begun_at;
                break;
            }
            match found {
                ParsedLine::Entry(entry) => {
                    let seq = heads.append(&entry, line.offset, line.bytes.len() as u32);
                    if let Some(card) = &mut self.card {
                        card.feed(&entry, seq, heads);
                    }
                    if let Some(writer) = &mut self.preview_writer
                        && writer.push(&entry).is_err()
                    {
                        self.preview_writer = None;
                    }
                }
                ParsedLine::Invalid(_) => reached.invalid_lines += 1,
                ParsedLine::Header(_) | ParsedLine::Blank => {}
            }
            reached.unterminated = !line.has_newline;
            reached.end = line.offset + line.bytes.len() as u64 + u64::from(line.has_newline);
        }
        drop(reader);
        heads.settle();
        if begun_at > 0 {
            self.drop_unreliable_card();
        }
        self.remember_tail()
    }

    pub(super) fn remember_tail(&mut self) -> Result<(), StoreError> {
        let reached = &mut self.read_state;
        reached.tail.resize(reached.end.min(TAIL_BYTES) as usize, 0);
        let from = reached.end - reached.tail.len() as u64;
        self.file.read_exact_at(&mut reached.tail, from).map_err(StoreError::io("read", &self.path))
    }

    /// Whether the file continues the read part, and was not rewritten in place.
    fn continues_read_part(&self) -> Result<bool, StoreError> {
        let ReadState { end: covered, unterminated: unended, tail, .. } = &self.read_state;
        let mut found = vec![0; tail.len() + 1];
        let from = covered - tail.len() as u64;
        self.file.read_exact_at(&mut found, from).map_err(StoreError::io("read", &self.path))?;
        // Text after a line without a newline changes that line.
        Ok(found.starts_with(tail) && (!unended || found.ends_with(b"\n")))
    }

    /// Checks that the path still names this file and that the file is not shorter. Returns its size.
    fn check_identity(&self) -> Result<u64, StoreError> {
        let named = std::fs::metadata(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::Vanished { path: self.path.clone() },
            _ => StoreError::io("read the metadata of", &self.path)(error),
        })?;
        if FileIdentity::from_metadata(&named) != self.identity {
            return Err(StoreError::Replaced);
        }
        if named.len() < self.read_state.end && self.migrated.is_none() {
            return Err(StoreError::Shrunk { path: self.path.clone() });
        }
        Ok(named.len())
    }

    /// Whether the path now names another file.
    pub(in crate::file) fn is_replaced(&self) -> bool {
        matches!(self.check_identity(), Err(StoreError::Replaced))
    }

    /// Reads what other programs appended, up to the last newline.
    pub(in crate::file) fn refresh(&mut self) -> Result<(), StoreError> {
        self.catch_up(ReadLimit::LastNewline).map(drop)
    }

    /// Reads what other programs appended. Returns the size of the file.
    pub(super) fn catch_up(&mut self, upto: ReadLimit) -> Result<u64, StoreError> {
        self.check_indexed_heads()?;
        let size = self.check_identity()?;
        let has_header =
            self.found_header.is_still_in(&self.file).map_err(StoreError::io("read", &self.path))?;
        if !has_header && self.migrated.is_none() {
            // The file was edited in place, and another header means another log.
            self.reload(true)?;
            return self.size();
        }
        if size == self.read_state.end {
            return Ok(size);
        }
        if self.migrated.is_some() {
            // A file of an old version is always read completely. If pi migrated it in the meantime, its header has
            // changed.
            self.reload(false)?;
        } else if self.continues_read_part()? {
            self.read_appended(upto)?;
        } else {
            self.reload(true)?;
        }
        Ok(size)
    }
}
