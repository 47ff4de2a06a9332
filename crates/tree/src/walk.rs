//! Selects the entries of a model's context, using only heads.
//!
//! The walk requests one head at a time, from the leaf toward the root, and stops at the first entry that the last compaction
//! keeps. Its cost depends on the active context, not on the log. The caller may have all heads in memory or load them in
//! pages.

use std::collections::hash_map::Entry as Slot;

use rustc_hash::FxHashMap;

use crate::entry::{EntryKind, MessageRole, flag, message_slice, parse_entry};
use crate::fold::{Place, SessionTree};
use crate::heads::{Head, Seq};
use crate::projection::context;

/// The entries of a context, oldest first. A compaction, if any, comes first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextPlan {
    pub leaf: Place,
    pub items: Vec<ContextItem>,
    /// The entries that set the model and the thinking level.
    pub model: Option<Seq>,
    pub thinking: Option<Seq>,
    pub compaction: Option<Seq>,
    /// The first kept entry of the compaction is not above it, so nothing is kept.
    pub dangling: bool,
}

/// An entry of a context, and the edit that changes its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextItem {
    pub seq: Seq,
    pub edit: Option<Seq>,
    /// See [`crate::Entry::message_offset`].
    body: u16,
}

impl ContextItem {
    /// An entry without an edit.
    pub(crate) fn without_edit(seq: Seq) -> ContextItem {
        ContextItem { seq, edit: None, body: 0 }
    }

    /// Emits the messages of this item. `line` is its line, `edit` the line of its edit.
    pub fn emit_messages(&self, line: &[u8], edit: Option<&[u8]>, emit: &mut dyn FnMut(&[u8])) {
        if edit.is_none()
            && let Some(message) = message_slice(line, self.body)
        {
            return emit(message);
        }
        let edit = edit.and_then(|edit| parse_entry(edit).ok());
        if let Ok(entry) = parse_entry(line) {
            context::emit_messages(&entry, edit.as_ref(), emit);
        }
    }
}

/// Selects the entries of a context; see the module documentation.
#[derive(Debug)]
pub struct ContextWalk {
    plan: ContextPlan,
    /// Newest first.
    selected: Vec<(Seq, u16)>,
    /// The last edit of each entry.
    edits: FxHashMap<Seq, Seq>,
    /// The targets of the edits in the kept part.
    kept_edits: Vec<Seq>,
    stage: WalkStage,
}

#[derive(Debug, Clone, Copy)]
enum WalkStage {
    Leaf(Seq),
    /// Walking up to the compaction or the root.
    Recent(Seq),
    /// Reading the first entry that the compaction keeps.
    Boundary {
        keep_from: Seq,
        resume_at: Option<Seq>,
    },
    /// Walking up to the first kept entry.
    Kept {
        at: Seq,
        keep_from: Seq,
        keep_depth: u32,
        mark: usize,
    },
    Done,
}

impl ContextWalk {
    pub fn new(at: Place) -> ContextWalk {
        ContextWalk {
            plan: ContextPlan { leaf: at, ..ContextPlan::default() },
            selected: Vec::new(),
            edits: FxHashMap::default(),
            kept_edits: Vec::new(),
            stage: at.map_or(WalkStage::Done, WalkStage::Leaf),
        }
    }

    /// The head that the walk needs next. `None` when it is done.
    pub fn needed_head(&self) -> Option<Seq> {
        match self.stage {
            WalkStage::Leaf(seq) | WalkStage::Recent(seq) | WalkStage::Kept { at: seq, .. } => Some(seq),
            WalkStage::Boundary { keep_from, .. } => Some(keep_from),
            WalkStage::Done => None,
        }
    }

    /// Passes the requested head to the walk.
    pub fn feed(&mut self, head: &Head) {
        match self.stage {
            WalkStage::Leaf(seq) => {
                self.plan.model = head.model;
                self.plan.thinking = head.thinking;
                self.plan.compaction = head.compaction;
                self.visit_recent(seq, head);
            }
            WalkStage::Recent(seq) => self.visit_recent(seq, head),
            WalkStage::Boundary { keep_from, resume_at } => {
                let mark = self.selected.len();
                self.stage = match resume_at {
                    Some(at) => WalkStage::Kept { at, keep_from, keep_depth: head.depth, mark },
                    None => self.drop_kept_part(mark),
                };
            }
            WalkStage::Kept { at, keep_from, keep_depth, mark } => {
                if head.depth < keep_depth {
                    self.stage = self.drop_kept_part(mark);
                    return;
                }
                if head.kind != EntryKind::Compaction && head.role != MessageRole::System {
                    self.select(at, head);
                }
                self.stage = match head.parent {
                    _ if at == keep_from => WalkStage::Done,
                    Some(parent) => WalkStage::Kept { at: parent, keep_from, keep_depth, mark },
                    None => self.drop_kept_part(mark),
                };
            }
            WalkStage::Done => {}
        }
    }

    fn visit_recent(&mut self, seq: Seq, head: &Head) {
        if Some(seq) == self.plan.compaction {
            self.stage = match head.target {
                Some(keep_from) if keep_from != seq => {
                    WalkStage::Boundary { keep_from, resume_at: head.parent }
                }
                own => {
                    self.plan.dangling = own.is_none();
                    WalkStage::Done
                }
            };
            return;
        }
        self.select(seq, head);
        self.stage = head.parent.map_or(WalkStage::Done, WalkStage::Recent);
    }

    fn drop_kept_part(&mut self, mark: usize) -> WalkStage {
        self.selected.truncate(mark);
        for target in self.kept_edits.drain(..) {
            self.edits.remove(&target);
        }
        self.plan.dangling = true;
        WalkStage::Done
    }

    fn select(&mut self, seq: Seq, head: &Head) {
        match head.kind {
            EntryKind::ContextEdit => self.select_edit(seq, head),
            EntryKind::Message
            | EntryKind::CustomMessage
            | EntryKind::Backtrack
            | EntryKind::BranchSummary
                if !head.has_flag(flag::NOT_SENT) =>
            {
                self.selected.push((seq, head.message_offset));
            }
            _ => {}
        }
    }

    fn select_edit(&mut self, seq: Seq, head: &Head) {
        let Some(target) = head.target else { return };
        if let Slot::Vacant(slot) = self.edits.entry(target) {
            slot.insert(seq);
            if let WalkStage::Kept { .. } = self.stage {
                self.kept_edits.push(target);
            }
        }
    }

    pub fn finish(mut self) -> ContextPlan {
        let item = |(seq, body): (Seq, u16)| ContextItem { seq, edit: self.edits.get(&seq).copied(), body };
        let compaction = self.plan.compaction.map(|seq| (seq, 0));
        self.plan.items =
            compaction.into_iter().chain(self.selected.iter().rev().copied()).map(item).collect();
        self.plan
    }
}

impl SessionTree {
    /// The entries of the context at a place.
    pub fn context_entries(&self, at: Place) -> ContextPlan {
        let mut walk = ContextWalk::new(at);
        while let Some(seq) = walk.needed_head() {
            walk.feed(self.head(seq));
        }
        walk.finish()
    }
}
