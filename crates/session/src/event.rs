//! What a session tells its clients, and the receiver that never hides a gap.

use std::sync::Arc;

use osier_store::Version;
use osier_tree::{Place, Seq};
use tokio::sync::broadcast;

use crate::standing::CursorId;

/// Something that happened. Entries and cursors are told after they are stored and published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Committed {
        seq: Seq,
        id: Arc<str>,
        /// The live draft that became this entry. Usually it has the same id.
        draft_id: Option<Arc<str>>,
        /// Another process wrote it.
        foreign: bool,
        /// The cursor that went on with it.
        cursor: Option<CursorId>,
        /// The stored line, without line feed.
        line: Arc<[u8]>,
    },
    DraftBegun {
        id: Arc<str>,
        cursor: CursorId,
    },
    /// One more piece of a draft; `index` counts them.
    Draft {
        id: Arc<str>,
        index: usize,
        delta: Arc<str>,
    },
    /// The draft will not become an entry.
    DraftDropped {
        id: Arc<str>,
    },
    /// A cursor stands elsewhere now, and not by an entry of its own.
    CursorMoved {
        cursor: CursorId,
        place: Place,
    },
    /// Somebody else went on from where this cursor stands. It stays; `Cursor::follow` goes there.
    ContinuedElsewhere {
        cursor: CursorId,
        place: Place,
    },
    /// The log was replaced: seqs from before mean nothing now.
    Reset {
        version: Version,
    },
    /// This receiver was too slow and missed events. It gets no more of them: attach again.
    Lagged {
        missed: u64,
    },
}

/// The events of a session since one moment of it.
#[derive(Debug)]
pub struct Events {
    receiver: Option<broadcast::Receiver<Event>>,
}

impl Events {
    pub(crate) fn new(receiver: broadcast::Receiver<Event>) -> Events {
        Events { receiver: Some(receiver) }
    }

    /// The next event; `None` once the session is closed or this receiver lagged.
    pub async fn next(&mut self) -> Option<Event> {
        match self.receiver.as_mut()?.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Closed) => None,
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                self.receiver = None;
                Some(Event::Lagged { missed })
            }
        }
    }

    /// The next event if it is already there.
    pub fn try_next(&mut self) -> Option<Event> {
        match self.receiver.as_mut()?.try_recv() {
            Ok(event) => Some(event),
            Err(broadcast::error::TryRecvError::Empty | broadcast::error::TryRecvError::Closed) => None,
            Err(broadcast::error::TryRecvError::Lagged(missed)) => {
                self.receiver = None;
                Some(Event::Lagged { missed })
            }
        }
    }
}
