//! The index of a log: a cache file of its heads in fixed-width records.
//!
//! An index is used only if it matches the identity and the last line of the log. Every block has a checksum, every
//! record is checked for consistency, and every line read through the index is compared with its head. If a check
//! fails, the log is read instead.

mod record;

use std::fs::{self, File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use osier_tree::{Head, Heads, Seq};

use super::file_identity::{self, FileIdentity};
use record::{RECORD_BYTES, decode, encode};

const MAGIC: &[u8; 8] = b"OSIERIX4";
const BLOCK_BYTES: usize = 4096;
/// Records per block. The number of an earlier entry follows them (see [`Index::entries_with_folded_body`]), and at the end of
/// the block the checksum.
const RECORDS_PER_BLOCK: usize = (BLOCK_BYTES - 12) / RECORD_BYTES;
const RECORDS_END: usize = RECORDS_PER_BLOCK * RECORD_BYTES;
/// The number of blocks read at once.
const BLOCKS_PER_READ: usize = 64;
/// The length of the shortest entry, `{"id":""}`, with its newline.
const MIN_ENTRY_BYTES: u64 = 10;

/// The header of an index: which part of which log it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexHeader {
    pub(super) identity: FileIdentity,
    /// The number of bytes of the log that the index covers.
    pub(super) size: u64,
    /// The modification time of the log.
    pub(super) modified: i64,
    pub(super) entries: u32,
    pub(super) invalid_lines: u32,
    /// Whether the log ends in a complete line without a newline.
    pub(super) unterminated: bool,
    /// Whether records can be appended; see [`Heads::is_regular`].
    pub(super) regular: bool,
    /// Whether parents come before their children; see [`Heads::is_in_order`].
    pub(super) in_order: bool,
    /// Whether no head needs its line; see [`Head::needs_ids`].
    pub(super) complete: bool,
    /// The position and the hash of the last entry.
    pub(super) last_offset: u64,
    pub(super) last_len: u32,
    pub(super) last_hash: u64,
}

/// Why an index cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndexError {
    /// The checksum of a block is wrong.
    Damaged,
    /// The checksum is right, but the block contradicts itself or the log.
    Inconsistent,
}

/// An open index file whose header was checked.
#[derive(Debug)]
pub(super) struct Index {
    file: File,
    pub(super) header: IndexHeader,
    /// The buffer for blocks.
    buffer: Mutex<Vec<u8>>,
}

pub(super) fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(bytes);
    hasher.write_usize(bytes.len());
    hasher.finish()
}

impl Index {
    /// The index at `path`, if it matches `log`. The log may have grown since.
    pub(super) fn open(path: &Path, log: &File) -> Option<Index> {
        let file = file_identity::open_cache(path)?;
        let mut block = [0; BLOCK_BYTES];
        file.read_exact_at(&mut block, 0).ok()?;
        let index = Index { header: IndexHeader::from_block(&block)?, file, buffer: Mutex::default() };
        let blocks = (index.header.entries as usize).div_ceil(RECORDS_PER_BLOCK);
        let whole = index.file.metadata().ok()?.len() >= ((1 + blocks) * BLOCK_BYTES) as u64;
        (whole && index.header.matches_log(log)? && index.last_record_matches()).then_some(index)
    }

    fn last_record_matches(&self) -> bool {
        let last = self.heads(self.header.entries as usize - 1, 1);
        last.is_ok_and(|heads| {
            heads
                .iter()
                .all(|head| (head.offset, head.len) == (self.header.last_offset, self.header.last_len))
        })
    }

    /// At most `limit` heads, starting at index `after`.
    pub(super) fn heads(&self, after: usize, limit: usize) -> Result<Vec<Head>, IndexError> {
        let until = after.saturating_add(limit).min(self.header.entries as usize);
        let mut heads = Vec::with_capacity(until.saturating_sub(after));
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = after;
        let mut end = 0;
        while at < until {
            let first = at / RECORDS_PER_BLOCK;
            let count = until.div_ceil(RECORDS_PER_BLOCK).saturating_sub(first).min(BLOCKS_PER_READ);
            buffer.resize(count * BLOCK_BYTES, 0);
            self.read_blocks(first, &mut buffer)?;
            for block in buffer.chunks_exact(BLOCK_BYTES) {
                let here = (until - at).min(RECORDS_PER_BLOCK - at % RECORDS_PER_BLOCK);
                let (records, _) = block.as_chunks::<RECORD_BYTES>();
                for record in records.iter().skip(at % RECORDS_PER_BLOCK).take(here) {
                    let head = decode(record, at, &self.header).ok_or(IndexError::Inconsistent)?;
                    // Entries are stored in order and do not overlap.
                    if head.offset < end {
                        return Err(IndexError::Inconsistent);
                    }
                    end = head.offset + u64::from(head.len) + 1;
                    heads.push(head);
                    at += 1;
                }
            }
        }
        Ok(heads)
    }

    /// The entries whose bodies the fold reads, in log order. Each block names the last one before it, so only blocks that have
    /// some are read.
    pub(super) fn entries_with_folded_body(&self) -> Result<Vec<Seq>, IndexError> {
        let mut found = Vec::new();
        let mut next = self.header.entries.checked_sub(1).map(|last| Seq::new(last as usize));
        let mut block = [0; BLOCK_BYTES];
        while let Some(last) = next {
            let first = last.index() / RECORDS_PER_BLOCK * RECORDS_PER_BLOCK;
            let heads = self.heads(first, last.index() + 1 - first)?;
            let here = heads.iter().enumerate().filter(|(_, head)| head.kind.folds_body());
            found.extend(here.map(|(at, _)| Seq::new(first + at)).rev());
            self.read_blocks(first / RECORDS_PER_BLOCK, &mut block)?;
            next = earlier_entry(&block);
            if next.is_some_and(|next| next.index() >= first) {
                return Err(IndexError::Inconsistent);
            }
        }
        found.reverse();
        Ok(found)
    }

    /// Reads blocks and verifies their checksums. Tries twice, because another process may be writing a block.
    fn read_blocks(&self, first: usize, buffer: &mut [u8]) -> Result<(), IndexError> {
        let intact = |block: &[u8]| compute_checksum(block) == stored_checksum(block);
        for _ in 0..2 {
            let read = self.file.read_exact_at(buffer, ((1 + first) * BLOCK_BYTES) as u64);
            if read.is_ok() && buffer.chunks_exact(BLOCK_BYTES).all(intact) {
                return Ok(());
            }
        }
        Err(IndexError::Damaged)
    }

    /// Writes an index for `heads` to a new file and replaces the old one.
    pub(super) fn write(path: &Path, heads: &Heads, header: IndexHeader) -> io::Result<()> {
        let folder = path.parent().ok_or_else(|| io::Error::other("the cache file has no parent folder"))?;
        super::names::make_folder(folder)?;
        let mut file = tempfile::Builder::new().prefix(".index-").tempfile_in(folder)?;
        let mut out = io::BufWriter::with_capacity(BLOCKS_PER_READ * BLOCK_BYTES, file.as_file_mut());
        out.write_all(&header.encode())?;
        let mut earlier = None;
        for first in (0..heads.len()).step_by(RECORDS_PER_BLOCK) {
            out.write_all(&encode_block(heads, first, &mut earlier))?;
        }
        out.flush()?;
        drop(out);
        file.persist(path)?;
        Ok(())
    }

    /// Appends the heads after `from` to the index file at `path`, if its header is still `from`.
    pub(super) fn extend(
        path: &Path,
        heads: &Heads,
        from: &IndexHeader,
        header: IndexHeader,
    ) -> io::Result<()> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.try_lock().is_err() {
            return Ok(());
        }
        let mut old = [0; BLOCK_BYTES];
        file.read_exact_at(&mut old, 0)?;
        if IndexHeader::from_block(&old).as_ref() != Some(from) {
            return Ok(());
        }
        let last = from.entries as usize - 1;
        let place_of = |entry: usize| ((1 + entry / RECORDS_PER_BLOCK) * BLOCK_BYTES) as u64;
        file.read_exact_at(&mut old, place_of(last))?;
        if compute_checksum(&old) != stored_checksum(&old) {
            return Err(io::Error::other("a block of the index is damaged"));
        }
        let mut earlier = earlier_entry(&old);
        for first in (last / RECORDS_PER_BLOCK * RECORDS_PER_BLOCK..heads.len()).step_by(RECORDS_PER_BLOCK) {
            file.write_all_at(&encode_block(heads, first, &mut earlier), place_of(first))?;
        }
        // The header is written last. Until then the old one is valid, because its blocks only got more records.
        file.write_all_at(&header.encode(), 0)
    }
}

/// Encodes the block that starts with the entry `first`. `earlier` is the last entry before it whose body the fold reads; after
/// that, the last one up to its end.
fn encode_block(heads: &Heads, first: usize, earlier: &mut Option<Seq>) -> [u8; BLOCK_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    block[RECORDS_END..RECORDS_END + 4].copy_from_slice(&Seq::to_record(*earlier).to_le_bytes());
    for ((seq, head), record) in
        heads.iter_from(first).zip(block[..RECORDS_END].chunks_exact_mut(RECORD_BYTES))
    {
        encode(head, record);
        if head.kind.folds_body() {
            *earlier = Some(seq);
        }
    }
    write_checksum(&mut block);
    block
}

/// The last entry before a block whose body the fold reads.
fn earlier_entry(block: &[u8; BLOCK_BYTES]) -> Option<Seq> {
    let bytes = block[RECORDS_END..RECORDS_END + 4].try_into().expect("four bytes");
    Seq::from_record(u32::from_le_bytes(bytes))
}

fn compute_checksum(block: &[u8]) -> u64 {
    hash(&block[..BLOCK_BYTES - 8])
}

fn stored_checksum(block: &[u8]) -> u64 {
    u64::from_le_bytes(block[BLOCK_BYTES - 8..].try_into().expect("eight bytes"))
}

fn write_checksum(block: &mut [u8]) {
    let sum = compute_checksum(block);
    block[BLOCK_BYTES - 8..].copy_from_slice(&sum.to_le_bytes());
}

/// Writes correct checksums into all blocks of an index, for tests of forged indexes.
#[doc(hidden)]
pub fn with_checksums(mut index: Vec<u8>) -> Vec<u8> {
    index.chunks_exact_mut(BLOCK_BYTES).for_each(write_checksum);
    index
}

impl IndexHeader {
    /// Whether the header matches `log`.
    fn matches_log(&self, log: &File) -> Option<bool> {
        let metadata = log.metadata().ok()?;
        let entries = u64::from(self.entries);
        let sane = entries > 0 && entries * MIN_ENTRY_BYTES <= self.size.saturating_add(1);
        let end = self.last_offset.checked_add(u64::from(self.last_len))?;
        let same = self.identity == FileIdentity::from_metadata(&metadata) && self.size <= metadata.len();
        if !sane || !same || end > self.size {
            return Some(false);
        }
        if self.size == metadata.len() {
            return Some(
                self.modified == file_identity::modified_nanos(&metadata) && self.last_entry_matches(log)?,
            );
        }
        // The log grew. The new part must start after a newline or with one.
        let mut last_bytes = [0; 2];
        log.read_exact_at(&mut last_bytes, self.size - 1).ok()?;
        Some(last_bytes[usize::from(self.unterminated)] == b'\n' && self.last_entry_matches(log)?)
    }

    /// Whether the last entry is at the recorded position.
    fn last_entry_matches(&self, log: &File) -> Option<bool> {
        let mut last = vec![0; self.last_len as usize];
        log.read_exact_at(&mut last, self.last_offset).ok()?;
        Some(hash(&last) == self.last_hash)
    }

    fn encode(&self) -> [u8; BLOCK_BYTES] {
        let mut block = [0; BLOCK_BYTES];
        let flags = [self.unterminated, self.regular, self.in_order, self.complete];
        let numbers = [
            self.identity.device,
            self.identity.inode,
            self.identity.created,
            self.size,
            self.modified as u64,
            u64::from(self.entries),
            u64::from(self.invalid_lines),
            flags.iter().rev().fold(0, |bits, flag| bits << 1 | u64::from(*flag)),
            self.last_offset,
            u64::from(self.last_len),
            self.last_hash,
        ];
        block[..8].copy_from_slice(MAGIC);
        for (number, at) in numbers.iter().zip((8..).step_by(8)) {
            block[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        write_checksum(&mut block);
        block
    }

    fn from_block(block: &[u8]) -> Option<IndexHeader> {
        if &block[..8] != MAGIC || compute_checksum(block) != stored_checksum(block) {
            return None;
        }
        let number =
            |at: usize| u64::from_le_bytes(block[8 + at * 8..16 + at * 8].try_into().expect("eight bytes"));
        Some(IndexHeader {
            identity: FileIdentity { device: number(0), inode: number(1), created: number(2) },
            size: number(3),
            modified: number(4) as i64,
            entries: u32::try_from(number(5)).ok()?,
            invalid_lines: u32::try_from(number(6)).ok()?,
            unterminated: number(7) & 1 != 0,
            regular: number(7) & 2 != 0,
            in_order: number(7) & 4 != 0,
            complete: number(7) & 8 != 0,
            last_offset: number(8),
            last_len: u32::try_from(number(9)).ok()?,
            last_hash: number(10),
        })
    }
}

/// Removes a cache file. Errors are ignored.
pub(super) fn remove_cache(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Options for files that only the owner can read. A pipe is an error: it would wait for a reader.
pub(super) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags(libc::O_NONBLOCK);
    options
}
