//! Checks that a line matches its head from an index.

use osier_tree::entry::{flag, parse_entry};
use osier_tree::heads::IdKey;
use osier_tree::{EntryKind, Head, Seq};

/// The target that a line must have.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ExpectedTarget {
    Entry(IdKey),
    None,
    /// None, or an entry that is not in the log.
    Unknown,
}

/// Whether the head was made from this line and is consistent with the head of its parent.
pub(super) fn line_matches_head(
    line: &[u8],
    seq: Seq,
    head: &Head,
    parent: Option<&Head>,
    target: ExpectedTarget,
) -> bool {
    let mut derived = *head;
    derived.derive(seq, parent);
    derived == *head
        && (matches_common_form(line, head, parent) || matches_parsed(line, head, parent, target))
}

/// Whether the line starts in the form of nearly all messages and matches its head. Avoids parsing it.
fn matches_common_form(line: &[u8], head: &Head, parent: Option<&Head>) -> bool {
    let long = |head: &Head| head.has_flag(flag::LONG_ID);
    if head.kind != EntryKind::Message || head.target.is_some() || long(head) || parent.is_some_and(long) {
        return false;
    }
    let after_id = line
        .strip_prefix(b"{\"type\":\"message\",\"id\":\"")
        .and_then(|rest| rest.strip_prefix(&head.id.0.to_le_bytes()))
        .and_then(|rest| rest.strip_prefix(b"\",\"parentId\":"));
    let after_parent = match parent {
        None => after_id.and_then(|rest| rest.strip_prefix(b"null")),
        Some(parent) => after_id
            .and_then(|rest| rest.strip_prefix(b"\""))
            .and_then(|rest| rest.strip_prefix(&parent.id.0.to_le_bytes()))
            .and_then(|rest| rest.strip_prefix(b"\"")),
    };
    let in_time = after_parent.and_then(|rest| rest.strip_prefix(b",\"timestamp\":\""));
    let message = in_time
        .and_then(|rest| Some(&rest[memchr::memchr(b'"', rest)?..]))
        .and_then(|rest| rest.strip_prefix(b"\",\"message\":"));
    let Some(message) = message.filter(|rest| line.len() - rest.len() == head.message_offset as usize) else {
        return false;
    };
    let after_role =
        message.strip_prefix(b"{\"role\":\"").and_then(|rest| rest.strip_prefix(head.role.name().as_bytes()));
    after_role.is_some_and(|rest| rest.starts_with(b"\""))
}

/// Whether parsing the line results in this head.
pub(super) fn matches_parsed(
    line: &[u8],
    head: &Head,
    parent: Option<&Head>,
    target: ExpectedTarget,
) -> bool {
    /// Flags that depend on other lines.
    const PLACED: u8 = flag::ORPHAN | flag::CYCLE_BROKEN | flag::SUPERSEDED | flag::LONG_ID;
    let Ok(entry) = parse_entry(line) else { return false };
    let (id, long) = IdKey::from_id(&entry.id);
    let same_parent = match (&entry.parent, parent) {
        (None, None) => true,
        (Some(named), Some(parent)) => IdKey::from_id(named).0 == parent.id,
        (Some(_), None) => head.has_flag(flag::ORPHAN | flag::CYCLE_BROKEN),
        (None, Some(_)) => false,
    };
    let same_target = match (entry.target.as_deref().map(|target| IdKey::from_id(target).0), target) {
        (Some(named), ExpectedTarget::Entry(id)) => named == id,
        (None, ExpectedTarget::Entry(_)) | (Some(_), ExpectedTarget::None) => false,
        (_, ExpectedTarget::Unknown) | (None, ExpectedTarget::None) => true,
    };
    same_parent
        && same_target
        && (id, long) == (head.id, head.flags & flag::LONG_ID)
        && (entry.kind, entry.role, entry.reason) == (head.kind, head.role, head.reason)
        && (entry.calls, entry.message_offset, entry.time) == (head.calls, head.message_offset, head.time())
        && entry.flags & !PLACED == head.flags & !PLACED
}
