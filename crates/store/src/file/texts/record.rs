//! A record of the cache of texts: the messages in a part of a log.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use osier_tree::search_query::SearchedRole;

use crate::file::file_identity::FileIdentity;
use crate::file::index::hash;

const MAGIC: &[u8; 8] = b"OSIERTX4";
const NUMBERS: usize = 14;
pub(super) const HEADER_BYTES: usize = 16 + NUMBERS * 8;

/// Longer ones are damaged.
const MAX_NAME_BYTES: u64 = 4096;
const MAX_SIGNATURE_BYTES: u64 = 8 << 20;

/// Which part of which log a record covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Coverage {
    pub(super) identity: FileIdentity,
    /// The part of the log. The records of a log follow each other from 0 to its end.
    pub(super) start: u64,
    pub(super) end: u64,
    /// The modification time of the log.
    pub(super) modified: i64,
    /// When the file of the log last changed. Unlike the modification time, no program can set it.
    pub(super) changed: i64,
    /// The checksum of the covered bytes.
    pub(super) checksum: u64,
    /// Whether more lines can be added. Not if a branch is deleted: a later line can change what earlier ones contribute.
    pub(super) can_grow: bool,
}

impl Coverage {
    /// Whether the log changed so shortly before `now`, when it was read, that a later change can leave it with the same
    /// times: the clock of a file system is coarse.
    pub(super) fn is_racy(&self, now: SystemTime, window: Duration) -> bool {
        let nanos = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.changed.saturating_add(nanos(window)) > nanos(now)
    }
}

/// The header of a record. The name of the log's file, the signature of the text and the text follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub(super) coverage: Coverage,
    /// The text was erased.
    pub(super) is_erased: bool,
    pub(super) name_bytes: usize,
    pub(super) signature_bytes: usize,
    pub(super) text_bytes: usize,
    text_hash: u64,
}

impl RecordHeader {
    pub(super) fn record_bytes(&self) -> u64 {
        (HEADER_BYTES + self.name_bytes + self.signature_bytes + self.text_bytes) as u64
    }

    /// Where the text starts, relative to the record.
    pub(super) fn text_offset(&self) -> u64 {
        (HEADER_BYTES + self.name_bytes + self.signature_bytes) as u64
    }

    pub(super) fn matches_text(&self, text: &[u8]) -> bool {
        text.len() == self.text_bytes && hash(text) == self.text_hash
    }

    /// The header at the start of `bytes`. The rest is not checked yet.
    pub(super) fn decode(bytes: &[u8]) -> Option<RecordHeader> {
        let bytes = bytes.get(..HEADER_BYTES)?;
        let number =
            |at: usize| u64::from_le_bytes(bytes[16 + at * 8..24 + at * 8].try_into().expect("eight bytes"));
        let is_plausible = &bytes[..8] == MAGIC
            && number(10) <= MAX_NAME_BYTES
            && number(11) <= MAX_SIGNATURE_BYTES
            && u32::try_from(number(12)).is_ok();
        is_plausible.then(|| RecordHeader {
            coverage: Coverage {
                identity: FileIdentity { device: number(0), inode: number(1), created: number(2) },
                start: number(3),
                end: number(4),
                modified: number(5) as i64,
                changed: number(6) as i64,
                checksum: number(7),
                can_grow: number(8) != 0,
            },
            is_erased: number(9) != 0,
            name_bytes: number(10) as usize,
            signature_bytes: number(11) as usize,
            text_bytes: number(12) as usize,
            text_hash: number(13),
        })
    }

    fn encode(&self) -> [u8; HEADER_BYTES] {
        let Coverage { identity, start, end, modified, changed, checksum, can_grow } = self.coverage;
        let numbers: [u64; NUMBERS] = [
            identity.device,
            identity.inode,
            identity.created,
            start,
            end,
            modified as u64,
            changed as u64,
            checksum,
            u64::from(can_grow),
            u64::from(self.is_erased),
            self.name_bytes as u64,
            self.signature_bytes as u64,
            self.text_bytes as u64,
            self.text_hash,
        ];
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        for (number, at) in numbers.iter().zip((16..).step_by(8)) {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }
}

/// Whether the checksum of a record's header, name and signature is right.
pub(super) fn is_intact(bytes: &[u8]) -> bool {
    bytes[8..16] == checksum(bytes)
}

fn checksum(bytes: &[u8]) -> [u8; 8] {
    hash(&bytes[16..]).to_le_bytes()
}

/// A record in memory.
#[derive(Debug)]
pub(super) struct NewRecord {
    pub(super) coverage: Coverage,
    pub(super) signature: Vec<u8>,
    pub(super) text: Vec<u8>,
}

impl NewRecord {
    pub(super) fn write(&self, name: &str, out: &mut Vec<u8>) {
        let header = RecordHeader {
            coverage: self.coverage,
            is_erased: false,
            name_bytes: name.len(),
            signature_bytes: self.signature.len(),
            text_bytes: self.text.len(),
            text_hash: hash(&self.text),
        };
        write_checked(&header, name.as_bytes(), &self.signature, out);
        out.extend_from_slice(&self.text);
    }
}

/// A record of the same size that contains nothing.
pub(super) fn erased(header: &RecordHeader) -> Vec<u8> {
    let empty = RecordHeader { is_erased: true, text_hash: 0, ..*header };
    let mut record = Vec::new();
    write_checked(&empty, &vec![0; header.name_bytes], &vec![0; header.signature_bytes], &mut record);
    record.resize(header.record_bytes() as usize, 0);
    record
}

fn write_checked(header: &RecordHeader, name: &[u8], signature: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&header.encode());
    out.extend_from_slice(name);
    out.extend_from_slice(signature);
    let sum = checksum(&out[start..]);
    out[start + 8..start + 16].copy_from_slice(&sum);
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A message in the text of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredMessage<'a> {
    pub(super) role: SearchedRole,
    pub(super) id: &'a str,
    pub(super) text: &'a str,
}

impl StoredMessage<'_> {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.role as u8);
        for part in [self.id, self.text] {
            out.extend_from_slice(&(part.len() as u32).to_le_bytes());
            out.extend_from_slice(part.as_bytes());
        }
    }
}

/// The messages of a text whose checksum is right.
pub(super) fn messages(mut text: &[u8]) -> impl Iterator<Item = StoredMessage<'_>> {
    std::iter::from_fn(move || {
        let (role, rest) = text.split_first()?;
        let (id, rest) = split_part(rest)?;
        let (message, rest) = split_part(rest)?;
        text = rest;
        Some(StoredMessage { role: *SearchedRole::ALL.get(usize::from(*role))?, id, text: message })
    })
}

fn split_part(text: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = text.split_first_chunk::<4>()?;
    let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    Some((std::str::from_utf8(part).ok()?, rest))
}
