//! Reads lines. A head from an index is used only if its line matches it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use osier_tree::entry::{flag, read_entry};
use osier_tree::{Head, Heads, Seq};

use super::proof::{Target, is_as_read, is_that};
use super::{Log, State, Trust};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::file::index::{Index, Wrong};

/// Lines with at most this gap between them are read together.
const NEAR: u64 = 4096;

/// Heads read from an index at once.
const PAGE: usize = 252;

/// The maximum number of lines read at once.
const MOST: usize = 16 << 10;

impl Log {
    /// See [`crate::Store::lines`].
    pub(in crate::file) fn lines(&mut self, wanted: &[Seq], batch: &mut Batch) -> Result<(), StoreError> {
        batch.clear();
        let entries = self.version().entries;
        let wanted = &wanted[..wanted.len().min(MOST)];
        if let Some(seq) = wanted.iter().find(|seq| seq.index() >= entries) {
            return Err(StoreError::NoSuchEntry { seq: seq.index() });
        }
        match self.fetch_proved(wanted, batch) {
            Some(Ok(())) => return Ok(()),
            Some(Err(wrong)) => {
                self.distrust(wrong)?;
                return self.lines(wanted, batch);
            }
            None => {}
        }
        let State::Folded(all) = &self.state else { unreachable!("lines from an index are checked") };
        if let Some(lines) = &self.migrated {
            for seq in wanted {
                if batch.is_full() {
                    break;
                }
                batch.push(&lines[all.get(*seq).offset as usize]);
            }
            return Ok(());
        }
        let mut bytes = 0;
        let mut heads: Vec<Head> = Vec::new();
        for seq in wanted {
            if bytes >= Batch::FULL {
                break;
            }
            heads.push(*all.get(*seq));
            bytes += all.get(*seq).len as usize;
        }
        fetch(&self.file, &heads, batch).map_err(StoreError::io("read", &self.path))
    }

    /// Reads lines by heads from an index and checks them. `None` if the heads are not from an index.
    fn fetch_proved(&self, wanted: &[Seq], batch: &mut Batch) -> Option<Result<(), Wrong>> {
        match &self.state {
            State::Indexed(index) => Some(proved_lines(index, &self.file, wanted, batch)),
            State::Folded(heads) if self.trust != Trust::Seen => {
                let mut get = |seq: Seq| Ok(*heads.get(seq));
                let claims =
                    Claims { get: &mut get, size: self.reached.covered, regular: heads.is_regular() };
                Some(claims.lines(&self.file, wanted, batch))
            }
            State::Folded(_) => None,
        }
    }
}

/// Reads the lines of some entries by an index.
pub(super) fn proved_lines(
    index: &Index,
    file: &File,
    wanted: &[Seq],
    batch: &mut Batch,
) -> Result<(), Wrong> {
    let mut page: (usize, Vec<Head>) = (usize::MAX, Vec::new());
    let mut get = |seq: Seq| {
        if page.0 != seq.index() / PAGE {
            page = (seq.index() / PAGE, index.heads(seq.index() / PAGE * PAGE, PAGE)?);
        }
        page.1.get(seq.index() % PAGE).copied().ok_or(Wrong::Lies)
    };
    Claims { get: &mut get, size: index.cover.size, regular: index.cover.regular }
        .lines(file, wanted, batch)?;
    // Within a page, `Index::heads` has checked that no line overlaps the next.
    let at_its_end = wanted.iter().zip(batch.iter()).filter(|(seq, _)| (seq.index() + 1) % PAGE == 0);
    let alone = at_its_end.into_iter().all(|(_, line)| memchr::memchr(b'\n', line).is_none());
    if alone { Ok(()) } else { Err(Wrong::Lies) }
}

/// Heads from an index that are not verified yet.
struct Claims<'a> {
    get: &'a mut dyn FnMut(Seq) -> Result<Head, Wrong>,
    /// The number of bytes of the file that they cover.
    size: u64,
    regular: bool,
}

impl Claims<'_> {
    /// Reads the lines of some entries and checks each against its head and the head of its parent.
    fn lines(self, file: &File, wanted: &[Seq], batch: &mut Batch) -> Result<(), Wrong> {
        let mut bytes = 0;
        let mut heads: Vec<Head> = Vec::new();
        let mut parents: Vec<Option<Head>> = Vec::new();
        let mut previous: Option<(Seq, Head)> = None;
        for seq in wanted {
            if bytes >= Batch::FULL {
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
        fetch_framed(file, &heads, self.size, batch)?;
        let expected = wanted.iter().zip(heads.iter().zip(&parents));
        for (line, (seq, (head, parent))) in batch.iter().zip(expected) {
            let target = match head.target {
                Some(target) => Target::Is((self.get)(target)?.id),
                None if self.regular => Target::None,
                None => Target::Unknown,
            };
            if !is_that(line, *seq, head, parent.as_ref(), target) {
                return Err(Wrong::Lies);
            }
        }
        Ok(())
    }
}

/// Reads the lines of the heads into a batch, as many as fit.
fn fetch(file: &File, heads: &[Head], batch: &mut Batch) -> io::Result<()> {
    batch.clear();
    let mut rest = heads;
    while !rest.is_empty() && !batch.is_full() {
        let (run, start, end) = first_run(rest);
        let (base, room) = batch.room((end - start) as usize);
        file.read_exact_at(room, start)?;
        name(run, base, start, batch);
        rest = &rest[run.len()..];
    }
    Ok(())
}

/// Like `fetch`, but checks that each line starts after a newline and ends before one or at the end of the log at
/// `size`.
fn fetch_framed(file: &File, heads: &[Head], size: u64, batch: &mut Batch) -> Result<(), Wrong> {
    batch.clear();
    let mut rest = heads;
    while !rest.is_empty() && !batch.is_full() {
        let (run, start, end) = first_run(rest);
        let (start, end) = (start.checked_sub(1).ok_or(Wrong::Lies)?, size.min(end + 1));
        let (base, room) = batch.room((end - start) as usize);
        file.read_exact_at(room, start).map_err(|_| Wrong::Lies)?;
        let framed = |head: &Head| {
            let from = (head.offset - start) as usize;
            let behind = room.get(from + head.len as usize);
            room[from - 1] == b'\n' && behind.is_none_or(|byte| *byte == b'\n')
        };
        if !run.iter().all(framed) {
            return Err(Wrong::Lies);
        }
        name(run, base, start, batch);
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
        let near = head.offset >= end && head.offset <= end + NEAR;
        if !near || end - start >= Batch::FULL as u64 {
            break;
        }
        end = head.offset + u64::from(head.len);
        count += 1;
    }
    (&heads[..count], start, end)
}

/// Adds the spans of the lines to a batch whose bytes from `base` on are those of the file from `start` on.
fn name(heads: &[Head], base: usize, start: u64, batch: &mut Batch) {
    for head in heads {
        let from = base + (head.offset - start) as usize;
        batch.name(from..from + head.len as usize);
    }
}

/// Loads all heads of an index. Reads the lines of entries whose ids the fold needs.
pub(super) fn restore(index: &Index, file: &File) -> Result<Heads, Wrong> {
    // In an ordered log a head depends only on earlier heads, so pages are enough.
    let step = if index.cover.in_order { 16 * PAGE } else { usize::MAX };
    let mut heads = Heads::default();
    let mut cuts = Vec::new();
    let mut line = Vec::new();
    while heads.len() < index.cover.entries as usize {
        let first = heads.len();
        let page = index.heads(first, step)?;
        // Within a page, `Index::heads` has checked that no line overlaps the next.
        let end = heads
            .last_seq()
            .map(|last| heads.get(last))
            .map_or(0, |last| last.offset + u64::from(last.len) + 1);
        if page.first().is_none_or(|head| head.offset < end) {
            return Err(Wrong::Lies);
        }
        for head in &page {
            let above = head.parent.map(|parent| match parent.index().checked_sub(first) {
                Some(at) => page[at],
                None => *heads.get(parent),
            });
            let mut derived = *head;
            derived.derive(Seq::new(heads.len()), above.as_ref());
            // This also excludes cycles of parents, because the depth decreases by one at each step.
            if derived != *head {
                return Err(Wrong::Lies);
            }
            if !head.wants_ids() {
                heads.restore(*head, None);
                continue;
            }
            line.resize(head.len as usize, 0);
            file.read_exact_at(&mut line, head.offset).map_err(|_| Wrong::Lies)?;
            if !is_as_read(&line, head, above.as_ref(), Target::Unknown) {
                return Err(Wrong::Lies);
            }
            let entry = read_entry(&line).map_err(|_| Wrong::Lies)?;
            let seq = heads.restore(*head, Some(&entry));
            // An entry that is its own parent never had one.
            let was_cut = head.has(flag::CUT);
            if let Some(parent) = entry.parent.as_ref().filter(|parent| was_cut && **parent != entry.id) {
                cuts.push((seq, parent.to_string()));
            }
        }
    }
    heads.restore_cuts(cuts);
    Ok(heads)
}
