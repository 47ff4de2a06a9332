//! The file of the cache of texts: reads, locks and erases its records.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::record::{HEADER_BYTES, RecordHeader, erased, is_intact};
use crate::file::file_identity::FileIdentity;
use crate::file::index::{private_options, remove_cache};

/// How many bytes of a record are read at first: usually its header, name and signature.
const FIRST_READ_BYTES: usize = 4 << 10;

/// Reads records one after the other, without their texts.
#[derive(Debug)]
pub(super) struct RecordReader<'f> {
    file: &'f File,
    size: u64,
    offset: u64,
    buffer: Vec<u8>,
}

/// A record whose header, name and signature have the right checksum.
#[derive(Debug)]
pub(super) struct IntactRecord<'b> {
    pub(super) offset: u64,
    pub(super) header: RecordHeader,
    pub(super) name: &'b [u8],
    pub(super) signature: &'b [u8],
}

impl<'f> RecordReader<'f> {
    pub(super) fn new(file: &'f File, offset: u64) -> io::Result<RecordReader<'f>> {
        Ok(RecordReader { file, size: file.metadata()?.len(), offset, buffer: Vec::new() })
    }

    /// The end of the last record that was read.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.offset == self.size
    }

    /// The next record. `None` at the end, or if the record is damaged or incomplete.
    pub(super) fn next_record(&mut self) -> Option<IntactRecord<'_>> {
        let offset = self.offset;
        let mut filled = self.fill(FIRST_READ_BYTES)?;
        let header = RecordHeader::decode(&self.buffer[..filled])?;
        let end = offset.checked_add(header.record_bytes()).filter(|end| *end <= self.size)?;
        let needed = header.text_offset() as usize;
        if needed > filled {
            filled = self.fill(needed)?;
        }
        let checked = self.buffer[..filled].get(..needed).filter(|checked| is_intact(checked))?;
        self.offset = end;
        let (name, signature) = checked[HEADER_BYTES..].split_at(header.name_bytes);
        Some(IntactRecord { offset, header, name, signature })
    }

    /// Reads this many bytes into the buffer, or fewer at the end of the file. Returns their number.
    fn fill(&mut self, bytes: usize) -> Option<usize> {
        if self.buffer.len() < bytes {
            self.buffer.resize(bytes, 0);
        }
        read_up_to(self.file, &mut self.buffer[..bytes], self.offset)
    }
}

/// Reads until the buffer is full or the file ends. Returns the number of bytes.
fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> Option<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    Some(filled)
}

/// Locks a cache file, unless `path` now names another file or another process is writing.
pub(super) fn lock_unless_replaced<'f>(path: &Path, file: &'f File) -> io::Result<Option<UnlockOnDrop<'f>>> {
    if file.try_lock().is_err() {
        return Ok(None);
    }
    let lock = UnlockOnDrop(file);
    Ok(is_named(path, file)?.then_some(lock))
}

/// Whether `path` still names this open file.
fn is_named(path: &Path, file: &File) -> io::Result<bool> {
    let named = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        named => named?,
    };
    Ok(FileIdentity::from_metadata(&named) == FileIdentity::from_metadata(&file.metadata()?))
}

#[derive(Debug)]
pub(super) struct UnlockOnDrop<'f>(&'f File);

impl Drop for UnlockOnDrop<'_> {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// The new file while a cache file is rewritten. Only the process that has the cache file locked uses it.
pub(super) fn rewrite_path(path: &Path) -> PathBuf {
    path.with_extension("texts-new")
}

/// Erases the records of the session files whose name matches. If that fails, removes the cache file.
pub(super) fn erase_or_remove(path: &Path, is_erased: impl Fn(&str) -> bool) {
    if let Err(error) = erase_records(path, is_erased) {
        tracing::debug!(%error, "cannot erase texts in the cache, so it is removed");
        remove_cache(&rewrite_path(path));
        remove_cache(path);
    }
}

/// Overwrites the records of session files, those of earlier states too.
fn erase_records(path: &Path, is_erased: impl Fn(&str) -> bool) -> io::Result<()> {
    loop {
        let found = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        if !found.is_file() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let file = match private_options().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        file.lock()?;
        let _lock = UnlockOnDrop(&file);
        // Another process may have rewritten the cache while this one waited.
        if is_named(path, &file)? {
            remove_cache(&rewrite_path(path));
            return erase_in(&file, is_erased);
        }
    }
}

/// Fails if the file is damaged: what follows the damage may be text of these sessions.
fn erase_in(file: &File, is_erased: impl Fn(&str) -> bool) -> io::Result<()> {
    let mut reader = RecordReader::new(file, 0)?;
    while let Some(record) = reader.next_record() {
        if !record.header.is_erased && is_erased(&String::from_utf8_lossy(record.name)) {
            file.write_all_at(&erased(&record.header), record.offset)?;
        }
    }
    if reader.is_at_end() { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}
