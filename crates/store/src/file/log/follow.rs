//! Follows a file that other programs append to, and detects when it was replaced or edited.

use std::io;
use std::os::unix::fs::FileExt;

use osier_tree::entry::{Read, read};

use super::{Log, Reached, State, TAIL};
use crate::error::StoreError;
use crate::file::reader::LineReader;
use crate::file::stamp::Stamp;

/// How far to read.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Upto {
    /// Include a last line without a newline, if it is a complete entry.
    End,
    /// Stop after the last newline, because a writer may be in the middle of the last line.
    LastLineFeed,
}

impl Log {
    /// Reads the lines after the read part.
    pub(super) fn read_on(&mut self, upto: Upto) -> Result<(), StoreError> {
        self.folded()?;
        let State::Folded(heads) = &mut self.state else { unreachable!("the heads were just loaded") };
        let reached = &mut self.reached;
        let (begun_at, was_torn) = (reached.covered, std::mem::take(&mut reached.torn));
        let mut reader = LineReader::new(&self.file, reached.covered);
        while let Some(line) = reader.next().map_err(StoreError::io("read", &self.path))? {
            let found = read(line.bytes);
            if !line.ended
                && (upto == Upto::LastLineFeed || !matches!(found, Read::Entry(_) | Read::Header(_)))
            {
                reached.torn = upto == Upto::End || was_torn && line.offset == begun_at;
                break;
            }
            match found {
                Read::Entry(entry) => {
                    let seq = heads.append(&entry, line.offset, line.bytes.len() as u32);
                    if let Some(card) = &mut self.card {
                        card.feed(&entry, seq, heads);
                    }
                }
                Read::Odd(_) => reached.odd += 1,
                Read::Header(_) | Read::Blank => {}
            }
            reached.unended = !line.ended;
            reached.covered = line.offset + line.bytes.len() as u64 + u64::from(line.ended);
        }
        heads.settle();
        if begun_at > 0 {
            self.doubt_card();
        }
        self.remember_tail()
    }

    pub(super) fn remember_tail(&mut self) -> Result<(), StoreError> {
        let reached = &mut self.reached;
        reached.tail.resize(reached.covered.min(TAIL) as usize, 0);
        let from = reached.covered - reached.tail.len() as u64;
        self.file.read_exact_at(&mut reached.tail, from).map_err(StoreError::io("read", &self.path))
    }

    /// Whether the file continues the read part, and was not rewritten in place.
    fn goes_on(&self) -> Result<bool, StoreError> {
        let Reached { covered, unended, tail, .. } = &self.reached;
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
        if Stamp::of(&named) != self.stamp {
            return Err(StoreError::Replaced);
        }
        if named.len() < self.reached.covered && self.migrated.is_none() {
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
        self.catch_up(Upto::LastLineFeed).map(drop)
    }

    /// Reads what other programs appended. Returns the size of the file.
    pub(super) fn catch_up(&mut self, upto: Upto) -> Result<u64, StoreError> {
        let size = self.check_identity()?;
        let has_header = self.found.is_in(&self.file).map_err(StoreError::io("read", &self.path))?;
        if !has_header && self.migrated.is_none() {
            // The file was edited in place, and another header means another log.
            self.begin_again(true)?;
            return self.size();
        }
        if size == self.reached.covered {
            return Ok(size);
        }
        if self.migrated.is_some() {
            // A file of an old version is always read completely. If pi migrated it in the meantime, its header has
            // changed.
            self.begin_again(false)?;
        } else if self.goes_on()? {
            self.read_on(upto)?;
        } else {
            self.begin_again(true)?;
        }
        Ok(size)
    }
}
