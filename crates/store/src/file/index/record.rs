//! Encodes a head in 64 bytes.

use osier_tree::entry::flag;
use osier_tree::heads::IdKey;
use osier_tree::{EntryKind, EntryReason, Head, MessageRole, Seq};

use super::IndexHeader;

pub(super) const RECORD_BYTES: usize = 64;

pub(super) fn encode(head: &Head, record: &mut [u8]) {
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
        head.reason as u8,
        head.flags,
        head.calls,
    ]);
    record[61..63].copy_from_slice(&head.message_offset.to_le_bytes());
}

/// The head of the entry with index `own`; `None` if the record is inconsistent.
#[inline]
pub(super) fn decode(record: &[u8; RECORD_BYTES], own: usize, cover: &IndexHeader) -> Option<Head> {
    let wide = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
    let narrow = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"));
    let link = |at: usize| Seq::from_record(narrow(at));
    let head = Head {
        id: IdKey(wide(0)),
        time: wide(8) as i64,
        offset: wide(16),
        len: narrow(24),
        parent: link(28),
        target: link(32),
        compaction: link(36),
        model: link(40),
        thinking: link(44),
        anchor: link(48),
        depth: narrow(52),
        kind: *EntryKind::ALL.get(record[56] as usize)?,
        role: *MessageRole::ALL.get(record[57] as usize)?,
        reason: *EntryReason::ALL.get(record[58] as usize)?,
        flags: record[59],
        calls: record[60],
        message_offset: u16::from_le_bytes([record[61], record[62]]),
    };
    // A link is stored as the index of its entry plus one. Zero is no link.
    let nearest = narrow(36).max(narrow(40)).max(narrow(44)).max(narrow(48));
    let upwards = narrow(28) as usize <= own && nearest as usize <= own + 1 && head.depth as usize <= own;
    let inside = narrow(28).max(narrow(32)).max(nearest) <= cover.entries;
    let possible =
        inside && (upwards || !cover.in_order) && is_inside_log(&head, cover) && has_utf8_id(&head);
    possible.then_some(head)
}

fn is_inside_log(head: &Head, cover: &IndexHeader) -> bool {
    head.offset.checked_add(u64::from(head.len)).is_some_and(|end| end <= cover.size)
}

fn has_utf8_id(head: &Head) -> bool {
    let is_ascii = head.id.0 & 0x8080_8080_8080_8080 == 0;
    is_ascii || head.has_flag(flag::LONG_ID) || std::str::from_utf8(&head.id.0.to_le_bytes()).is_ok()
}
