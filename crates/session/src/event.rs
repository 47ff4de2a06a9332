//! The events of a session, and their receiver, which reports missed events.

use std::sync::Arc;

use osier_store::LogVersion;
use osier_tree::{EntryId, EntryLine, Place, ReplyDelta, Seq};
use tokio::sync::broadcast;

use crate::cursor_state::CursorId;

/// An event of a session. Entries and cursors are announced after they are stored and published.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEvent {
    Committed {
        seq: Seq,
        /// The generation of the log that has it.
        generation: u64,
        id: EntryId,
        /// The live draft that became this entry. Usually it has the same id.
        draft_id: Option<EntryId>,
        /// Whether another process wrote it.
        foreign: bool,
        /// The cursor that advanced to it.
        cursor: Option<CursorId>,
        line: EntryLine,
    },
    DraftStarted {
        id: EntryId,
        cursor: CursorId,
    },
    /// Delta number `index` of a draft.
    DraftDelta {
        id: EntryId,
        index: usize,
        delta: Arc<ReplyDelta>,
    },
    /// The draft will not become an entry.
    DraftDropped {
        id: EntryId,
    },
    /// A cursor moved, but not by an entry of its own.
    CursorMoved {
        cursor: CursorId,
        position: Place,
        /// The entry at `place`.
        id: Option<EntryId>,
    },
    /// Another writer continued from the position of this cursor. The cursor stays; `Cursor::follow` moves it there.
    ContinuedElsewhere {
        cursor: CursorId,
        position: Place,
    },
    /// The log was replaced. Earlier sequence numbers are invalid.
    Reset {
        version: LogVersion,
    },
    /// This receiver was too slow and missed events. It receives no more: attach again.
    Lagged {
        missed: u64,
    },
}

/// The events of a session, starting at one state.
#[derive(Debug)]
pub struct SessionEvents {
    receiver: Option<broadcast::Receiver<SessionEvent>>,
}

impl SessionEvents {
    pub(crate) fn new(receiver: broadcast::Receiver<SessionEvent>) -> SessionEvents {
        SessionEvents { receiver: Some(receiver) }
    }

    /// The next event; `None` once the session is closed or this receiver lagged.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        match self.receiver.as_mut()?.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Closed) => None,
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                self.receiver = None;
                Some(SessionEvent::Lagged { missed })
            }
        }
    }

    /// The next event, if one is available.
    pub fn try_next(&mut self) -> Option<SessionEvent> {
        match self.receiver.as_mut()?.try_recv() {
            Ok(event) => Some(event),
            Err(broadcast::error::TryRecvError::Empty | broadcast::error::TryRecvError::Closed) => None,
            Err(broadcast::error::TryRecvError::Lagged(missed)) => {
                self.receiver = None;
                Some(SessionEvent::Lagged { missed })
            }
        }
    }
}
