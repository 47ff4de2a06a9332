//! The index of a log: its heads in a file of fixed-width records, read in place.
//!
//! An index is a cache. It counts only if it speaks of this very file and of its last line; every block has a checksum,
//! and whoever fetches a line checks that it is the one the head promised. Anything wrong, and the log is read instead.

use std::fs::{self, File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use osier_tree::heads::IdKey;
use osier_tree::{Head, Heads, Kind, Role, Seq, Why};

use super::stamp::Stamp;

const MAGIC: &[u8; 8] = b"OSIERIX1";
const RECORD: usize = 64;
const BLOCK: usize = 4096;
/// Records per block; the rest of it is the checksum.
const PER_BLOCK: usize = (BLOCK - 8) / RECORD;
/// Blocks read at once.
const RUN: usize = 64;

/// What an index says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cover {
    pub(super) stamp: Stamp,
    /// The bytes of the log that it covers.
    pub(super) size: u64,
    pub(super) entries: u32,
    pub(super) odd: u32,
    /// The log ends in a whole line without line feed.
    pub(super) unended: bool,
    /// More lines may be added to it; see [`Heads::is_regular`].
    pub(super) regular: bool,
    /// Where the last entry lies, and the hash of it.
    pub(super) last_offset: u64,
    pub(super) last_len: u32,
    pub(super) last_hash: u64,
}

/// An index file, open and checked as far as its cover goes.
#[derive(Debug)]
pub(super) struct Index {
    file: File,
    pub(super) cover: Cover,
}

pub(super) fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(bytes);
    hasher.write_usize(bytes.len());
    hasher.finish()
}

impl Index {
    /// The index at `path`, if it speaks of `log` as it is now. A log that grew since is fine.
    pub(super) fn open(path: &Path, log: &File) -> Option<Index> {
        let file = File::open(path).ok()?;
        let mut block = [0; BLOCK];
        file.read_exact_at(&mut block, 0).ok()?;
        let cover = Cover::read(&block)?;
        let metadata = log.metadata().ok()?;
        if cover.stamp != Stamp::of(&metadata) || cover.size > metadata.len() || cover.entries == 0 {
            return None;
        }
        let blocks = (cover.entries as usize).div_ceil(PER_BLOCK);
        if file.metadata().ok()?.len() < ((1 + blocks) * BLOCK) as u64 {
            return None;
        }
        let end = cover.last_offset.checked_add(u64::from(cover.last_len))?;
        if end > cover.size {
            return None;
        }
        let mut last = vec![0; cover.last_len as usize];
        log.read_exact_at(&mut last, cover.last_offset).ok()?;
        (hash(&last) == cover.last_hash).then_some(Index { file, cover })
    }

    /// Heads from place `after` on. `None` if the file is damaged.
    pub(super) fn heads(&self, after: usize, limit: usize) -> Option<Vec<Head>> {
        let entries = self.cover.entries as usize;
        let until = after.saturating_add(limit).min(entries);
        let mut heads = Vec::with_capacity(until.saturating_sub(after));
        let mut buffer = Vec::new();
        let mut at = after;
        while at < until {
            let first = at / PER_BLOCK;
            let count = until.div_ceil(PER_BLOCK).saturating_sub(first).min(RUN);
            buffer.resize(count * BLOCK, 0);
            self.file.read_exact_at(&mut buffer, ((1 + first) * BLOCK) as u64).ok()?;
            for block in buffer.chunks_exact(BLOCK) {
                if checksum_of(block) != stored_checksum(block) {
                    return None;
                }
                let here = (until - at).min(PER_BLOCK - at % PER_BLOCK);
                for record in block.chunks_exact(RECORD).skip(at % PER_BLOCK).take(here) {
                    heads.push(decode(record, entries)?);
                }
                at += here;
            }
        }
        Some(heads)
    }

    /// Writes an index for `heads`, as a new file put in place of an old one.
    pub(super) fn write(path: &Path, heads: &Heads, cover: Cover) -> io::Result<()> {
        let folder = path.parent().ok_or_else(|| io::Error::other("a cache file lies in a folder"))?;
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

    /// Adds the heads behind `from` to the index file at `path`, if it still is the one that covers just those before.
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
        // Last, because until now the old cover was true: its blocks only got more records.
        file.write_all_at(&cover.block(), 0)
    }
}

fn block(heads: &Heads, first: usize) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    for ((_, head), record) in heads.from(first).zip(block[..PER_BLOCK * RECORD].chunks_exact_mut(RECORD)) {
        encode(head, record);
    }
    let sum = checksum_of(&block);
    block[BLOCK - 8..].copy_from_slice(&sum.to_le_bytes());
    block
}

fn checksum_of(block: &[u8]) -> u64 {
    hash(&block[..BLOCK - 8])
}

fn stored_checksum(block: &[u8]) -> u64 {
    u64::from_le_bytes(block[BLOCK - 8..].try_into().expect("eight bytes"))
}

impl Cover {
    fn block(&self) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        let numbers = [
            self.stamp.device,
            self.stamp.inode,
            self.stamp.born,
            self.size,
            u64::from(self.entries),
            u64::from(self.odd),
            u64::from(self.unended) | u64::from(self.regular) << 1,
            self.last_offset,
            u64::from(self.last_len),
            self.last_hash,
        ];
        block[..8].copy_from_slice(MAGIC);
        for (number, at) in numbers.iter().zip((8..).step_by(8)) {
            block[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        let sum = checksum_of(&block);
        block[BLOCK - 8..].copy_from_slice(&sum.to_le_bytes());
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
            entries: u32::try_from(number(4)).ok()?,
            odd: u32::try_from(number(5)).ok()?,
            unended: number(6) & 1 != 0,
            regular: number(6) & 2 != 0,
            last_offset: number(7),
            last_len: u32::try_from(number(8)).ok()?,
            last_hash: number(9),
        })
    }
}

fn encode(head: &Head, record: &mut [u8]) {
    record[0..8].copy_from_slice(&head.id.0.to_le_bytes());
    record[8..16].copy_from_slice(&head.time.to_le_bytes());
    record[16..24].copy_from_slice(&head.offset.to_le_bytes());
    let links = [
        head.len,
        Seq::to_record(head.parent),
        Seq::to_record(head.target),
        Seq::to_record(head.compaction),
        Seq::to_record(head.model),
        Seq::to_record(head.thinking),
        Seq::to_record(head.anchor),
        head.depth,
    ];
    for (number, at) in links.iter().zip((24..).step_by(4)) {
        record[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
    record[56..61].copy_from_slice(&[
        head.kind as u8,
        head.role as u8,
        head.why as u8,
        head.flags,
        head.calls,
    ]);
    record[61..63].copy_from_slice(&head.body.to_le_bytes());
}

/// `None` for a record that no writer of ours made.
fn decode(record: &[u8], entries: usize) -> Option<Head> {
    let wide = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
    let narrow = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"));
    let link = |at: usize| {
        Some(Seq::from_record(narrow(at)).filter(|seq| seq.index() < entries))
            .filter(|seq| seq.is_some() || narrow(at) == 0)
    };
    Some(Head {
        id: IdKey(wide(0)),
        time: wide(8) as i64,
        offset: wide(16),
        len: narrow(24),
        parent: link(28)?,
        target: link(32)?,
        compaction: link(36)?,
        model: link(40)?,
        thinking: link(44)?,
        anchor: link(48)?,
        depth: narrow(52),
        kind: *Kind::ALL.get(record[56] as usize)?,
        role: *Role::ALL.get(record[57] as usize)?,
        why: *Why::ALL.get(record[58] as usize)?,
        flags: record[59],
        calls: record[60],
        body: u16::from_le_bytes([record[61], record[62]]),
    })
}

/// Removes an index that turned out wrong, so that the next reader does not trip over it again.
pub(super) fn discard(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Opens a file that only its owner may read.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}
