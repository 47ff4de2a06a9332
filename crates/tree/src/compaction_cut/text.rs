//! The input of the summarizer for a cut: the conversation as text, split into parts if it is long, and the files it touched.

use crate::entry::EntryKind;
use crate::files::TouchedFiles;
use crate::fold::SessionTree;
use crate::heads::Seq;
use crate::line_consumer::{Batches, ContextEntry, LineConsumer, feed_all};
use crate::projection::preview::full_text;
use crate::projection::{Lines, context};
use crate::scan::RawJson;
use crate::serialize::ConversationParts;

use super::Cut;

/// The text of a cut; see the module documentation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CutText {
    /// The history, oldest first. Each part is summarized together with the summary of the parts before it.
    pub history: Vec<String>,
    /// The beginning of a split turn, in parts like the history.
    pub turn_prefix: Vec<String>,
    /// The summary of the previous compaction.
    pub previous_summary: Option<String>,
    pub files: TouchedFiles,
}

/// Collects the text of a cut; see `Cut::text_collector`.
#[derive(Debug)]
pub struct CutTextCollector {
    /// The previous compaction, then the history, then the prefix.
    entries: Vec<ContextEntry>,
    /// How many of them come before the prefix.
    before_prefix: usize,
    batches: Batches,
    seen: usize,
    previous: Option<String>,
    history: ConversationParts,
    prefix: ConversationParts,
    files: TouchedFiles,
}

impl Cut {
    /// Collects the input of the summarizer. `budget` is the largest size of one part, in tokens.
    pub fn text_collector(&self, tree: &SessionTree, budget: u64) -> CutTextCollector {
        let previous = self.previous_compaction.map(crate::walk::ContextItem::without_edit);
        let items = previous.iter().chain(&self.history).chain(&self.turn_prefix);
        let context_entries: Vec<ContextEntry> =
            items.map(|item| ContextEntry { item: *item, head: *tree.head(item.seq) }).collect();
        CutTextCollector {
            before_prefix: context_entries.len() - self.turn_prefix.len(),
            entries: context_entries,
            batches: Batches::new(),
            seen: 0,
            previous: None,
            history: ConversationParts::new(budget),
            prefix: ConversationParts::new(budget),
            files: TouchedFiles::default(),
        }
    }

    /// Collects the input of the summarizer when all lines are available.
    pub fn collect_text(&self, tree: &SessionTree, budget: u64, lines: &dyn Lines) -> CutText {
        let mut preparing = self.text_collector(tree, budget);
        feed_all(&mut preparing, lines);
        preparing.finish()
    }
}

impl CutTextCollector {
    pub fn finish(self) -> CutText {
        CutText {
            history: self.history.finish(),
            turn_prefix: self.prefix.finish(),
            previous_summary: self.previous,
            files: self.files,
        }
    }

    fn add_entry(&mut self, context_entry: &ContextEntry, lines: &dyn Lines) {
        let parts = if self.seen < self.before_prefix { &mut self.history } else { &mut self.prefix };
        self.seen += 1;
        let Some(entry) = lines.entry(context_entry.item.seq) else { return };
        if matches!(context_entry.head.kind, EntryKind::Compaction | EntryKind::BranchSummary) {
            self.files.add_summary(&entry);
        }
        if context_entry.head.kind == EntryKind::Compaction {
            self.previous = Some(full_text(&entry));
            return;
        }
        let edit = context_entry.item.edit.and_then(|edit| lines.entry(edit));
        context::emit_messages(&entry, edit.as_ref(), &mut |message| {
            if let Ok(raw) = RawJson::parse(message) {
                self.files.add_message(raw);
            }
            parts.add_message(message);
        });
    }
}

impl LineConsumer for CutTextCollector {
    fn needed_lines(&self) -> Vec<Seq> {
        self.batches.needed_lines(&self.entries)
    }

    fn feed(&mut self, lines: &dyn Lines) {
        let batch = self.batches.next(&self.entries).to_vec();
        for context_entry in &batch {
            self.add_entry(context_entry, lines);
        }
        self.batches.advance(batch.len());
    }
}
