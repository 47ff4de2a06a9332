//! The session tree, built by folding a log.
//!
//! A tree changes only when entries are appended. A copy is cheap, and stays a snapshot of the state it was made from.
//!
//! # Damage
//!
//! The fold accepts any lines, in any state, without a hang, a panic or a lost line.
//!
//! - A line that is not JSON, not an object, or has no text id is not an entry. It is counted, reported by `verify`, and stays.
//! - Parents are looked up in the whole log. A parent that comes later counts; an entry whose parent never comes is a root.
//! - For a repeated id, the last line counts. In a cycle of parents, the earliest line is the root.
//! - A last line without a line feed is an entry if it is complete, and gets its line feed before the next append. Otherwise it stays as a bad line. A
//!   reader that follows a log reads only terminated lines.
//! - Acknowledged lines are never truncated. After a failed or short write, the append is an error, and the torn line it left is removed (`remove_torn_line`); memory holds what the store acknowledged.
//! - If a file vanishes or shrinks while a session is open, the next append fails and says so. It never creates a file without a header.
//! - A file that cannot be read as a session is refused and left unchanged.
//!
//! `Heads::is_regular` is true for a log without these contradictions. Caches of other logs are rebuilt when the log grows, and `gc` refuses
//! such logs.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashSet;

use crate::children::Children;
use crate::entry::{Entry, EntryKind, EntryReason, MessageRole};
use crate::heads::{EntryIdRef, Head, Heads, Seq};
use crate::marks::{Label, Marks};

/// A place in the conversation where the next entry can go: below an entry, or before the first one (`None`).
pub type Place = Option<Seq>;

/// The tree of a session: heads, leaf, children and marks. Only folding entries changes it.
#[derive(Debug, Clone, Default)]
pub struct SessionTree {
    heads: Heads,
    marks: Arc<Marks>,
    children: OnceLock<Arc<Children>>,
}

/// A place before a model call that the model can return to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    pub number: usize,
    pub entry: Seq,
}

impl SessionTree {
    /// Appends the next entry. `offset` and `len` locate its line in the store.
    pub fn append(&mut self, entry: &Entry<'_>, offset: u64, len: u32) -> Seq {
        let seq = self.append_unsettled(entry, offset, len);
        self.heads.settle();
        seq
    }

    /// Appends many entries.
    pub fn extend<'a>(&mut self, entries: impl IntoIterator<Item = (Entry<'a>, u64, u32)>) {
        for (entry, offset, len) in entries {
            self.append_unsettled(&entry, offset, len);
        }
        self.heads.settle();
    }

    /// Appends one of many entries. Call [`SessionTree::settle`] after the last one.
    pub fn append_unsettled(&mut self, entry: &Entry<'_>, offset: u64, len: u32) -> Seq {
        let seq = self.heads.append(entry, offset, len);
        if entry.kind.folds_body() {
            Arc::make_mut(&mut self.marks).apply(seq, entry);
        }
        self.children.take();
        seq
    }

    pub fn settle(&mut self) {
        self.heads.settle();
    }

    /// A tree that shares heads folded elsewhere. `marks` must yield the entries whose bodies the fold reads.
    pub fn from_heads<'a>(heads: Heads, marks: impl IntoIterator<Item = (Seq, Entry<'a>)>) -> SessionTree {
        let mut tree = SessionTree { heads, ..SessionTree::default() };
        let folded = Arc::make_mut(&mut tree.marks);
        marks.into_iter().for_each(|(seq, entry)| folded.apply(seq, &entry));
        tree
    }

    /// A tree from heads that a store saved. `line_of` returns the lines of the heads that need one (see `Head::needs_line`).
    pub fn restore<'a>(
        heads: impl IntoIterator<Item = Head>,
        mut line_of: impl FnMut(Seq) -> Option<Entry<'a>>,
    ) -> SessionTree {
        let mut tree = SessionTree::default();
        let mut cuts = Vec::new();
        for (index, head) in heads.into_iter().enumerate() {
            let entry = if head.needs_line() { line_of(Seq::new(index)) } else { None };
            let seq = tree.heads.restore(head, entry.as_ref());
            let Some(entry) = entry else { continue };
            // An entry that names itself as its parent has no parent to restore.
            let was_cut = head.has_flag(crate::entry::flag::CYCLE_BROKEN);
            if let Some(parent) = entry.parent.as_ref().filter(|parent| was_cut && **parent != entry.id) {
                cuts.push((seq, parent.to_string()));
            }
            if entry.kind.folds_body() {
                Arc::make_mut(&mut tree.marks).apply(seq, &entry);
            }
        }
        tree.heads.restore_cycle_parents(cuts);
        tree
    }

    pub fn heads(&self) -> &Heads {
        &self.heads
    }

    pub fn head(&self, seq: Seq) -> &Head {
        self.heads.get(seq)
    }

    pub fn len(&self) -> usize {
        self.heads.len()
    }

    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    pub fn id(&self, seq: Seq) -> EntryIdRef<'_> {
        self.heads.id(seq)
    }

    pub fn find(&self, id: &str) -> Option<Seq> {
        self.heads.find(id)
    }

    /// Where the next entry goes.
    pub fn leaf(&self) -> Place {
        self.heads.leaf()
    }

    /// The entries from the root down to `at`.
    pub fn path(&self, at: Place) -> Vec<Seq> {
        self.heads.path(at)
    }

    pub fn same_place(&self, a: Place, b: Place) -> bool {
        self.heads.same_place(a, b)
    }

    pub fn children(&self) -> &Children {
        self.children.get_or_init(|| Arc::new(Children::from_heads(&self.heads)))
    }

    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    pub fn label(&self, seq: Seq) -> Option<&Label> {
        self.marks.label(self.id(seq).as_str())
    }

    /// The deepest entry that is on both paths.
    pub fn common_ancestor(&self, a: Place, b: Place) -> Place {
        let (mut a, mut b) = (a?, b?);
        while a != b {
            let (head_a, head_b) = (self.head(a), self.head(b));
            if head_a.depth >= head_b.depth {
                a = head_a.parent?;
            } else {
                b = head_b.parent?;
            }
        }
        Some(a)
    }

    /// All entries in deleted branches.
    pub fn hidden_entries(&self) -> FxHashSet<Seq> {
        let mut hidden = FxHashSet::default();
        let mut open: Vec<Seq> = self.marks.deleted().filter_map(|(id, _)| self.find(id)).collect();
        while let Some(seq) = open.pop() {
            if hidden.insert(seq) {
                open.extend_from_slice(self.children().of_entry(seq));
            }
        }
        hidden
    }

    /// Whether an entry is in a deleted branch.
    pub fn is_hidden(&self, seq: Seq) -> bool {
        self.marks.deleted().next().is_some()
            && self.heads.ancestors(Some(seq)).any(|seq| self.marks.is_deleted(self.id(seq).as_str()))
    }

    /// The checkpoints on the path to `at`, numbered from 0 at the root: each user message, and each tool result that
    /// completes its batch.
    pub fn checkpoints(&self, at: Place) -> Vec<Checkpoint> {
        let mut checkpoints = Vec::new();
        let mut waiting = 0;
        for seq in self.path(at) {
            let head = self.head(seq);
            let is_checkpoint = match head.role {
                MessageRole::User => true,
                MessageRole::Assistant => {
                    waiting = head.calls;
                    false
                }
                MessageRole::ToolResult if waiting > 0 => {
                    waiting -= 1;
                    waiting == 0
                }
                _ => false,
            };
            if is_checkpoint {
                checkpoints.push(Checkpoint { number: checkpoints.len(), entry: seq });
            }
        }
        checkpoints
    }

    /// Whether the path waits for a response: of the model to a user message or to tool results, or of a tool to a call.
    /// Entries that are neither (marks, model changes, system prompts, summaries) are skipped.
    pub fn awaits_response(&self, at: Place) -> bool {
        let mut results = 0u8;
        for head in self.heads.ancestors(at).map(|seq| self.head(seq)) {
            match (head.kind, head.role) {
                (EntryKind::Backtrack, _) | (EntryKind::Message, MessageRole::User) => return true,
                (EntryKind::Message, MessageRole::ToolResult) => results = results.saturating_add(1),
                (EntryKind::Message, MessageRole::Assistant) => {
                    let broken = matches!(
                        head.reason,
                        EntryReason::Error | EntryReason::Aborted | EntryReason::Length
                    );
                    return if broken { head.calls > results } else { head.calls > 0 };
                }
                _ => {}
            }
        }
        results > 0
    }
}
