//! The branch that a move leaves, and its text for the summarizer.
//!
//! The text contains neither the part that both paths share nor anything that was not sent to the model.

use crate::asking::{Asks, Batches, Piece, answer};
use crate::cutting::is_told;
use crate::entry::Kind;
use crate::files::Files;
use crate::fold::{Place, SessionTree};
use crate::heads::Seq;
use crate::projection::{Lines, context};
use crate::scan::Raw;
use crate::serialize::{role_of, shortened, tell};
use crate::tokens::{estimate, is_kept_from_models};

/// The entries on the path to one place that are not on the path to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    /// The place that the move leaves.
    pub from: Place,
    /// The deepest entry on both paths.
    pub ancestor: Place,
    /// All entries below `ancestor` on the path to `from`, oldest first.
    pub entries: Vec<Seq>,
}

/// A branch as text for the summarizer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Left {
    /// Empty if there is nothing to summarize.
    pub text: String,
    pub files: Files,
    /// The entries in the text, oldest first, and their estimated tokens.
    pub told: Vec<Seq>,
    pub tokens: u64,
}

impl SessionTree {
    /// The branch that a move from a place to a chosen entry leaves. A user message chosen for editing is not part of it:
    /// its text goes to the editor.
    pub fn leaving(&self, from: Place, chosen: Place) -> Leaving {
        let ancestor = self.common_ancestor(from, chosen);
        let mut entries: Vec<Seq> = self.heads().up(from).take_while(|seq| Some(*seq) != ancestor).collect();
        entries.reverse();
        Leaving { from, ancestor, entries }
    }
}

impl Leaving {
    /// Collects the text for the summarizer: the context at `from` without the entries up to `ancestor`, newest first, at
    /// most `budget` tokens (0 for no limit). The summary of the last compaction represents what it hides.
    pub fn preparing(&self, tree: &SessionTree, budget: u64) -> Preparing {
        let shared = self.ancestor.map_or(0, |seq| tree.head(seq).depth + 1);
        let plan = tree.context_entries(self.from);
        let pieces = plan.items.iter().rev().map(|item| Piece { item: *item, head: *tree.head(item.seq) });
        let is_included = |piece: &Piece| match piece.head.kind {
            // A compaction that hides only the shared part adds nothing about this branch.
            Kind::Compaction => piece.head.depth >= shared && hides_from(tree, piece) > shared,
            _ => piece.head.depth >= shared && is_told(&piece.head),
        };
        let pieces: Vec<Piece> = pieces.filter(is_included).collect();
        Preparing {
            summaries: pieces.iter().filter(|piece| is_summary(piece)).map(|piece| piece.item.seq).collect(),
            pieces,
            batches: Batches::new(),
            budget: if budget == 0 { u64::MAX } else { budget },
            is_full: false,
            texts: Vec::new(),
            left: Left::default(),
        }
    }

    /// The same, when all lines are available.
    pub fn prepare(&self, tree: &SessionTree, budget: u64, lines: &dyn Lines) -> Left {
        let mut preparing = self.preparing(tree, budget);
        answer(&mut preparing, lines);
        preparing.finish()
    }
}

/// The depth of the first entry that a compaction keeps. It hides everything above.
fn hides_from(tree: &SessionTree, compaction: &Piece) -> u32 {
    let kept = compaction.head.target.filter(|kept| tree.heads().is_ancestor(*kept, compaction.head.parent));
    kept.map_or(compaction.head.depth, |kept| tree.head(kept).depth)
}

fn is_summary(piece: &Piece) -> bool {
    matches!(piece.head.kind, Kind::BranchSummary | Kind::Compaction)
}

/// Collects a `BranchText`; see `AbandonedBranch::text_collector`.
#[derive(Debug)]
pub struct Preparing {
    /// Newest first.
    pieces: Vec<Piece>,
    /// Earlier summaries whose files are not added yet. They are added even if the text exceeds the budget.
    summaries: Vec<Seq>,
    batches: Batches,
    budget: u64,
    is_full: bool,
    /// Newest first.
    texts: Vec<String>,
    left: Left,
}

impl Preparing {
    pub fn finish(mut self) -> Left {
        self.texts.reverse();
        self.texts.retain(|text| !text.is_empty());
        self.left.told.reverse();
        Left { text: self.texts.join("\n\n"), ..self.left }
    }

    fn take(&mut self, piece: &Piece, lines: &dyn Lines) {
        let Some(entry) = lines.entry(piece.item.seq).filter(|entry| !is_kept_from_models(entry)) else {
            return;
        };
        let edit = piece.item.edit.and_then(|edit| lines.entry(edit));
        let mut serialized: Option<(u64, String)> = None;
        context::messages(&entry, edit.as_ref(), &mut |message| {
            let Ok(raw) = Raw::parse(message) else { return };
            self.left.files.add_message(raw);
            // The call and the following reply are enough for a summary.
            if !matches!(role_of(raw), "toolResult" | "system") {
                serialized = Some((estimate(raw), tell(message)));
            }
        });
        if let Some((tokens, text)) = serialized {
            self.add(piece, tokens, text);
        }
    }

    fn add(&mut self, piece: &Piece, mut tokens: u64, mut text: String) {
        let used = self.left.tokens;
        self.is_full = used.saturating_add(tokens) > self.budget;
        // A summary represents many entries, so it may exceed the budget while less than 90% of it is used.
        let has_room = used.saturating_mul(10) < self.budget.saturating_mul(9);
        if self.is_full && !(is_summary(piece) && has_room) {
            if !self.left.told.is_empty() {
                return;
            }
            // Not even the newest entry fits: include its beginning.
            tokens = self.budget;
            text = shortened(&text, usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX))
                .into_owned();
        }
        self.left.tokens = used.saturating_add(tokens);
        self.left.told.push(piece.item.seq);
        self.texts.push(text);
    }
}

impl Asks for Preparing {
    fn wants(&self) -> Vec<Seq> {
        match self.is_full {
            _ if !self.summaries.is_empty() => self.summaries.clone(),
            true => Vec::new(),
            false => self.batches.wants(&self.pieces),
        }
    }

    fn give(&mut self, lines: &dyn Lines) {
        if !self.summaries.is_empty() {
            for entry in std::mem::take(&mut self.summaries).into_iter().filter_map(|seq| lines.entry(seq)) {
                self.left.files.add_summary(&entry);
            }
            return;
        }
        let batch = self.batches.next(&self.pieces).to_vec();
        for piece in &batch {
            if !self.is_full {
                self.take(piece, lines);
            }
        }
        self.batches.take(batch.len());
    }
}
