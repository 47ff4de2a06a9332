//! The index of a log: a cache file of its heads in fixed-width records.
//!
//! An index is used only if it matches the identity and the last line of the log. Every block has a checksum, every
//! record is checked for consistency, and every line read through the index is compared with its head. If a check
//! fails, the log is read instead.

mod record;

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use osier_tree::{Head, Heads};

use super::stamp::{self, Stamp};
use record::{RECORD, decode, encode};

const MAGIC: &[u8; 8] = b"OSIERIX2";
const BLOCK: usize = 4096;
/// Records per block. The checksum follows them.
const PER_BLOCK: usize = (BLOCK - 8) / RECORD;
/// The number of blocks read at once.
const RUN: usize = 64;
/// The length of the shortest entry, `{"id":""}`, with its newline.
const SHORTEST: u64 = 10;

/// The header of an index: which part of which log it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cover {
    pub(super) stamp: Stamp,
    /// The number of bytes of the log that the index covers.
    pub(super) size: u64,
    /// The modification time of the log.
    pub(super) changed: i64,
    pub(super) entries: u32,
    pub(super) odd: u32,
    /// Whether the log ends in a complete line without a newline.
    pub(super) unended: bool,
    /// Whether records can be appended; see [`Heads::is_regular`].
    pub(super) regular: bool,
    /// Whether parents come before their children; see [`Heads::is_in_order`].
    pub(super) in_order: bool,
    /// The position and the hash of the last entry.
    pub(super) last_offset: u64,
    pub(super) last_len: u32,
    pub(super) last_hash: u64,
}

/// Why an index cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// The checksum of a block is wrong.
    Damaged,
    /// The checksum is right, but the block contradicts itself or the log.
    Lies,
}

/// An open index file whose header was checked.
#[derive(Debug)]
pub(super) struct Index {
    file: File,
    pub(super) cover: Cover,
    /// The buffer for blocks.
    run: RefCell<Vec<u8>>,
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
        let file = stamp::open_cache(path)?;
        let mut block = [0; BLOCK];
        file.read_exact_at(&mut block, 0).ok()?;
        let index = Index { cover: Cover::read(&block)?, file, run: RefCell::default() };
        let blocks = (index.cover.entries as usize).div_ceil(PER_BLOCK);
        let whole = index.file.metadata().ok()?.len() >= ((1 + blocks) * BLOCK) as u64;
        (whole && index.cover.is_of(log)? && index.ends_as_it_says()).then_some(index)
    }

    fn ends_as_it_says(&self) -> bool {
        let last = self.heads(self.cover.entries as usize - 1, 1);
        last.is_ok_and(|heads| {
            heads.iter().all(|head| (head.offset, head.len) == (self.cover.last_offset, self.cover.last_len))
        })
    }

    /// At most `limit` heads, starting at index `after`.
    pub(super) fn heads(&self, after: usize, limit: usize) -> Result<Vec<Head>, Wrong> {
        let until = after.saturating_add(limit).min(self.cover.entries as usize);
        let mut heads = Vec::with_capacity(until.saturating_sub(after));
        let mut buffer = self.run.borrow_mut();
        let mut at = after;
        let mut end = 0;
        while at < until {
            let first = at / PER_BLOCK;
            let count = until.div_ceil(PER_BLOCK).saturating_sub(first).min(RUN);
            buffer.resize(count * BLOCK, 0);
            self.blocks(first, &mut buffer)?;
            for block in buffer.chunks_exact(BLOCK) {
                let here = (until - at).min(PER_BLOCK - at % PER_BLOCK);
                let (records, _) = block.as_chunks::<RECORD>();
                for record in records.iter().skip(at % PER_BLOCK).take(here) {
                    let head = decode(record, at, &self.cover).ok_or(Wrong::Lies)?;
                    // Entries are stored in order and do not overlap.
                    if head.offset < end {
                        return Err(Wrong::Lies);
                    }
                    end = head.offset + u64::from(head.len) + 1;
                    heads.push(head);
                    at += 1;
                }
            }
        }
        Ok(heads)
    }

    /// Reads blocks and verifies their checksums. Tries twice, because another process may be writing a block.
    fn blocks(&self, first: usize, buffer: &mut [u8]) -> Result<(), Wrong> {
        let intact = |block: &[u8]| checksum_of(block) == stored_checksum(block);
        for _ in 0..2 {
            let read = self.file.read_exact_at(buffer, ((1 + first) * BLOCK) as u64);
            if read.is_ok() && buffer.chunks_exact(BLOCK).all(intact) {
                return Ok(());
            }
        }
        Err(Wrong::Damaged)
    }

    /// Writes an index for `heads` to a new file and replaces the old one.
    pub(super) fn write(path: &Path, heads: &Heads, cover: Cover) -> io::Result<()> {
        let folder = path.parent().ok_or_else(|| io::Error::other("the cache file has no parent folder"))?;
        super::names::make_folder(folder)?;
        let mut file = tempfile::Builder::new().prefix(".index-").tempfile_in(folder)?;
        let mut out = io::BufWriter::with_capacity(RUN * BLOCK, file.as_file_mut());
        out.write_all(&cover.block())?;
        for first in (0..heads.len()).step_by(PER_BLOCK) {
            out.write_all(&block(heads, first))?;
        }
        out.flush()?;
        drop(out);
        file.persist(path)?;
        Ok(())
    }

    /// Appends the heads after `from` to the index file at `path`, if its header is still `from`.
    pub(super) fn extend(path: &Path, heads: &Heads, from: &Cover, cover: Cover) -> io::Result<()> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.try_lock().is_err() {
            return Ok(());
        }
        let mut old = [0; BLOCK];
        file.read_exact_at(&mut old, 0)?;
        if Cover::read(&old).as_ref() != Some(from) {
            return Ok(());
        }
        let begin = from.entries as usize / PER_BLOCK * PER_BLOCK;
        for first in (begin..heads.len()).step_by(PER_BLOCK) {
            file.write_all_at(&block(heads, first), ((1 + first / PER_BLOCK) * BLOCK) as u64)?;
        }
        // The header is written last. Until then the old one is valid, because its blocks only got more records.
        file.write_all_at(&cover.block(), 0)
    }
}

fn block(heads: &Heads, first: usize) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    for ((_, head), record) in heads.from(first).zip(block[..PER_BLOCK * RECORD].chunks_exact_mut(RECORD)) {
        encode(head, record);
    }
    seal(&mut block);
    block
}

fn checksum_of(block: &[u8]) -> u64 {
    hash(&block[..BLOCK - 8])
}

fn stored_checksum(block: &[u8]) -> u64 {
    u64::from_le_bytes(block[BLOCK - 8..].try_into().expect("eight bytes"))
}

fn seal(block: &mut [u8]) {
    let sum = checksum_of(block);
    block[BLOCK - 8..].copy_from_slice(&sum.to_le_bytes());
}

/// Writes correct checksums into all blocks of an index, for tests of forged indexes.
#[doc(hidden)]
pub fn sealed(mut index: Vec<u8>) -> Vec<u8> {
    index.chunks_exact_mut(BLOCK).for_each(seal);
    index
}

impl Cover {
    /// Whether the header matches `log`.
    fn is_of(&self, log: &File) -> Option<bool> {
        let metadata = log.metadata().ok()?;
        let entries = u64::from(self.entries);
        let sane = entries > 0 && entries * SHORTEST <= self.size.saturating_add(1);
        let end = self.last_offset.checked_add(u64::from(self.last_len))?;
        let same = self.stamp == Stamp::of(&metadata) && self.size <= metadata.len();
        if !sane || !same || end > self.size {
            return Some(false);
        }
        if self.size == metadata.len() {
            return Some(self.changed == stamp::changed(&metadata) && self.ends_in(log)?);
        }
        // The log grew. The new part must start after a newline or with one.
        let mut seam = [0; 2];
        log.read_exact_at(&mut seam, self.size - 1).ok()?;
        Some(seam[usize::from(self.unended)] == b'\n' && self.ends_in(log)?)
    }

    /// Whether the last entry is at the recorded position.
    fn ends_in(&self, log: &File) -> Option<bool> {
        let mut last = vec![0; self.last_len as usize];
        log.read_exact_at(&mut last, self.last_offset).ok()?;
        Some(hash(&last) == self.last_hash)
    }

    fn block(&self) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        let flags = [self.unended, self.regular, self.in_order];
        let numbers = [
            self.stamp.device,
            self.stamp.inode,
            self.stamp.born,
            self.size,
            self.changed as u64,
            u64::from(self.entries),
            u64::from(self.odd),
            flags.iter().rev().fold(0, |bits, flag| bits << 1 | u64::from(*flag)),
            self.last_offset,
            u64::from(self.last_len),
            self.last_hash,
        ];
        block[..8].copy_from_slice(MAGIC);
        for (number, at) in numbers.iter().zip((8..).step_by(8)) {
            block[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        seal(&mut block);
        block
    }

    fn read(block: &[u8]) -> Option<Cover> {
        if &block[..8] != MAGIC || checksum_of(block) != stored_checksum(block) {
            return None;
        }
        let number =
            |at: usize| u64::from_le_bytes(block[8 + at * 8..16 + at * 8].try_into().expect("eight bytes"));
        Some(Cover {
            stamp: Stamp { device: number(0), inode: number(1), born: number(2) },
            size: number(3),
            changed: number(4) as i64,
            entries: u32::try_from(number(5)).ok()?,
            odd: u32::try_from(number(6)).ok()?,
            unended: number(7) & 1 != 0,
            regular: number(7) & 2 != 0,
            in_order: number(7) & 4 != 0,
            last_offset: number(8),
            last_len: u32::try_from(number(9)).ok()?,
            last_hash: number(10),
        })
    }
}

/// Removes a cache file. Errors are ignored.
pub(super) fn discard(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Options for files that only the owner can read. A pipe is an error: it would wait for a reader.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags(libc::O_NONBLOCK);
    options
}
