//! The children of each entry. Built on first use.

use std::ops::Range;

use crate::entry::flag;
use crate::heads::{Heads, Seq};

/// The children of each entry, oldest first, and the roots in log order.
#[derive(Debug)]
pub struct Children {
    /// The start of each entry's children in `list` is one further than the entry; the roots come last.
    start: Vec<u32>,
    list: Vec<Seq>,
}

impl Children {
    pub(crate) fn from_heads(heads: &Heads) -> Children {
        let roots = heads.len();
        let slot = |parent: Option<Seq>| parent.map_or(roots, Seq::index);
        let current = || heads.iter().filter(|(_, head)| !head.has_flag(flag::SUPERSEDED));
        let mut start = vec![0u32; roots + 3];
        for (_, head) in current() {
            start[slot(head.parent) + 1] += 1;
        }
        for at in 1..start.len() {
            start[at] += start[at - 1];
        }
        // These are the ends. Each becomes a start while the children are added, the last one first.
        let mut list = vec![Seq::new(0); start[roots + 2] as usize];
        for seq in (0..roots).rev().map(Seq::new) {
            let head = heads.get(seq);
            if !head.has_flag(flag::SUPERSEDED) {
                let at = &mut start[slot(head.parent) + 1];
                *at -= 1;
                list[*at as usize] = seq;
            }
        }
        let mut children = Children { start, list };
        for parent in 0..roots {
            let siblings = children.range(parent);
            if siblings.len() > 1 {
                children.list[siblings].sort_by_key(|seq| heads.get(*seq).time);
            }
        }
        children
    }

    pub fn of_entry(&self, seq: Seq) -> &[Seq] {
        self.slice(seq.index())
    }

    pub fn roots(&self) -> &[Seq] {
        self.slice(self.start.len() - 3)
    }

    /// The children of an entry, or the roots for `None`.
    pub fn below(&self, at: Option<Seq>) -> &[Seq] {
        at.map_or_else(|| self.roots(), |seq| self.of_entry(seq))
    }

    fn slice(&self, at: usize) -> &[Seq] {
        &self.list[self.range(at)]
    }

    fn range(&self, at: usize) -> Range<usize> {
        self.start[at + 1] as usize..self.start[at + 2] as usize
    }
}
