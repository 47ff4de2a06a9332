//! The children of each entry. Built on first use.

use crate::entry::flag;
use crate::heads::{Heads, Seq};

/// The children of each entry, oldest first, and the roots in log order.
#[derive(Debug)]
pub struct Children {
    /// The start of each entry's children in `list`; the roots come last.
    start: Vec<u32>,
    list: Vec<Seq>,
}

impl Children {
    pub(crate) fn from_heads(heads: &Heads) -> Children {
        let roots = heads.len();
        let slot = |parent: Option<Seq>| parent.map_or(roots, Seq::index);
        let current = || heads.iter().filter(|(_, head)| !head.has_flag(flag::SUPERSEDED));
        let mut start = vec![0u32; roots + 2];
        for (_, head) in current() {
            start[slot(head.parent) + 1] += 1;
        }
        for at in 1..start.len() {
            start[at] += start[at - 1];
        }
        let mut next = start.clone();
        let mut list = vec![Seq::new(0); start[roots + 1] as usize];
        for (seq, head) in current() {
            let at = &mut next[slot(head.parent)];
            list[*at as usize] = seq;
            *at += 1;
        }
        for parent in 0..roots {
            let siblings = &mut list[start[parent] as usize..start[parent + 1] as usize];
            if siblings.len() > 1 {
                siblings.sort_by_key(|seq| heads.get(*seq).time);
            }
        }
        Children { start, list }
    }

    pub fn of_entry(&self, seq: Seq) -> &[Seq] {
        self.slice(seq.index())
    }

    pub fn roots(&self) -> &[Seq] {
        self.slice(self.start.len() - 2)
    }

    /// The children of an entry, or the roots for `None`.
    pub fn below(&self, at: Option<Seq>) -> &[Seq] {
        at.map_or_else(|| self.roots(), |seq| self.of_entry(seq))
    }

    fn slice(&self, at: usize) -> &[Seq] {
        &self.list[self.start[at] as usize..self.start[at + 1] as usize]
    }
}
