//! The input of the summarizer for a cut: the conversation as text, split into parts if it is long, and the files it touched.

use crate::asking::{Asks, Batches, Piece, answer};
use crate::entry::Kind;
use crate::files::Files;
use crate::fold::SessionTree;
use crate::heads::Seq;
use crate::projection::preview::full_text;
use crate::projection::{Lines, context};
use crate::scan::Raw;
use crate::serialize::Telling;

use super::Cut;

/// The text of a cut; see the module documentation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CutText {
    /// The history, oldest first. Each part is summarized together with the summary of the parts before it.
    pub history: Vec<String>,
    /// The beginning of a split turn, in parts like the history.
    pub prefix: Vec<String>,
    /// The summary of the previous compaction.
    pub previous: Option<String>,
    pub files: Files,
}

/// Collects the text of a cut; see `Cut::text_collector`.
#[derive(Debug)]
pub struct Preparing {
    /// The previous compaction, then the history, then the prefix.
    pieces: Vec<Piece>,
    /// How many of them come before the prefix.
    before_prefix: usize,
    batches: Batches,
    seen: usize,
    previous: Option<String>,
    history: Telling,
    prefix: Telling,
    files: Files,
}

impl Cut {
    /// Collects the input of the summarizer. `budget` is the largest size of one part, in tokens.
    pub fn preparing(&self, tree: &SessionTree, budget: u64) -> Preparing {
        let previous = self.previous.map(crate::walk::Item::bare);
        let items = previous.iter().chain(&self.history).chain(&self.prefix);
        let pieces: Vec<Piece> =
            items.map(|item| Piece { item: *item, head: *tree.head(item.seq) }).collect();
        Preparing {
            before_prefix: pieces.len() - self.prefix.len(),
            pieces,
            batches: Batches::new(),
            seen: 0,
            previous: None,
            history: Telling::new(budget),
            prefix: Telling::new(budget),
            files: Files::default(),
        }
    }

    /// Collects the input of the summarizer when all lines are available.
    pub fn prepare(&self, tree: &SessionTree, budget: u64, lines: &dyn Lines) -> CutText {
        let mut preparing = self.preparing(tree, budget);
        answer(&mut preparing, lines);
        preparing.finish()
    }
}

impl Preparing {
    pub fn finish(self) -> CutText {
        CutText {
            history: self.history.finish(),
            prefix: self.prefix.finish(),
            previous: self.previous,
            files: self.files,
        }
    }

    fn take(&mut self, piece: &Piece, lines: &dyn Lines) {
        let telling = if self.seen < self.before_prefix { &mut self.history } else { &mut self.prefix };
        self.seen += 1;
        let Some(entry) = lines.entry(piece.item.seq) else { return };
        if matches!(piece.head.kind, Kind::Compaction | Kind::BranchSummary) {
            self.files.add_summary(&entry);
        }
        if piece.head.kind == Kind::Compaction {
            self.previous = Some(full_text(&entry));
            return;
        }
        let edit = piece.item.edit.and_then(|edit| lines.entry(edit));
        context::messages(&entry, edit.as_ref(), &mut |message| {
            if let Ok(raw) = Raw::parse(message) {
                self.files.add_message(raw);
            }
            telling.add(message);
        });
    }
}

impl Asks for Preparing {
    fn wants(&self) -> Vec<Seq> {
        self.batches.wants(&self.pieces)
    }

    fn give(&mut self, lines: &dyn Lines) {
        let batch = self.batches.next(&self.pieces).to_vec();
        for piece in &batch {
            self.take(piece, lines);
        }
        self.batches.take(batch.len());
    }
}
