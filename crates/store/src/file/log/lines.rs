//! Reads lines. A head from an index is used only if its line matches it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use osier_tree::entry::{flag, parse_entry};
use osier_tree::{Head, Heads, Seq};

use super::head_check::{ExpectedTarget, line_matches_head, matches_parsed};
use super::{HeadsSource, HeadsTrust, LogFile};
use crate::batch::LineBatch;
use crate::error::StoreError;
use crate::file::index::{Index, IndexError};

/// Lines with at most this gap between them are read together.
const MAX_GAP_BYTES: u64 = 4096;

/// Heads read from an index at once.
const HEADS_PER_PAGE: usize = 252;

/// The maximum number of lines read at once.
const MAX_LINES: usize = 16 << 10;

impl LogFile {
    /// See [`crate::Store::lines`].
    pub(in crate::file) fn lines(&mut self, seqs: &[Seq], batch: &mut LineBatch) -> Result<(), StoreError> {
        batch.clear();
        let entries = self.version().entries;
        let seqs = &seqs[..seqs.len().min(MAX_LINES)];
        if let Some(seq) = seqs.iter().find(|seq| seq.index() >= entries) {
            return Err(StoreError::NoSuchEntry { seq: seq.index() });
        }
        match self.fetch_checked(seqs, batch) {
            Some(Ok(())) => return Ok(()),
            Some(Err(wrong)) => {
                self.discard_index(wrong)?;
                return self.lines(seqs, batch);
            }
            None => {}
        }
        let HeadsSource::InMemory(all) = &self.heads_source else {
            unreachable!("lines from an index are checked")
        };
        if let Some(lines) = &self.migrated {
            for seq in seqs {
                if batch.is_full() {
                    break;
                }
                batch.push(&lines[all.get(*seq).offset as usize]);
            }
            return Ok(());
        }
        let mut bytes = 0;
        let mut heads: Vec<Head> = Vec::new();
        for seq in seqs {
            if bytes >= LineBatch::FULL_BYTES {
                break;
            }
            heads.push(*all.get(*seq));
            bytes += all.get(*seq).len as usize;
        }
        fetch(&self.file, &heads, batch).map_err(StoreError::io("read", &self.path))
    }

    /// Reads lines by heads from an index and checks them. `None` if the heads are not from an index.
    fn fetch_checked(&self, seqs: &[Seq], batch: &mut LineBatch) -> Option<Result<(), IndexError>> {
        match &self.heads_source {
            HeadsSource::Indexed(index) => Some(checked_lines(index, &self.file, seqs, batch)),
            HeadsSource::InMemory(heads) if self.trust != HeadsTrust::FromLines => {
                let mut get = |seq: Seq| Ok(*heads.get(seq));
                let claims =
                    UncheckedHeads { get: &mut get, size: self.read_state.end, regular: heads.is_regular() };
                let checked = claims.lines(&self.file, seqs, batch);
                Some(checked.and_then(|()| self.index_error().map_or(Ok(()), Err)))
            }
            HeadsSource::InMemory(_) => None,
        }
    }
}

/// Reads the lines of some entries by an index.
pub(super) fn checked_lines(
    index: &Index,
    file: &File,
    seqs: &[Seq],
    batch: &mut LineBatch,
) -> Result<(), IndexError> {
    let mut page: (usize, Vec<Head>) = (usize::MAX, Vec::new());
    let mut get = |seq: Seq| {
        if page.0 != seq.index() / HEADS_PER_PAGE {
            page = (
                seq.index() / HEADS_PER_PAGE,
                index.heads(seq.index() / HEADS_PER_PAGE * HEADS_PER_PAGE, HEADS_PER_PAGE)?,
            );
        }
        page.1.get(seq.index() % HEADS_PER_PAGE).copied().ok_or(IndexError::Inconsistent)
    };
    UncheckedHeads { get: &mut get, size: index.header.size, regular: index.header.regular }
        .lines(file, seqs, batch)?;
    // Within a page, `Index::heads` has checked that no line overlaps the next.
    let at_its_end = seqs.iter().zip(batch.iter()).filter(|(seq, _)| (seq.index() + 1) % HEADS_PER_PAGE == 0);
    let alone = at_its_end.into_iter().all(|(_, line)| memchr::memchr(b'\n', line).is_none());
    if alone { Ok(()) } else { Err(IndexError::Inconsistent) }
}

/// Heads from an index that are not verified yet.
struct UncheckedHeads<'a> {
    get: &'a mut dyn FnMut(Seq) -> Result<Head, IndexError>,
    /// The number of bytes of the file that they cover.
    size: u64,
    regular: bool,
}

impl UncheckedHeads<'_> {
    /// Reads the lines of some entries and checks each against its head and the head of its parent.
    fn lines(self, file: &File, seqs: &[Seq], batch: &mut LineBatch) -> Result<(), IndexError> {
        let mut bytes = 0;
        let mut heads: Vec<Head> = Vec::new();
        let mut parents: Vec<Option<Head>> = Vec::new();
        let mut previous: Option<(Seq, Head)> = None;
        for seq in seqs {
            if bytes >= LineBatch::FULL_BYTES {
                break;
            }
            let head = (self.get)(*seq)?;
            bytes += head.len as usize;
            let parent = match (head.parent, previous) {
                (None, _) => None,
                (Some(parent), Some((above, above_head))) if above == parent => Some(above_head),
                (Some(parent), _) => Some((self.get)(parent)?),
            };
            previous = Some((*seq, head));
            heads.push(head);
            parents.push(parent);
        }
        fetch_delimited(file, &heads, self.size, batch)?;
        let expected = seqs.iter().zip(heads.iter().zip(&parents));
        for (line, (seq, (head, parent))) in batch.iter().zip(expected) {
            let target = match head.target {
                Some(target) => ExpectedTarget::Entry((self.get)(target)?.id),
                None if self.regular => ExpectedTarget::None,
                None => ExpectedTarget::Unknown,
            };
            if !line_matches_head(line, *seq, head, parent.as_ref(), target) {
                return Err(IndexError::Inconsistent);
            }
        }
        Ok(())
    }
}

/// Reads the lines of the heads into a batch, as many as fit.
fn fetch(file: &File, heads: &[Head], batch: &mut LineBatch) -> io::Result<()> {
    batch.clear();
    let mut rest = heads;
    while !rest.is_empty() && !batch.is_full() {
        let (run, start, end) = first_run(rest);
        let (base, max_bytes) = batch.reserve((end - start) as usize);
        file.read_exact_at(max_bytes, start)?;
        add_spans(run, base, start, batch);
        rest = &rest[run.len()..];
    }
    Ok(())
}

/// Like `fetch`, but checks that each line starts after a newline and ends before one or at the end of the log at
/// `size`.
fn fetch_delimited(file: &File, heads: &[Head], size: u64, batch: &mut LineBatch) -> Result<(), IndexError> {
    batch.clear();
    let mut rest = heads;
    while !rest.is_empty() && !batch.is_full() {
        let (run, start, end) = first_run(rest);
        let (start, end) = (start.checked_sub(1).ok_or(IndexError::Inconsistent)?, size.min(end + 1));
        let (base, max_bytes) = batch.reserve((end - start) as usize);
        file.read_exact_at(max_bytes, start).map_err(|_| IndexError::Inconsistent)?;
        let framed = |head: &Head| {
            let from = (head.offset - start) as usize;
            let behind = max_bytes.get(from + head.len as usize);
            max_bytes[from - 1] == b'\n' && behind.is_none_or(|byte| *byte == b'\n')
        };
        if !run.iter().all(framed) {
            return Err(IndexError::Inconsistent);
        }
        add_spans(run, base, start, batch);
        rest = &rest[run.len()..];
    }
    Ok(())
}

/// The first heads whose lines can be read together, and the byte range of those lines.
fn first_run(heads: &[Head]) -> (&[Head], u64, u64) {
    let start = heads[0].offset;
    let mut end = start + u64::from(heads[0].len);
    let mut count = 1;
    for head in &heads[1..] {
        let near = head.offset >= end && head.offset <= end + MAX_GAP_BYTES;
        if !near || end - start >= LineBatch::FULL_BYTES as u64 {
            break;
        }
        end = head.offset + u64::from(head.len);
        count += 1;
    }
    (&heads[..count], start, end)
}

/// Adds the spans of the lines to a batch whose bytes from `base` on are those of the file from `start` on.
fn add_spans(heads: &[Head], base: usize, start: u64, batch: &mut LineBatch) {
    for head in heads {
        let from = base + (head.offset - start) as usize;
        batch.add_span(from..from + head.len as usize);
    }
}

/// Loads all heads of an index. Reads the lines of entries whose ids the fold needs.
pub(super) fn restore_heads(index: &Index, file: &File) -> Result<Heads, IndexError> {
    // In an ordered log a head depends only on earlier heads, so pages are enough.
    let step = if index.header.in_order { 16 * HEADS_PER_PAGE } else { usize::MAX };
    let mut heads = Heads::default();
    let mut cuts = Vec::new();
    let mut line = Vec::new();
    while heads.len() < index.header.entries as usize {
        let first = heads.len();
        let page = index.heads(first, step)?;
        // Within a page, `Index::heads` has checked that no line overlaps the next.
        let end = heads
            .last_seq()
            .map(|last| heads.get(last))
            .map_or(0, |last| last.offset + u64::from(last.len) + 1);
        if page.first().is_none_or(|head| head.offset < end) {
            return Err(IndexError::Inconsistent);
        }
        let above = |heads: &Heads, head: &Head| {
            head.parent.map(|parent| match parent.index().checked_sub(first) {
                Some(at) => page[at],
                None => *heads.get(parent),
            })
        };
        for (at, head) in page.iter().enumerate() {
            let above = above(&heads, head);
            let mut derived = *head;
            derived.derive(Seq::new(first + at), above.as_ref());
            // This also excludes cycles of parents, because the depth decreases by one at each step.
            if derived != *head {
                return Err(IndexError::Inconsistent);
            }
        }
        let mut rest = page.as_slice();
        while !rest.is_empty() {
            let plain = rest.iter().take_while(|head| !head.needs_ids()).count();
            heads.restore_all(&rest[..plain]);
            rest = &rest[plain..];
            let Some(head) = rest.first() else { break };
            rest = &rest[1..];
            line.resize(head.len as usize, 0);
            file.read_exact_at(&mut line, head.offset).map_err(|_| IndexError::Inconsistent)?;
            let above = above(&heads, head);
            if !matches_parsed(&line, head, above.as_ref(), ExpectedTarget::Unknown) {
                return Err(IndexError::Inconsistent);
            }
            let entry = parse_entry(&line).map_err(|_| IndexError::Inconsistent)?;
            let seq = heads.restore(*head, Some(&entry));
            // An entry that is its own parent never had one.
            let was_cut = head.has_flag(flag::CYCLE_BROKEN);
            if let Some(parent) = entry.parent.as_ref().filter(|parent| was_cut && **parent != entry.id) {
                cuts.push((seq, parent.to_string()));
            }
        }
    }
    heads.restore_cycle_parents(cuts);
    Ok(heads)
}
