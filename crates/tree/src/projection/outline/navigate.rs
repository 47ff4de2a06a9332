//! Cursor movement in a tree selector. The cursor is a row index.

use crate::fold::Place;
use crate::heads::Seq;

use super::{Outline, OutlineFilter, OutlineOptions};

/// The effect of a jump by branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchJump {
    Fold(Seq),
    Unfold(Seq),
    To(usize),
}

impl Outline {
    /// The cursor for a place: its row or the nearest shown ancestor, else the last row.
    pub fn cursor(&self, at: Place) -> Option<usize> {
        at.and_then(|seq| self.row_of(seq)).or_else(|| self.rows.len().checked_sub(1))
    }

    /// The key "left by a branch": folds the row, or moves to the start of its branch or of the one above.
    pub fn jump_left(&self, at: usize) -> Option<BranchJump> {
        let row = self.rows.get(at)?;
        Some(match row.is_foldable() && !row.folded {
            true => BranchJump::Fold(row.seq),
            false => BranchJump::To(self.branch_start(at)),
        })
    }

    /// The key "right by a branch": unfolds the row, or moves to the first child of the next branch point, or to the end.
    pub fn jump_right(&self, at: usize) -> Option<BranchJump> {
        let row = self.rows.get(at)?;
        Some(match row.folded {
            true => BranchJump::Unfold(row.seq),
            false => BranchJump::To(self.branch_end(at)),
        })
    }

    /// The nearest branch start above a row, or the root.
    pub fn branch_start(&self, at: usize) -> usize {
        let mut start = at;
        while let Some(parent) = self.rows[start].parent() {
            if self.rows[parent].children > 1 && start < at {
                break;
            }
            start = parent;
        }
        start
    }

    /// The first row after the next branch point below a row, or the end of the chain.
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

impl OutlineOptions {
    /// Sets the filter. Opens all folds, because other rows are shown.
    pub fn set_filter(&mut self, filter: OutlineFilter) {
        self.filter = filter;
        self.folded.clear();
    }

    pub fn set_search(&mut self, search: impl Into<String>) {
        self.search = search.into();
        self.folded.clear();
    }

    /// Applies a jump: folds or unfolds, or returns the row to move to.
    pub fn apply_jump(&mut self, jump: BranchJump) -> Option<usize> {
        match jump {
            BranchJump::Fold(seq) => drop(self.folded.insert(seq)),
            BranchJump::Unfold(seq) => drop(self.folded.remove(&seq)),
            BranchJump::To(row) => return Some(row),
        }
        None
    }
}
