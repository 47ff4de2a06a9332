//! Live drafts: entries that are still being generated. They are sent to clients and never stored.
//!
//! A lost delta does no harm: the commit contains the complete entry and ends the draft.

use std::sync::Arc;

use osier_tree::{EntryId, ReplyDelta};

use crate::cursor_state::CursorId;
use crate::event::SessionEvent;
use crate::handle::Session;
use crate::writer_message::WriterMessage;

/// An open draft, as a client receives it when it attaches.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenDraft {
    pub id: EntryId,
    pub cursor: CursorId,
    /// All deltas so far.
    pub deltas: Vec<Arc<ReplyDelta>>,
}

/// The open drafts. There are only a few.
#[derive(Debug, Default)]
pub(crate) struct OpenDrafts(Vec<OpenDraft>);

impl OpenDrafts {
    pub(crate) fn contains(&self, id: &str) -> bool {
        self.0.iter().any(|draft| &*draft.id == id)
    }

    pub(crate) fn start(&mut self, id: EntryId, cursor: CursorId) -> SessionEvent {
        self.0.push(OpenDraft { id: id.clone(), cursor, deltas: Vec::new() });
        SessionEvent::DraftStarted { id, cursor }
    }

    pub(crate) fn push(&mut self, id: &EntryId, delta: Arc<ReplyDelta>) -> Option<SessionEvent> {
        let draft = self.0.iter_mut().find(|draft| draft.id == *id)?;
        draft.deltas.push(delta.clone());
        Some(SessionEvent::DraftDelta { id: id.clone(), index: draft.deltas.len() - 1, delta })
    }

    /// Ends a draft. Returns whether it was open.
    pub(crate) fn end(&mut self, id: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|draft| &*draft.id != id);
        self.0.len() < before
    }

    pub(crate) fn to_vec(&self) -> Vec<OpenDraft> {
        self.0.clone()
    }
}

/// Writes a live draft. Dropping it before its entry is committed discards the draft for all clients.
#[derive(Debug)]
pub struct DraftHandle {
    session: Session,
    id: EntryId,
}

impl DraftHandle {
    pub(crate) fn new(session: Session, id: EntryId) -> DraftHandle {
        DraftHandle { session, id }
    }

    /// The id that the entry will get, unless another process uses it first.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sends a delta to the clients.
    pub fn push(&self, delta: ReplyDelta) {
        self.session.send(WriterMessage::PushDraft { id: self.id.clone(), delta: Arc::new(delta) });
    }
}

impl Drop for DraftHandle {
    fn drop(&mut self) {
        self.session.send(WriterMessage::DropDraft { id: self.id.clone() });
    }
}
