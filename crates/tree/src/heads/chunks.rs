//! The heads themselves, in chunks that copies share. Those that a store has already read once can stay there until somebody
//! needs them.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use super::{Head, Seq};

const CHUNK: usize = 256;

/// The first heads of a log, kept by a store and read on first use. What it returns never changes: a source that turns out to be
/// wrong must get the heads elsewhere, and report the error in its own way.
pub trait StoredHeads: Debug + Send + Sync {
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The heads of `count` entries, starting at index `first`.
    fn read(&self, first: usize, count: usize) -> Vec<Head>;

    /// The entries whose bodies the fold reads; see [`crate::EntryKind::folds_body`].
    fn entries_with_folded_body(&self) -> Vec<Seq>;
}

#[derive(Debug, Clone, Default)]
pub(super) struct HeadChunks {
    stored: Option<Arc<StoredChunks>>,
    /// They follow the stored ones.
    full: Arc<Vec<Arc<[Head]>>>,
    last: Arc<Vec<Head>>,
}

#[derive(Debug)]
struct StoredChunks {
    source: Arc<dyn StoredHeads>,
    chunks: Box<[OnceLock<Box<[Head]>>]>,
}

impl HeadChunks {
    pub(super) fn from_stored(source: Arc<dyn StoredHeads>) -> HeadChunks {
        let full = source.len() / CHUNK;
        let last = source.read(full * CHUNK, source.len() % CHUNK);
        let chunks = std::iter::repeat_with(OnceLock::new).take(full).collect();
        HeadChunks {
            stored: Some(Arc::new(StoredChunks { source, chunks })),
            full: Arc::default(),
            last: Arc::new(last),
        }
    }

    fn stored_chunks(&self) -> usize {
        self.stored.as_ref().map_or(0, |stored| stored.chunks.len())
    }

    pub(super) fn len(&self) -> usize {
        (self.stored_chunks() + self.full.len()) * CHUNK + self.last.len()
    }

    #[inline]
    pub(super) fn get(&self, seq: Seq) -> &Head {
        let (mut chunk, at) = (seq.index() / CHUNK, seq.index() % CHUNK);
        if let Some(stored) = &self.stored {
            if chunk < stored.chunks.len() {
                return &stored.chunk(chunk)[at];
            }
            chunk -= stored.chunks.len();
        }
        match self.full.get(chunk) {
            Some(heads) => &heads[at],
            None => &self.last[seq.index() - (self.stored_chunks() + self.full.len()) * CHUNK],
        }
    }

    /// The entries whose bodies the fold reads.
    pub(super) fn entries_with_folded_body(&self) -> Vec<Seq> {
        let (mut entries, stored) = match &self.stored {
            Some(stored) => (stored.source.entries_with_folded_body(), stored.source.len()),
            None => (Vec::new(), 0),
        };
        let later = (stored..self.len()).map(Seq::new);
        entries.extend(later.filter(|seq| self.get(*seq).kind.folds_body()));
        entries
    }

    pub(super) fn push(&mut self, head: Head) {
        Arc::make_mut(&mut self.last).push(head);
        self.end_full_chunk();
    }

    fn end_full_chunk(&mut self) {
        let last = Arc::make_mut(&mut self.last);
        if last.len() == CHUNK {
            Arc::make_mut(&mut self.full).push(last.as_slice().into());
            last.clear();
        }
    }

    pub(super) fn extend(&mut self, mut heads: &[Head]) {
        while !heads.is_empty() {
            let last = Arc::make_mut(&mut self.last);
            if let (true, Some((chunk, rest))) = (last.is_empty(), heads.split_at_checked(CHUNK)) {
                Arc::make_mut(&mut self.full).push(chunk.into());
                heads = rest;
                continue;
            }
            let (some, rest) = heads.split_at((CHUNK - last.len()).min(heads.len()));
            last.extend_from_slice(some);
            self.end_full_chunk();
            heads = rest;
        }
    }

    /// Changes an old head, which only damaged logs need.
    pub(super) fn update(&mut self, seq: Seq, change: impl FnOnce(&mut Head)) {
        if seq.index() < self.stored_chunks() * CHUNK {
            self.read_all();
        }
        let (chunk, at) = (seq.index() / CHUNK, seq.index() % CHUNK);
        match chunk.checked_sub(self.stored_chunks()) {
            Some(chunk) if chunk < self.full.len() => {
                change(&mut Arc::make_mut(&mut Arc::make_mut(&mut self.full)[chunk])[at]);
            }
            _ => change(&mut Arc::make_mut(&mut self.last)[at]),
        }
    }

    /// Reads the stored heads and keeps them like all others.
    fn read_all(&mut self) {
        let Some(stored) = self.stored.take() else { return };
        let read = (0..stored.chunks.len()).map(|chunk| Arc::from(stored.chunk(chunk)));
        self.full = Arc::new(read.chain(self.full.iter().cloned()).collect());
    }
}

impl StoredChunks {
    fn chunk(&self, number: usize) -> &[Head] {
        self.chunks[number].get_or_init(|| self.source.read(number * CHUNK, CHUNK).into())
    }
}
