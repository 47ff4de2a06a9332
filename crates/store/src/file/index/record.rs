//! A record of the index: a head, and where its line starts.

use osier_tree::entry::flag;
use osier_tree::{Head, Seq, head_record};

use super::IndexHeader;

const HEAD_BYTES: usize = head_record::RECORD_BYTES;
pub(super) const RECORD_BYTES: usize = HEAD_BYTES + 8;

pub(super) fn encode(head: &Head, record: &mut [u8]) {
    record[..HEAD_BYTES].copy_from_slice(&head_record::encode(head));
    record[HEAD_BYTES..].copy_from_slice(&head.offset.to_le_bytes());
}

/// The head of the entry with index `own`; `None` if the record is inconsistent.
#[inline]
pub(super) fn decode(record: &[u8; RECORD_BYTES], own: usize, header: &IndexHeader) -> Option<Head> {
    let (head, offset) = record.split_at(HEAD_BYTES);
    let offset = u64::from_le_bytes(offset.try_into().expect("eight bytes"));
    let head = Head { offset, ..head_record::decode(head)? };
    // A link is stored as the index of its entry plus one. Zero is no link.
    let [parent, target] = [head.parent, head.target].map(Seq::to_record);
    let nearest = [head.compaction, head.model, head.thinking, head.anchor].map(Seq::to_record);
    let nearest = nearest.into_iter().fold(0, u32::max);
    let upwards = parent as usize <= own && nearest as usize <= own + 1 && head.depth as usize <= own;
    let inside = parent.max(target).max(nearest) <= header.entries;
    let possible =
        inside && (upwards || !header.in_order) && is_inside_log(&head, header) && has_utf8_id(&head);
    possible.then_some(head)
}

fn is_inside_log(head: &Head, header: &IndexHeader) -> bool {
    head.offset.checked_add(u64::from(head.len)).is_some_and(|end| end <= header.size)
}

fn has_utf8_id(head: &Head) -> bool {
    let is_ascii = head.id.0 & 0x8080_8080_8080_8080 == 0;
    is_ascii || head.has_flag(flag::LONG_ID) || std::str::from_utf8(&head.id.0.to_le_bytes()).is_ok()
}
