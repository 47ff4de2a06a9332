//! Reading on in a file that others append to, and noticing when it is not the same any more.

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
    /// Also a last line without line feed, if it is whole.
    End,
    /// A writer may be in the middle of the last line.
    LastLineFeed,
}

impl Log {
    /// Reads what follows, from where reading ended.
    pub(super) fn read_on(&mut self, upto: Upto) -> Result<(), StoreError> {
        self.folded()?;
        let State::Folded(heads) = &mut self.state else { unreachable!("it was folded just now") };
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

    /// Whether the file goes on from where reading ended, and was not written anew under the same name.
    fn goes_on(&self) -> Result<bool, StoreError> {
        let Reached { covered, unended, tail, .. } = &self.reached;
        let mut found = vec![0; tail.len() + 1];
        let from = covered - tail.len() as u64;
        self.file.read_exact_at(&mut found, from).map_err(StoreError::io("read", &self.path))?;
        // Glued to a line without line feed, what follows makes another line of it.
        Ok(found.starts_with(tail) && (!unended || found.ends_with(b"\n")))
    }

    /// Checks that the path still names this file, and that the file did not become shorter.
    fn check_identity(&self) -> Result<u64, StoreError> {
        let named = std::fs::metadata(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::Vanished { path: self.path.clone() },
            _ => StoreError::io("look at", &self.path)(error),
        })?;
        if Stamp::of(&named) != self.stamp {
            return Err(StoreError::Replaced);
        }
        if named.len() < self.reached.covered && self.migrated.is_none() {
            return Err(StoreError::Shrunk { path: self.path.clone() });
        }
        Ok(named.len())
    }

    /// Whether another file has the name now.
    pub(in crate::file) fn is_replaced(&self) -> bool {
        matches!(self.check_identity(), Err(StoreError::Replaced))
    }

    /// Takes in what others appended, up to the last whole line.
    pub(in crate::file) fn refresh(&mut self) -> Result<(), StoreError> {
        self.catch_up(Upto::LastLineFeed).map(drop)
    }

    /// Takes in what others appended, and tells how long the file is.
    pub(super) fn catch_up(&mut self, upto: Upto) -> Result<u64, StoreError> {
        let size = self.check_identity()?;
        let has_header = self.found.is_in(&self.file).map_err(StoreError::io("read", &self.path))?;
        if !has_header && self.migrated.is_none() {
            // The file was edited in place. Another header makes it another log.
            self.begin_again(true)?;
            return self.size();
        }
        if size == self.reached.covered {
            return Ok(size);
        }
        if self.migrated.is_some() {
            // An old file is read whole. If pi brought it to another version meanwhile, its header tells.
            self.begin_again(false)?;
        } else if self.goes_on()? {
            self.read_on(upto)?;
        } else {
            self.begin_again(true)?;
        }
        Ok(size)
    }
}
