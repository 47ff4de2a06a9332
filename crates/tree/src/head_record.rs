//! A head as 56 bytes, the first of which is the format version: in the index of a file and in the rows of a database. The
//! position of the line is not part of it; a store that needs it keeps it beside the record.

use crate::entry::{EntryKind, EntryReason, MessageRole};
use crate::heads::{Head, IdKey, Seq};

/// Increment this whenever the contents of heads change. Heads of another version are rebuilt from the lines.
const FORMAT_VERSION: u8 = 1;

pub const RECORD_BYTES: usize = 56;

pub fn encode(head: &Head) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    record[0] = FORMAT_VERSION;
    record[1..6].copy_from_slice(&[
        head.kind as u8,
        head.role as u8,
        head.reason as u8,
        head.flags,
        head.calls,
    ]);
    record[6..8].copy_from_slice(&head.message_offset.to_le_bytes());
    record[8..16].copy_from_slice(&head.id.0.to_le_bytes());
    record[16..24].copy_from_slice(&head.time.to_le_bytes());
    let numbers = [
        head.len,
        Seq::to_record(head.parent),
        Seq::to_record(head.target),
        Seq::to_record(head.compaction),
        Seq::to_record(head.model),
        Seq::to_record(head.thinking),
        Seq::to_record(head.anchor),
        head.depth,
    ];
    for (number, at) in numbers.iter().zip((24..).step_by(4)) {
        record[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
    record
}

/// `None` if another version wrote it.
#[inline]
pub fn decode(record: &[u8]) -> Option<Head> {
    let record: &[u8; RECORD_BYTES] = record.try_into().ok()?;
    if record[0] != FORMAT_VERSION {
        return None;
    }
    let wide = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("slice of eight bytes"));
    let narrow = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("slice of four bytes"));
    let link = |at: usize| Seq::from_record(narrow(at));
    Some(Head {
        id: IdKey(wide(8)),
        time: wide(16) as i64,
        offset: 0,
        len: narrow(24),
        parent: link(28),
        target: link(32),
        compaction: link(36),
        model: link(40),
        thinking: link(44),
        anchor: link(48),
        depth: narrow(52),
        kind: *EntryKind::ALL.get(record[1] as usize)?,
        role: *MessageRole::ALL.get(record[2] as usize)?,
        reason: *EntryReason::ALL.get(record[3] as usize)?,
        flags: record[4],
        calls: record[5],
        message_offset: u16::from_le_bytes([record[6], record[7]]),
    })
}

/// The length of the line, which has the same offset in every version.
pub fn line_length(record: &[u8]) -> usize {
    record.get(24..28).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes) as usize
}
