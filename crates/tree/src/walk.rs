//! Selects the entries of a model's context, using only heads.
//!
//! The walk requests one head at a time, from the leaf toward the root, and stops at the first entry that the last compaction
//! keeps. Its cost depends on the active context, not on the log. The caller may have all heads in memory or load them in
//! pages.

use std::collections::hash_map::Entry as Slot;

use rustc_hash::FxHashMap;

use crate::entry::{Kind, Role, cut_message, flag, read_entry};
use crate::fold::{Place, SessionTree};
use crate::heads::{Head, Seq};
use crate::projection::context;

/// The entries of a context, oldest first. A compaction, if any, comes first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextPlan {
    pub leaf: Place,
    pub items: Vec<Item>,
    /// The entries that set the model and the thinking level.
    pub model: Option<Seq>,
    pub thinking: Option<Seq>,
    pub compaction: Option<Seq>,
    /// The first kept entry of the compaction is not above it, so nothing is kept.
    pub dangling: bool,
}

/// An entry of a context, and the edit that changes its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    pub seq: Seq,
    pub edit: Option<Seq>,
    /// See [`crate::Entry::body`].
    body: u16,
}

impl Item {
    /// An entry without an edit.
    pub(crate) fn bare(seq: Seq) -> Item {
        Item { seq, edit: None, body: 0 }
    }

    /// Emits the messages of this item. `line` is its line, `edit` the line of its edit.
    pub fn messages(&self, line: &[u8], edit: Option<&[u8]>, emit: &mut dyn FnMut(&[u8])) {
        if edit.is_none()
            && let Some(message) = cut_message(line, self.body)
        {
            return emit(message);
        }
        let edit = edit.and_then(|edit| read_entry(edit).ok());
        if let Ok(entry) = read_entry(line) {
            context::messages(&entry, edit.as_ref(), emit);
        }
    }
}

/// Selects the entries of a context; see the module documentation.
#[derive(Debug)]
pub struct ContextWalk {
    plan: ContextPlan,
    /// Newest first.
    chosen: Vec<(Seq, u16)>,
    /// The last edit of each entry.
    edits: FxHashMap<Seq, Seq>,
    /// The targets of the edits in the kept part.
    kept_edits: Vec<Seq>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
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
            chosen: Vec::new(),
            edits: FxHashMap::default(),
            kept_edits: Vec::new(),
            stage: at.map_or(Stage::Done, Stage::Leaf),
        }
    }

    /// The head that the walk needs next. `None` when it is done.
    pub fn wants(&self) -> Option<Seq> {
        match self.stage {
            Stage::Leaf(seq) | Stage::Recent(seq) | Stage::Kept { at: seq, .. } => Some(seq),
            Stage::Boundary { keep_from, .. } => Some(keep_from),
            Stage::Done => None,
        }
    }

    /// Passes the requested head to the walk.
    pub fn give(&mut self, head: &Head) {
        match self.stage {
            Stage::Leaf(seq) => {
                self.plan.model = head.model;
                self.plan.thinking = head.thinking;
                self.plan.compaction = head.compaction;
                self.recent(seq, head);
            }
            Stage::Recent(seq) => self.recent(seq, head),
            Stage::Boundary { keep_from, resume_at } => {
                let mark = self.chosen.len();
                self.stage = match resume_at {
                    Some(at) => Stage::Kept { at, keep_from, keep_depth: head.depth, mark },
                    None => self.nothing_kept(mark),
                };
            }
            Stage::Kept { at, keep_from, keep_depth, mark } => {
                if head.depth < keep_depth {
                    self.stage = self.nothing_kept(mark);
                    return;
                }
                if head.kind != Kind::Compaction && head.role != Role::System {
                    self.choose(at, head);
                }
                self.stage = match head.parent {
                    _ if at == keep_from => Stage::Done,
                    Some(parent) => Stage::Kept { at: parent, keep_from, keep_depth, mark },
                    None => self.nothing_kept(mark),
                };
            }
            Stage::Done => {}
        }
    }

    fn recent(&mut self, seq: Seq, head: &Head) {
        if Some(seq) == self.plan.compaction {
            self.stage = match head.target {
                Some(keep_from) if keep_from != seq => Stage::Boundary { keep_from, resume_at: head.parent },
                own => {
                    self.plan.dangling = own.is_none();
                    Stage::Done
                }
            };
            return;
        }
        self.choose(seq, head);
        self.stage = head.parent.map_or(Stage::Done, Stage::Recent);
    }

    fn nothing_kept(&mut self, mark: usize) -> Stage {
        self.chosen.truncate(mark);
        for target in self.kept_edits.drain(..) {
            self.edits.remove(&target);
        }
        self.plan.dangling = true;
        Stage::Done
    }

    fn choose(&mut self, seq: Seq, head: &Head) {
        match head.kind {
            Kind::ContextEdit => self.choose_edit(seq, head),
            Kind::Message | Kind::CustomMessage | Kind::Backtrack | Kind::BranchSummary
                if !head.has(flag::NOT_SENT) =>
            {
                self.chosen.push((seq, head.body));
            }
            _ => {}
        }
    }

    fn choose_edit(&mut self, seq: Seq, head: &Head) {
        let Some(target) = head.target else { return };
        if let Slot::Vacant(slot) = self.edits.entry(target) {
            slot.insert(seq);
            if let Stage::Kept { .. } = self.stage {
                self.kept_edits.push(target);
            }
        }
    }

    pub fn finish(mut self) -> ContextPlan {
        let item = |(seq, body): (Seq, u16)| Item { seq, edit: self.edits.get(&seq).copied(), body };
        let compaction = self.plan.compaction.map(|seq| (seq, 0));
        self.plan.items = compaction.into_iter().chain(self.chosen.iter().rev().copied()).map(item).collect();
        self.plan
    }
}

impl SessionTree {
    /// The entries of the context at a place.
    pub fn context_entries(&self, at: Place) -> ContextPlan {
        let mut walk = ContextWalk::new(at);
        while let Some(seq) = walk.wants() {
            walk.give(self.head(seq));
        }
        walk.finish()
    }
}
