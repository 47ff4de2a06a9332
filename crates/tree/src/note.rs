//! Backtracking to a checkpoint: which checkpoints are available, whether another backtrack is allowed, and the addendum
//! that the program appends to the model's note.
//!
//! The addendum lists facts that remain true, such as changed files. It is computed from the discarded part of the path,
//! including what earlier backtracks in it discarded. It does not repeat the part that stays: the model still sees that.

mod doings;
mod gather;
mod section;
mod texts;

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::asking::Asks;
use crate::draft::Draft;
use crate::entry::{Kind, Role};
use crate::fold::{Checkpoint, Place, SessionTree};
use crate::heads::Seq;
use crate::plan::PlanError;
use crate::projection::Lines;
use crate::projection::preview::{field, shown_text};
use crate::scan::Raw;

use gather::Facts;
pub(crate) use section::cut;

pub use texts::{DESCRIPTION, INVALID_ARGUMENTS, PENDING, SCHEDULED, UNAVAILABLE};

/// The maximum length of the addendum, in characters.
pub const BUDGET: usize = 6_000;

/// How often the model may return to the same checkpoint without any progress in between.
pub const RETURNS: usize = 3;

/// The maximum length of the stored original user message, in characters.
const ORIGINAL: usize = 2_000;

impl SessionTree {
    /// The checkpoints that the model sees at a place and can return to: those that no compaction hides.
    pub fn available_checkpoints(&self, at: Place) -> Vec<Checkpoint> {
        let mut checkpoints = self.checkpoints(at);
        let seen: BTreeSet<Seq> = self.context_entries(at).items.iter().map(|item| item.seq).collect();
        checkpoints.retain(|checkpoint| seen.contains(&checkpoint.entry));
        checkpoints
    }

    /// Finds a checkpoint by number. The error lists the available ones.
    pub fn require_checkpoint(&self, at: Place, number: i64) -> Result<Checkpoint, PlanError> {
        let checkpoints = self.available_checkpoints(at);
        let wanted = usize::try_from(number).ok();
        let found = checkpoints.iter().find(|checkpoint| Some(checkpoint.number) == wanted);
        let available = || ranges(checkpoints.iter().map(|checkpoint| checkpoint.number));
        found.copied().ok_or_else(|| PlanError::InvalidCheckpoint { number, available: available() })
    }

    /// Starts planning a backtrack to a checkpoint on the path to `from`; see `BacktrackPlanner`.
    pub fn returning(&self, from: Place, to: Checkpoint) -> Returning<'_> {
        let (held, asked) = Default::default();
        Returning { tree: self, from, to, held, asked }
    }
}

/// Plans a backtrack: requests the lines of the discarded part, then checks whether the backtrack is allowed and builds its
/// entry.
#[derive(Debug)]
pub struct Returning<'t> {
    tree: &'t SessionTree,
    from: Place,
    to: Checkpoint,
    held: FxHashMap<Seq, Vec<u8>>,
    asked: FxHashSet<Seq>,
}

impl Asks for Returning<'_> {
    fn wants(&self) -> Vec<Seq> {
        let mut wanted: Vec<Seq> = self.left_behind().into_iter().chain(self.original()).collect();
        wanted.retain(|seq| !self.asked.contains(seq));
        wanted
    }

    fn give(&mut self, lines: &dyn Lines) {
        let wanted = self.wants();
        self.held.extend(wanted.iter().filter_map(|seq| Some((*seq, lines.line(*seq)?.to_vec()))));
        self.asked.extend(wanted);
    }
}

impl Returning<'_> {
    /// Checks whether another backtrack is allowed. After `MAX_BACKTRACKS` of them to the same checkpoint there must be
    /// progress: a file change, a user message or a user command.
    pub fn allowed(&self) -> Result<(), PlanError> {
        let left = self.left_behind();
        let progress = gather::last_progress(self.tree, &left, &self.held);
        let is_return = |seq: &Seq| {
            let head = self.tree.head(*seq);
            head.kind == Kind::Backtrack && head.parent == Some(self.to.entry) && Some(*seq) > progress
        };
        match left.iter().filter(|seq| is_return(seq)).count() {
            times if times >= RETURNS => Err(PlanError::TooManyReturns { number: self.to.number, times }),
            _ => Ok(()),
        }
    }

    /// The backtrack entry: the model's note, with an addendum of at most about `budget` characters.
    pub fn plan(&self, note: &str, budget: usize) -> Draft {
        let entry = self.original().and_then(|seq| Lines::entry(&self.held, seq));
        let original = entry.as_ref().map(shown_text).unwrap_or_default();
        let original = cut(&original, ORIGINAL);
        self.tree.plan_backtrack(self.from, self.to, note, &self.addendum(budget), &original)
    }

    /// The text that the program appends to the note.
    pub fn addendum(&self, budget: usize) -> String {
        Facts::of(self.tree, &self.left_behind(), &self.held).told(budget)
    }

    /// The user message that the checkpoint belongs to.
    fn original(&self) -> Option<Seq> {
        self.tree.heads().up(Some(self.to.entry)).find(|seq| self.tree.head(*seq).role == Role::User)
    }

    /// The entries that the backtrack discards, as far as they are known, in log order.
    fn left_behind(&self) -> BTreeSet<Seq> {
        let heads = self.tree.heads();
        let mut left = BTreeSet::new();
        let mut parts = vec![(self.from, self.to.entry)];
        while let Some((end, above)) = parts.pop() {
            if !heads.is_ancestor(above, end) {
                continue;
            }
            for seq in heads.up(end).take_while(|seq| *seq != above) {
                if left.insert(seq) {
                    parts.extend(self.left_by(seq));
                }
            }
        }
        left
    }

    /// The part that an earlier backtrack discarded: its end, and the checkpoint above it.
    fn left_by(&self, seq: Seq) -> Option<(Place, Seq)> {
        let head = self.tree.head(seq);
        if head.kind != Kind::Backtrack {
            return None;
        }
        let entry = Lines::entry(&self.held, seq)?;
        let end = field(&entry, "details")?.get("fromId").and_then(Raw::text)?;
        let end = self.tree.find(&end).filter(|end| !self.tree.is_hidden(*end))?;
        Some((Some(end), head.parent?))
    }
}

/// Formats sorted numbers as ranges, such as `2-5, 7-7`.
fn ranges(numbers: impl Iterator<Item = usize>) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    if ranges.is_empty() {
        return "none".to_owned();
    }
    ranges.iter().map(|(first, last)| format!("{first}-{last}")).collect::<Vec<_>>().join(", ")
}
