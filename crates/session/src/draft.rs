//! Live drafts: entries that are still being generated. They are sent to clients and never stored.
//!
//! A lost delta does no harm: the commit contains the complete entry and ends the draft.

use std::sync::Arc;

use crate::cursor_state::CursorId;
use crate::event::SessionEvent;
use crate::handle::Session;
use crate::writer_message::WriterMessage;

/// An open draft, as a client receives it when it attaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenDraft {
    pub id: Arc<str>,
    pub cursor: CursorId,
    /// All deltas so far. Their format is defined by the code that writes and displays them.
    pub deltas: Vec<Arc<str>>,
}

/// The open drafts. There are only a few.
#[derive(Debug, Default)]
pub(crate) struct OpenDrafts(Vec<OpenDraft>);

impl OpenDrafts {
    pub(crate) fn contains(&self, id: &str) -> bool {
        self.0.iter().any(|draft| &*draft.id == id)
    }

    pub(crate) fn start(&mut self, id: Arc<str>, cursor: CursorId) -> SessionEvent {
        self.0.push(OpenDraft { id: id.clone(), cursor, deltas: Vec::new() });
        SessionEvent::DraftStarted { id, cursor }
    }

    pub(crate) fn push(&mut self, id: &Arc<str>, delta: Arc<str>) -> Option<SessionEvent> {
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
    id: Arc<str>,
}

impl DraftHandle {
    pub(crate) fn new(session: Session, id: Arc<str>) -> DraftHandle {
        DraftHandle { session, id }
    }

    /// The id that the entry will get, unless another process uses it first.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sends a delta to the clients.
    pub fn push(&self, delta: impl Into<Arc<str>>) {
        self.session.send(WriterMessage::PushDraft { id: self.id.clone(), delta: delta.into() });
    }
}

impl Drop for DraftHandle {
    fn drop(&mut self) {
        self.session.send(WriterMessage::DropDraft { id: self.id.clone() });
    }
}
