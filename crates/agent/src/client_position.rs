//! Turns events of a session into events for a client, whose position is a cursor of the session.

use osier_protocol::{ClientEvent, EntryEvent, LogPosition, MoveEvent, MoveReason};
use osier_session::{CursorId, SessionEvent};
use osier_tree::projection::entry_view::{BranchSummaryView, EntryContent, EntryView};
use osier_tree::{EntryId, EntryKind, EntryLine, EntryReason, Seq};

/// The position of a client, as far as it has received events.
#[derive(Debug)]
pub(crate) struct ClientPosition {
    cursor: CursorId,
    leaf: Option<EntryId>,
    /// The marks below the leaf, which are the same place.
    marks: Vec<EntryId>,
}

impl ClientPosition {
    pub(crate) fn new(cursor: CursorId, leaf: Option<EntryId>) -> ClientPosition {
        ClientPosition { cursor, leaf, marks: Vec::new() }
    }

    fn is_at(&self, place: Option<&EntryId>) -> bool {
        place == self.leaf.as_ref() || place.is_some_and(|id| self.marks.contains(id))
    }

    /// The event for the client, and the move that follows it, if the entry changes the branch.
    pub(crate) fn convert(&mut self, event: SessionEvent) -> (ClientEvent, Option<MoveEvent>) {
        let event = match event {
            SessionEvent::Committed { seq, generation, id, draft_id, foreign, cursor, line } => {
                let off_path = cursor != Some(self.cursor);
                let is_mark_here =
                    |view: &EntryView| view.kind.is_mark() && self.is_at(view.parent_id.as_ref());
                if line.view().is_some_and(is_mark_here) {
                    self.marks.push(id.clone());
                }
                let moved = if off_path { None } else { self.advance(seq, &id, &line) };
                let is_hook_message = line.view().is_some_and(EntryView::is_hook_message);
                let seq = seq.index();
                let entry = EntryEvent {
                    seq,
                    generation: Some(generation),
                    id,
                    draft_id,
                    foreign,
                    off_path,
                    is_hook_message,
                    entry: line,
                };
                return (ClientEvent::Entry(entry), moved);
            }
            SessionEvent::DraftStarted { id, cursor } => {
                ClientEvent::DraftStarted { id, off_path: cursor != self.cursor }
            }
            SessionEvent::DraftDelta { id, index, delta } => ClientEvent::DraftDelta { id, index, delta },
            SessionEvent::DraftDropped { id } => ClientEvent::DraftDropped { id },
            SessionEvent::CursorMoved { cursor, position, id } => {
                let old_leaf_id = if cursor == self.cursor { self.set_leaf(id.clone()) } else { None };
                ClientEvent::Moved(MoveEvent {
                    seq: position.map(Seq::index),
                    new_leaf_id: id,
                    old_leaf_id,
                    reason: MoveReason::Followed,
                    summary_entry: None,
                    from_hook: false,
                })
            }
            SessionEvent::ContinuedElsewhere { position, .. } => {
                ClientEvent::ContinuedElsewhere { seq: position.map(Seq::index) }
            }
            SessionEvent::Reset { version } => {
                ClientEvent::Reset(LogPosition { generation: version.generation, entries: version.entries })
            }
            SessionEvent::Lagged { missed } => ClientEvent::Lagged { missed },
        };
        (event, None)
    }

    fn set_leaf(&mut self, leaf: Option<EntryId>) -> Option<EntryId> {
        self.marks.clear();
        std::mem::replace(&mut self.leaf, leaf)
    }

    /// Follows an entry of the client's own cursor. Returns the move, if it is one.
    fn advance(&mut self, seq: Seq, id: &EntryId, line: &EntryLine) -> Option<MoveEvent> {
        let view = line.view();
        let new_leaf = match view {
            Some(view) if view.kind == EntryKind::Leaf => view.parent_id.clone(),
            _ => Some(id.clone()),
        };
        let is_same_place = self.is_at(new_leaf.as_ref());
        let old_leaf = self.set_leaf(new_leaf.clone());
        let view = view?;
        let (reason, summary) = match &view.content {
            // After tries, the leaf of the log returns to where the client is all the time.
            _ if view.kind == EntryKind::Leaf && is_same_place => return None,
            _ if view.kind == EntryKind::Leaf => (move_reason(view.reason), None),
            EntryContent::BranchSummary(summary) if summarizes_old_branch(summary, old_leaf.as_ref()) => {
                (MoveReason::Move, Some(summary))
            }
            _ => return None,
        };
        Some(MoveEvent {
            seq: Some(seq.index()),
            new_leaf_id: new_leaf,
            old_leaf_id: old_leaf,
            reason,
            summary_entry: summary.map(|_| id.clone()),
            from_hook: summary.is_some_and(|summary| summary.from_hook),
        })
    }
}

fn move_reason(reason: EntryReason) -> MoveReason {
    match reason {
        EntryReason::Undo => MoveReason::Undo,
        EntryReason::Redo => MoveReason::Redo,
        _ => MoveReason::Move,
    }
}

/// Whether a summary is about the branch that the client just left. The summary of a graft is about another one.
fn summarizes_old_branch(summary: &BranchSummaryView, old_leaf: Option<&EntryId>) -> bool {
    summary.from_id.as_deref() == Some(old_leaf.map_or("root", |leaf| leaf.as_str()))
}
