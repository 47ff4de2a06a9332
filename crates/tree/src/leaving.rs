//! What is left behind when the leaf moves to another branch, and how a summariser is told of it.
//!
//! Nothing of the part that both paths share is told, and nothing that the models did not see either.

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

/// The part of a path that another one does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    /// The place left.
    pub from: Place,
    /// The deepest entry that both paths have.
    pub ancestor: Place,
    /// All entries below it on the path left, oldest first.
    pub entries: Vec<Seq>,
}

/// What a summariser is told of a branch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Left {
    /// Empty if there is nothing to tell.
    pub text: String,
    pub files: Files,
    /// What is told, oldest first, and a guess at its tokens.
    pub told: Vec<Seq>,
    pub tokens: u64,
}

impl SessionTree {
    /// What is left on going from a place to a chosen entry. An entry that is chosen to be said again is not left: its text
    /// goes to the editor.
    pub fn leaving(&self, from: Place, chosen: Place) -> Leaving {
        let ancestor = self.common_ancestor(from, chosen);
        let mut entries: Vec<Seq> = self.heads().up(from).take_while(|seq| Some(*seq) != ancestor).collect();
        entries.reverse();
        Leaving { from, ancestor, entries }
    }
}

impl Leaving {
    /// Collects what a summariser is told: the context of the place left, without what the ancestor has too, the newest
    /// first and no more than `budget` tokens. So the last compaction's summary stands for what it hides.
    pub fn preparing(&self, tree: &SessionTree, budget: u64) -> Preparing {
        let shared = self.ancestor.map_or(0, |seq| tree.head(seq).depth + 1);
        let plan = tree.context_entries(self.from);
        let pieces = plan.items.iter().rev().map(|item| Piece { item: *item, head: *tree.head(item.seq) });
        let tells = |piece: &Piece| match piece.head.kind {
            // One that hides nothing but what both paths have tells nothing of what is left.
            Kind::Compaction => piece.head.depth >= shared && hides_from(tree, piece) > shared,
            _ => piece.head.depth >= shared && is_told(&piece.head),
        };
        let pieces: Vec<Piece> = pieces.filter(tells).collect();
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

    /// The same with all lines at hand.
    pub fn prepare(&self, tree: &SessionTree, budget: u64, lines: &dyn Lines) -> Left {
        let mut preparing = self.preparing(tree, budget);
        answer(&mut preparing, lines);
        preparing.finish()
    }
}

/// Everything above this depth is hidden by a compaction.
fn hides_from(tree: &SessionTree, compaction: &Piece) -> u32 {
    let kept = compaction.head.target.filter(|kept| tree.heads().is_ancestor(*kept, compaction.head.parent));
    kept.map_or(compaction.head.depth, |kept| tree.head(kept).depth)
}

fn is_summary(piece: &Piece) -> bool {
    matches!(piece.head.kind, Kind::BranchSummary | Kind::Compaction)
}

/// Collects what a summariser is told of a branch; see [`Leaving::preparing`].
#[derive(Debug)]
pub struct Preparing {
    /// Newest first.
    pieces: Vec<Piece>,
    /// Earlier summaries whose files are not taken in yet. They count however long the branch is.
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
        let mut said: Option<(u64, String)> = None;
        context::messages(&entry, edit.as_ref(), &mut |message| {
            let Ok(raw) = Raw::parse(message) else { return };
            self.left.files.add_message(raw);
            // A call tells enough of what a tool was asked, and the answer tells what came of it.
            if !matches!(role_of(raw), "toolResult" | "system") {
                said = Some((estimate(raw), tell(message)));
            }
        });
        if let Some((tokens, text)) = said {
            self.add(piece, tokens, text);
        }
    }

    fn add(&mut self, piece: &Piece, mut tokens: u64, mut text: String) {
        let used = self.left.tokens;
        self.is_full = used.saturating_add(tokens) > self.budget;
        // Something that stands for much is told although it is long, unless hardly any room is left.
        let has_room = used.saturating_mul(10) < self.budget.saturating_mul(9);
        if self.is_full && !(is_summary(piece) && has_room) {
            if !self.left.told.is_empty() {
                return;
            }
            // Where not even the newest fits, its beginning is better than nothing.
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
