//! Backtracking to a checkpoint: which checkpoints are available, whether another backtrack is allowed, and the addendum
//! that the program appends to the model's note.
//!
//! The addendum lists facts that remain true, such as changed files. It is computed from the discarded part of the path,
//! including what earlier backtracks in it discarded. It does not repeat the part that stays: the model still sees that.

mod actions;
mod facts;
mod section;
mod texts;

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::draft::EntryDraft;
use crate::entry::{EntryKind, MessageRole};
use crate::fold::{Checkpoint, Place, SessionTree};
use crate::heads::Seq;
use crate::line_consumer::LineConsumer;
use crate::plan::PlanError;
use crate::projection::Lines;
use crate::projection::preview::{field, shown_text};
use crate::scan::RawJson;

use facts::DiscardedFacts;
pub(crate) use section::truncate;

pub use texts::{ALREADY_PENDING, DESCRIPTION, INVALID_ARGUMENTS, SCHEDULED, UNAVAILABLE};

/// The maximum length of the addendum, in characters.
pub const ADDENDUM_BUDGET: usize = 6_000;

/// How often the model may return to the same checkpoint without any progress in between.
pub const MAX_BACKTRACKS: usize = 3;

/// The maximum length of the stored original user message, in characters.
const MAX_ORIGINAL_CHARS: usize = 2_000;

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
        let available = || format_ranges(checkpoints.iter().map(|checkpoint| checkpoint.number));
        found.copied().ok_or_else(|| PlanError::InvalidCheckpoint { number, available: available() })
    }

    /// Starts planning a backtrack to a checkpoint on the path to `from`; see `BacktrackPlanner`.
    pub fn backtrack_planner(&self, from: Place, to: Checkpoint) -> BacktrackPlanner<'_> {
        let (held, asked) = Default::default();
        BacktrackPlanner { tree: self, from, to, lines: held, requested: asked }
    }
}

/// Plans a backtrack: requests the lines of the discarded part, then checks whether the backtrack is allowed and builds its
/// entry.
#[derive(Debug)]
pub struct BacktrackPlanner<'t> {
    tree: &'t SessionTree,
    from: Place,
    to: Checkpoint,
    lines: FxHashMap<Seq, Vec<u8>>,
    requested: FxHashSet<Seq>,
}

impl LineConsumer for BacktrackPlanner<'_> {
    fn needed_lines(&self) -> Vec<Seq> {
        let mut wanted: Vec<Seq> =
            self.discarded_entries().into_iter().chain(self.original_message()).collect();
        wanted.retain(|seq| !self.requested.contains(seq));
        wanted
    }

    fn feed(&mut self, lines: &dyn Lines) {
        let wanted = self.needed_lines();
        self.lines.extend(wanted.iter().filter_map(|seq| Some((*seq, lines.line(*seq)?.to_vec()))));
        self.requested.extend(wanted);
    }
}

impl BacktrackPlanner<'_> {
    /// Checks whether another backtrack is allowed. After `MAX_BACKTRACKS` of them to the same checkpoint there must be
    /// progress: a file change, a user message or a user command.
    pub fn check_allowed(&self) -> Result<(), PlanError> {
        let left = self.discarded_entries();
        let progress = facts::last_progress(self.tree, &left, &self.lines);
        let is_return = |seq: &Seq| {
            let head = self.tree.head(*seq);
            head.kind == EntryKind::Backtrack && head.parent == Some(self.to.entry) && Some(*seq) > progress
        };
        match left.iter().filter(|seq| is_return(seq)).count() {
            times if times >= MAX_BACKTRACKS => {
                Err(PlanError::TooManyReturns { number: self.to.number, times })
            }
            _ => Ok(()),
        }
    }

    /// The backtrack entry: the model's note, with an addendum of at most about `budget` characters.
    pub fn plan(&self, note: &str, budget: usize) -> EntryDraft {
        let entry = self.original_message().and_then(|seq| Lines::entry(&self.lines, seq));
        let original = entry.as_ref().map(shown_text).unwrap_or_default();
        let original = truncate(&original, MAX_ORIGINAL_CHARS);
        self.tree.plan_backtrack(self.from, self.to, note, &self.addendum(budget), &original)
    }

    /// The text that the program appends to the note.
    pub fn addendum(&self, budget: usize) -> String {
        DiscardedFacts::collect(self.tree, &self.discarded_entries(), &self.lines).into_text(budget)
    }

    /// The user message that the checkpoint belongs to.
    fn original_message(&self) -> Option<Seq> {
        self.tree
            .heads()
            .ancestors(Some(self.to.entry))
            .find(|seq| self.tree.head(*seq).role == MessageRole::User)
    }

    /// The entries that the backtrack discards, as far as they are known, in log order.
    fn discarded_entries(&self) -> BTreeSet<Seq> {
        let heads = self.tree.heads();
        let mut left = BTreeSet::new();
        let mut parts = vec![(self.from, self.to.entry)];
        while let Some((end, above)) = parts.pop() {
            if !heads.is_ancestor(above, end) {
                continue;
            }
            for seq in heads.ancestors(end).take_while(|seq| *seq != above) {
                if left.insert(seq) {
                    parts.extend(self.discarded_by(seq));
                }
            }
        }
        left
    }

    /// The part that an earlier backtrack discarded: its end, and the checkpoint above it.
    fn discarded_by(&self, seq: Seq) -> Option<(Place, Seq)> {
        let head = self.tree.head(seq);
        if head.kind != EntryKind::Backtrack {
            return None;
        }
        let entry = Lines::entry(&self.lines, seq)?;
        let end = field(&entry, "details")?.get("fromId").and_then(RawJson::text)?;
        let end = self.tree.find(&end).filter(|end| !self.tree.is_hidden(*end))?;
        Some((Some(end), head.parent?))
    }
}

/// Formats sorted numbers as ranges, such as `2-5, 7-7`.
fn format_ranges(numbers: impl Iterator<Item = usize>) -> String {
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
