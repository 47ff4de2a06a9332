//! The branch that a move leaves, and its text for the summarizer.
//!
//! The text contains neither the part that both paths share nor anything that was not sent to the model.

use crate::compaction_cut::is_conversation;
use crate::entry::EntryKind;
use crate::files::TouchedFiles;
use crate::fold::{Place, SessionTree};
use crate::heads::Seq;
use crate::line_consumer::{Batches, ContextEntry, LineConsumer, feed_all};
use crate::projection::{Lines, context};
use crate::scan::RawJson;
use crate::serialize::{role_name, serialize_message, truncate_units};
use crate::tokens::{estimate_tokens, is_excluded_from_context};

/// The entries on the path to one place that are not on the path to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbandonedBranch {
    /// The place that the move leaves.
    pub from: Place,
    /// The deepest entry on both paths.
    pub ancestor: Place,
    /// All entries below `ancestor` on the path to `from`, oldest first.
    pub entries: Vec<Seq>,
}

/// A branch as text for the summarizer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchText {
    /// Empty if there is nothing to summarize.
    pub text: String,
    pub files: TouchedFiles,
    /// The entries in the text, oldest first, and their estimated tokens.
    pub entries: Vec<Seq>,
    pub tokens: u64,
}

impl SessionTree {
    /// The branch that a move from a place to a chosen entry leaves. A user message chosen for editing is not part of it:
    /// its text goes to the editor.
    pub fn abandoned_branch(&self, from: Place, chosen: Place) -> AbandonedBranch {
        let ancestor = self.common_ancestor(from, chosen);
        let mut entries: Vec<Seq> =
            self.heads().ancestors(from).take_while(|seq| Some(*seq) != ancestor).collect();
        entries.reverse();
        AbandonedBranch { from, ancestor, entries }
    }
}

impl AbandonedBranch {
    /// Collects the text for the summarizer: the context at `from` without the entries up to `ancestor`, newest first, at
    /// most `budget` tokens (0 for no limit). The summary of the last compaction represents what it hides.
    pub fn text_collector(&self, tree: &SessionTree, budget: u64) -> BranchTextCollector {
        let shared = self.ancestor.map_or(0, |seq| tree.head(seq).depth + 1);
        let plan = tree.context_entries(self.from);
        let context_entries =
            plan.items.iter().rev().map(|item| ContextEntry { item: *item, head: *tree.head(item.seq) });
        let is_included = |context_entry: &ContextEntry| match context_entry.head.kind {
            // A compaction that hides only the shared part adds nothing about this branch.
            EntryKind::Compaction => {
                context_entry.head.depth >= shared && first_kept_depth(tree, context_entry) > shared
            }
            _ => context_entry.head.depth >= shared && is_conversation(&context_entry.head),
        };
        let context_entries: Vec<ContextEntry> = context_entries.filter(is_included).collect();
        BranchTextCollector {
            summaries: context_entries
                .iter()
                .filter(|context_entry| is_summary(context_entry))
                .map(|context_entry| context_entry.item.seq)
                .collect(),
            entries: context_entries,
            batches: Batches::new(),
            budget: if budget == 0 { u64::MAX } else { budget },
            is_full: false,
            texts: Vec::new(),
            branch_text: BranchText::default(),
        }
    }

    /// The same, when all lines are available.
    pub fn collect_text(&self, tree: &SessionTree, budget: u64, lines: &dyn Lines) -> BranchText {
        let mut preparing = self.text_collector(tree, budget);
        feed_all(&mut preparing, lines);
        preparing.finish()
    }
}

/// The depth of the first entry that a compaction keeps. It hides everything above.
fn first_kept_depth(tree: &SessionTree, compaction: &ContextEntry) -> u32 {
    let kept = compaction.head.target.filter(|kept| tree.heads().is_ancestor(*kept, compaction.head.parent));
    kept.map_or(compaction.head.depth, |kept| tree.head(kept).depth)
}

fn is_summary(context_entry: &ContextEntry) -> bool {
    matches!(context_entry.head.kind, EntryKind::BranchSummary | EntryKind::Compaction)
}

/// Collects a `BranchText`; see `AbandonedBranch::text_collector`.
#[derive(Debug)]
pub struct BranchTextCollector {
    /// Newest first.
    entries: Vec<ContextEntry>,
    /// Earlier summaries whose files are not added yet. They are added even if the text exceeds the budget.
    summaries: Vec<Seq>,
    batches: Batches,
    budget: u64,
    is_full: bool,
    /// Newest first.
    texts: Vec<String>,
    branch_text: BranchText,
}

impl BranchTextCollector {
    pub fn finish(mut self) -> BranchText {
        self.texts.reverse();
        self.texts.retain(|text| !text.is_empty());
        self.branch_text.entries.reverse();
        BranchText { text: self.texts.join("\n\n"), ..self.branch_text }
    }

    fn add_entry(&mut self, context_entry: &ContextEntry, lines: &dyn Lines) {
        let Some(entry) =
            lines.entry(context_entry.item.seq).filter(|entry| !is_excluded_from_context(entry))
        else {
            return;
        };
        let edit = context_entry.item.edit.and_then(|edit| lines.entry(edit));
        let mut serialized: Option<(u64, String)> = None;
        context::emit_messages(&entry, edit.as_ref(), &mut |message| {
            let Ok(raw) = RawJson::parse(message) else { return };
            self.branch_text.files.add_message(raw);
            // The call and the following reply are enough for a summary.
            if !matches!(role_name(raw), "toolResult" | "system") {
                serialized = Some((estimate_tokens(raw), serialize_message(message)));
            }
        });
        if let Some((tokens, text)) = serialized {
            self.add_text(context_entry, tokens, text);
        }
    }

    fn add_text(&mut self, context_entry: &ContextEntry, mut tokens: u64, mut text: String) {
        let used = self.branch_text.tokens;
        self.is_full = used.saturating_add(tokens) > self.budget;
        // A summary represents many entries, so it may exceed the budget while less than 90% of it is used.
        let has_room = used.saturating_mul(10) < self.budget.saturating_mul(9);
        if self.is_full && !(is_summary(context_entry) && has_room) {
            if !self.branch_text.entries.is_empty() {
                return;
            }
            // Not even the newest entry fits: include its beginning.
            tokens = self.budget;
            text = truncate_units(&text, usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX))
                .into_owned();
        }
        self.branch_text.tokens = used.saturating_add(tokens);
        self.branch_text.entries.push(context_entry.item.seq);
        self.texts.push(text);
    }
}

impl LineConsumer for BranchTextCollector {
    fn needed_lines(&self) -> Vec<Seq> {
        match self.is_full {
            _ if !self.summaries.is_empty() => self.summaries.clone(),
            true => Vec::new(),
            false => self.batches.needed_lines(&self.entries),
        }
    }

    fn feed(&mut self, lines: &dyn Lines) {
        if !self.summaries.is_empty() {
            for entry in std::mem::take(&mut self.summaries).into_iter().filter_map(|seq| lines.entry(seq)) {
                self.branch_text.files.add_summary(&entry);
            }
            return;
        }
        let batch = self.batches.next(&self.entries).to_vec();
        for context_entry in &batch {
            if !self.is_full {
                self.add_entry(context_entry, lines);
            }
        }
        self.batches.advance(batch.len());
    }
}
