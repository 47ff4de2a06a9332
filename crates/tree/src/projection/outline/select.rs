//! Where the keys of a tree selector lead. The cursor is a row's number.

use crate::fold::Place;
use crate::heads::Seq;

use super::{Filter, Options, Outline};

/// What a jump by branches does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leap {
    Fold(Seq),
    Unfold(Seq),
    To(usize),
}

impl Outline {
    /// Where the cursor stands for a place: on its row or the nearest one above it, else on the last row.
    pub fn cursor(&self, at: Place) -> Option<usize> {
        at.and_then(|seq| self.row_of(seq)).or_else(|| self.rows.len().checked_sub(1))
    }

    /// The key "left by a branch": folds, or goes to the start of this branch, or of the one above.
    pub fn leap_left(&self, at: usize) -> Option<Leap> {
        let row = self.rows.get(at)?;
        Some(match row.is_foldable() && !row.folded {
            true => Leap::Fold(row.seq),
            false => Leap::To(self.branch_start(at)),
        })
    }

    /// The key "right by a branch": unfolds, or goes to the first child of the next branch point, or to the end.
    pub fn leap_right(&self, at: usize) -> Option<Leap> {
        let row = self.rows.get(at)?;
        Some(match row.folded {
            true => Leap::Unfold(row.seq),
            false => Leap::To(self.branch_end(at)),
        })
    }

    /// The nearest start of a branch above a row, or the root.
    pub fn branch_start(&self, at: usize) -> usize {
        let mut start = at;
        while let Some(parent) = self.rows[start].parent {
            if self.rows[parent as usize].children > 1 && start < at {
                break;
            }
            start = parent as usize;
        }
        start
    }

    /// The first row beyond the next branch point below a row, or the end of the chain.
    pub fn branch_end(&self, at: usize) -> usize {
        let mut end = at;
        // A row's first child is the row after it.
        loop {
            match self.rows[end].children {
                0 => return end,
                1 => end += 1,
                _ => return end + 1,
            }
        }
    }
}

impl Options {
    /// Another filter or search shows other rows, so folds are opened.
    pub fn set_filter(&mut self, filter: Filter) {
        self.filter = filter;
        self.folded.clear();
    }

    pub fn set_search(&mut self, search: impl Into<String>) {
        self.search = search.into();
        self.folded.clear();
    }

    /// Carries out a leap as far as it folds, and tells the row to go to, if any.
    pub fn leap(&mut self, leap: Leap) -> Option<usize> {
        match leap {
            Leap::Fold(seq) => drop(self.folded.insert(seq)),
            Leap::Unfold(seq) => drop(self.folded.remove(&seq)),
            Leap::To(row) => return Some(row),
        }
        None
    }
}
