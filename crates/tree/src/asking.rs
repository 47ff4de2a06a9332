//! Work that wants to see lines as it goes: it names the next ones, is given them, and says when it has seen enough.
//!
//! So the cost of a question follows the part of the path it concerns, and whoever fetches lines may wait for them.

use crate::heads::{Head, Seq};
use crate::projection::Lines;
use crate::walk::Item;

/// See the module.
pub trait Asks {
    /// The lines it needs next, in any order; none when it is done.
    fn wants(&self) -> Vec<Seq>;

    /// Gives it the lines it wanted. One that cannot be had counts as one that says nothing.
    fn give(&mut self, lines: &dyn Lines);
}

/// Lets `asks` see what it wants of lines that are all at hand.
pub fn answer(asks: &mut dyn Asks, lines: &dyn Lines) {
    while !asks.wants().is_empty() {
        asks.give(lines);
    }
}

/// An entry of a context with its head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) item: Item,
    pub(crate) head: Head,
}

/// Pieces taken by batches, each about twice as large as the one before.
#[derive(Debug)]
pub(crate) struct Batches {
    next: usize,
    bytes: usize,
}

impl Batches {
    const FIRST: usize = 16 << 10;
    const LARGEST: usize = 1 << 20;

    pub(crate) fn new() -> Batches {
        Batches { next: 0, bytes: Batches::FIRST }
    }

    /// The pieces of the next batch.
    pub(crate) fn next<'p>(&self, pieces: &'p [Piece]) -> &'p [Piece] {
        let rest = &pieces[self.next.min(pieces.len())..];
        let mut bytes = 0;
        let enough = rest.iter().position(|piece| {
            bytes += piece.head.len as usize;
            bytes >= self.bytes
        });
        &rest[..enough.map_or(rest.len(), |last| last + 1)]
    }

    /// The lines of the next batch.
    pub(crate) fn wants(&self, pieces: &[Piece]) -> Vec<Seq> {
        self.next(pieces)
            .iter()
            .flat_map(|piece| std::iter::once(piece.item.seq).chain(piece.item.edit))
            .collect()
    }

    pub(crate) fn take(&mut self, count: usize) {
        self.next += count;
        self.bytes = (self.bytes * 2).min(Batches::LARGEST);
    }
}
