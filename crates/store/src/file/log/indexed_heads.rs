//! The heads of a log that stay in its index until they are needed.

use std::fs::File;
use std::sync::OnceLock;

use osier_tree::entry::{ParsedLine, parse_entry, parse_line};
use osier_tree::{Head, Heads, Seq, StoredHeads};

use crate::file::index::{Index, IndexError};
use crate::file::reader::LineReader;

/// Reads heads from an index and checks each against that of its parent. If the index is wrong, reads them from the log.
#[derive(Debug)]
pub(super) struct IndexedHeads {
    index: Index,
    log: File,
    error: OnceLock<IndexError>,
    from_log: OnceLock<Heads>,
}

impl IndexedHeads {
    /// The index must be complete; see [`super::IndexHeader`].
    pub(super) fn new(index: Index, log: File) -> IndexedHeads {
        IndexedHeads { index, log, error: OnceLock::new(), from_log: OnceLock::new() }
    }

    /// What is wrong with the index, as far as it was read.
    pub(super) fn error(&self) -> Option<IndexError> {
        self.error.get().copied()
    }

    /// Reads from the index, unless it is known to be wrong.
    fn read_index<T>(&self, read: impl FnOnce(&Index) -> Result<T, IndexError>) -> Option<T> {
        if self.error.get().is_some() {
            return None;
        }
        read(&self.index).map_err(|error| self.error.set(error)).ok()
    }

    fn heads_from_log(&self) -> &Heads {
        self.from_log.get_or_init(|| {
            tracing::info!("an index is wrong; reading the log");
            let mut heads = Heads::default();
            let mut reader = LineReader::new(&self.log, 0);
            while let Ok(Some(line)) = reader.next_line()
                && line.offset < self.index.header.size
            {
                if let ParsedLine::Entry(entry) = parse_line(line.bytes) {
                    heads.append(&entry, line.offset, line.bytes.len() as u32);
                }
            }
            heads.settle();
            heads
        })
    }
}

impl StoredHeads for IndexedHeads {
    fn len(&self) -> usize {
        self.index.header.entries as usize
    }

    fn read(&self, first: usize, count: usize) -> Vec<Head> {
        let checked = self.read_index(|index| read_checked(index, first, count));
        checked.unwrap_or_else(|| {
            let heads = self.heads_from_log().iter_from(first).take(count).map(|(_, head)| *head);
            let mut heads: Vec<Head> = heads.collect();
            // The log was edited. The next read of a line reports it.
            heads.resize_with(count, lost_head);
            heads
        })
    }

    fn entries_with_folded_body(&self) -> Vec<Seq> {
        let found = self.read_index(Index::entries_with_folded_body);
        found.unwrap_or_else(|| self.heads_from_log().entries_with_folded_body())
    }
}

/// Stands for an entry that is in neither the index nor the log.
fn lost_head() -> Head {
    let entry = parse_entry(br#"{"type":"lost","id":"????????"}"#).expect("an entry");
    let mut heads = Heads::default();
    let seq = heads.append(&entry, 0, 0);
    *heads.get(seq)
}

/// Some heads of an index in which parents come first. Each is checked against its parent, so that those of a path are
/// consistent.
fn read_checked(index: &Index, first: usize, count: usize) -> Result<Vec<Head>, IndexError> {
    let heads = index.heads(first, count)?;
    let previous = match first.checked_sub(1).filter(|_| count > 0) {
        Some(before) => index.heads(before, 1)?.first().copied(),
        None => None,
    };
    let end = previous.map_or(0, |head| head.offset + u64::from(head.len) + 1);
    if heads.first().is_some_and(|head| head.offset < end) {
        return Err(IndexError::Inconsistent);
    }
    for (at, head) in heads.iter().enumerate() {
        let parent = match head.parent.map(Seq::index) {
            None => None,
            Some(parent) if parent >= first => Some(heads[parent - first]),
            Some(parent) if parent + 1 == first => previous,
            Some(parent) => index.heads(parent, 1)?.first().copied(),
        };
        let mut derived = *head;
        derived.derive(Seq::new(first + at), parent.as_ref());
        if derived != *head || head.needs_ids() {
            return Err(IndexError::Inconsistent);
        }
    }
    Ok(heads)
}
