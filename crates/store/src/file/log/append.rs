//! Appends to a log.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek};
use std::os::unix::fs::FileExt;

use osier_tree::entry::{ParsedLine, parse_line};

use super::{HeadsSource, LogFile, ReadLimit, TAIL_BYTES};
use crate::error::StoreError;
use crate::file::file_identity::FileIdentity;
use crate::store::LogVersion;

/// Writes to a file. Tests use one that fails.
pub(in crate::file) type WriteFn = fn(&File, &[u8]) -> io::Result<usize>;

/// The result of an attempt to change a file.
#[derive(Debug)]
pub(in crate::file) enum LockAttempt<T> {
    Done(T),
    /// Another process holds the lock.
    Locked,
}

impl LogFile {
    /// Tries to append lines; see [`crate::Store::append`].
    pub(in crate::file) fn append(
        &mut self,
        expected: LogVersion,
        lines: &[Vec<u8>],
        write: WriteFn,
    ) -> Result<LockAttempt<LogVersion>, StoreError> {
        debug_assert!(
            self.migrated.is_none(),
            "a file of an old version is replaced before the first append"
        );
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.open_to_write()?,
        };
        if !self.try_lock(&writer)? {
            self.writer = Some(writer);
            return Ok(LockAttempt::Locked);
        }
        let result = self.append_locked(&writer, expected, lines, write);
        let unlocked = writer.unlock();
        self.writer = Some(writer);
        let version = result?;
        unlocked.map_err(StoreError::io("unlock", &self.path))?;
        Ok(LockAttempt::Done(version))
    }

    pub(in crate::file) fn open_to_write(&self) -> Result<File, StoreError> {
        let writer = OpenOptions::new().read(true).append(true).open(&self.path);
        writer.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::Vanished { path: self.path.clone() },
            _ => StoreError::io("write to", &self.path)(error),
        })
    }

    /// Locks the file. Returns `false` if another process holds the lock.
    pub(in crate::file) fn try_lock(&self, writer: &File) -> Result<bool, StoreError> {
        match writer.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(StoreError::io("lock", &self.path)(error)),
        }
    }

    /// Reads to the end of the file that `writer` has locked, and checks that the log is in the state `expected`.
    /// Returns the size of the file.
    pub(in crate::file) fn catch_up_locked(
        &mut self,
        writer: &File,
        expected: LogVersion,
    ) -> Result<u64, StoreError> {
        let held = writer.metadata().map_err(StoreError::io("read the metadata of", &self.path))?;
        if FileIdentity::from_metadata(&held) != self.identity {
            return Err(StoreError::Replaced);
        }
        let size = self.catch_up(ReadLimit::End)?;
        self.load_heads()?;
        match self.version() {
            now if now == expected => Ok(size),
            now if now.generation != expected.generation => Err(StoreError::Replaced),
            now => Err(StoreError::Conflict { now }),
        }
    }

    fn append_locked(
        &mut self,
        writer: &File,
        expected: LogVersion,
        lines: &[Vec<u8>],
        write: WriteFn,
    ) -> Result<LogVersion, StoreError> {
        let size = self.catch_up_locked(writer, expected)?;
        let torn = size > self.read_state.end || self.read_state.unterminated;
        let mut bytes = Vec::with_capacity(lines.iter().map(|line| line.len() + 1).sum::<usize>() + 1);
        bytes.push(b'\n');
        for line in lines {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        let failed = |error| StoreError::io("append to", &self.path)(error);
        let added = if torn { &bytes[..] } else { &bytes[1..] };
        if let Err(error) = write_once(writer, added, write) {
            remove_torn_line(writer, size, added);
            return Err(failed(error));
        }
        self.unsynced = true;
        let undisturbed = self.size()? == size + added.len() as u64;
        if !undisturbed && !starts_a_line(writer, added).map_err(failed)? {
            // A program that takes no lock wrote a line without a newline at the same moment.
            write_once(writer, &bytes, write).map_err(failed)?;
        }
        if torn || !undisturbed {
            self.read_appended(ReadLimit::LastNewline)?;
        } else {
            self.fold_written(added, lines);
        }
        Ok(self.version())
    }

    /// Adds the lines just written to the heads, without reading them again.
    fn fold_written(&mut self, bytes: &[u8], lines: &[Vec<u8>]) {
        let HeadsSource::InMemory(heads) = &mut self.heads_source else {
            unreachable!("the heads were loaded before writing")
        };
        for line in lines {
            match parse_line(line) {
                ParsedLine::Entry(entry) => {
                    let seq = heads.append(&entry, self.read_state.end, line.len() as u32);
                    if let Some(card) = &mut self.card {
                        card.feed(&entry, seq, heads);
                    }
                }
                ParsedLine::Invalid(_) => self.read_state.invalid_lines += 1,
                ParsedLine::Header(_) | ParsedLine::Blank => {}
            }
            self.read_state.end += line.len() as u64 + 1;
        }
        heads.settle();
        let from = bytes.len().saturating_sub(TAIL_BYTES as usize);
        self.read_state.tail.clear();
        self.read_state.tail.extend_from_slice(&bytes[from..]);
        self.drop_unreliable_card();
    }
}

/// Whether the bytes just written start at the beginning of a line.
fn starts_a_line(mut writer: &File, written: &[u8]) -> io::Result<bool> {
    let start = writer.stream_position()?.saturating_sub(written.len() as u64);
    let mut before = [b'\n'];
    if start > 0 && !written.starts_with(b"\n") {
        writer.read_exact_at(&mut before, start - 1)?;
    }
    Ok(before == *b"\n")
}

/// Removes the torn line after a failed write, for example on a full disk: it was not acknowledged and would stay in
/// the log as damage. Complete lines stay, because readers may have seen them. If a program that takes no lock
/// appended something meanwhile, nothing is removed.
fn remove_torn_line(writer: &File, size: u64, added: &[u8]) {
    let added_bytes = writer.metadata().map(|now| now.len().saturating_sub(size) as usize).unwrap_or(0);
    let is_whole = |end: usize| added.get(end).is_none_or(|next| *next == b'\n');
    if added_bytes == 0 || is_whole(added_bytes) {
        return;
    }
    let mut there = vec![0; added_bytes];
    if writer.read_exact_at(&mut there, size).is_ok() && there == added[..added_bytes] {
        let whole = memchr::memrchr(b'\n', &there).map_or(0, |at| at + 1);
        // If that fails too, the next append starts a new line.
        let removed = writer.set_len(size + whole as u64);
        tracing::warn!(
            torn_bytes = added_bytes - whole,
            removed = removed.is_ok(),
            "a write ended in the middle of a line"
        );
    }
}

/// Uses one `write`, because a crash or a writer without a lock could separate two.
fn write_once(writer: &File, bytes: &[u8], write: WriteFn) -> io::Result<()> {
    loop {
        match write(writer, bytes) {
            Ok(written) if written == bytes.len() => return Ok(()),
            Ok(written) => {
                let reason =
                    format!("wrote only {written} of {} bytes; check whether the disk is full", bytes.len());
                return Err(io::Error::new(io::ErrorKind::StorageFull, reason));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
