//! Computations that read the lines of entries step by step: each returns the lines it needs next, is fed those lines,
//! and stops as soon as it has seen enough.
//!
//! A computation therefore reads only the part of the path that it depends on, and the caller may fetch lines
//! asynchronously.

use crate::heads::{Head, Seq};
use crate::projection::Lines;
use crate::walk::ContextItem;

/// A computation that reads lines step by step; see the module documentation.
pub trait LineConsumer {
    /// The lines needed next, in any order. Empty when the computation is done.
    fn needed_lines(&self) -> Vec<Seq>;

    /// Passes in the lines that were needed. A line that is not available counts as empty.
    fn feed(&mut self, lines: &dyn Lines);
}

/// Runs a computation to its end with lines that are all available.
pub fn feed_all(consumer: &mut dyn LineConsumer, lines: &dyn Lines) {
    while !consumer.needed_lines().is_empty() {
        consumer.feed(lines);
    }
}

/// An entry of a context, with its head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContextEntry {
    pub(crate) item: ContextItem,
    pub(crate) head: Head,
}

/// Iterates over entries in batches, each about twice as large (in bytes) as the one before.
#[derive(Debug)]
pub(crate) struct Batches {
    next: usize,
    bytes: usize,
}

impl Batches {
    const FIRST_BYTES: usize = 16 << 10;
    const MAX_BYTES: usize = 1 << 20;

    pub(crate) fn new() -> Batches {
        Batches { next: 0, bytes: Batches::FIRST_BYTES }
    }

    /// The entries of the next batch.
    pub(crate) fn next<'p>(&self, context_entries: &'p [ContextEntry]) -> &'p [ContextEntry] {
        let rest = &context_entries[self.next.min(context_entries.len())..];
        let mut bytes = 0;
        let last = rest.iter().position(|context_entry| {
            bytes += context_entry.head.len as usize;
            bytes >= self.bytes
        });
        &rest[..last.map_or(rest.len(), |last| last + 1)]
    }

    /// The lines of the next batch, those of context edits included.
    pub(crate) fn needed_lines(&self, context_entries: &[ContextEntry]) -> Vec<Seq> {
        self.next(context_entries)
            .iter()
            .flat_map(|context_entry| std::iter::once(context_entry.item.seq).chain(context_entry.item.edit))
            .collect()
    }

    /// Moves past a batch of `count` entries.
    pub(crate) fn advance(&mut self, count: usize) {
        self.next += count;
        self.bytes = (self.bytes * 2).min(Batches::MAX_BYTES);
    }
}
