//! The messages to the writer task.

use std::sync::Arc;

use osier_store::LogVersion;
use osier_tree::time::Millis;
use osier_tree::{EntryDraft, EntryId, Place, ReplyDelta};
use tokio::sync::oneshot;

use crate::attach::Attached;
use crate::commit::{PlanFn, StoredEntry};
use crate::cursor::TurnGuard;
use crate::cursor_state::CursorId;
use crate::error::SessionError;
use crate::provided_fields::ProvidedFields;

pub(crate) type ReplySender<T> = oneshot::Sender<Result<T, SessionError>>;

/// A message to the writer task.
pub(crate) enum WriterMessage {
    Append {
        job: Box<AppendJob>,
        reply: ReplySender<AppendResult>,
    },
    Attach {
        after: Option<LogVersion>,
        reply: ReplySender<Attached>,
    },
    /// The store reports that the log may have grown.
    Changed,
    /// Read what other processes appended.
    Refresh {
        reply: ReplySender<LogVersion>,
    },
    StartWatching {
        reply: ReplySender<()>,
    },
    Sync {
        whatever_the_setting: bool,
        reply: ReplySender<()>,
    },
    NewCursor {
        at: Place,
        reply: ReplySender<CursorId>,
    },
    DropCursor {
        cursor: CursorId,
    },
    Follow {
        cursor: CursorId,
        reply: ReplySender<FollowResult>,
    },
    /// Returns the guard once the turn runs. If the caller has stopped waiting, the guard is dropped, and the turn ends.
    BeginTurn {
        turn: TurnGuard,
        reply: ReplySender<TurnGuard>,
    },
    EndTurn {
        cursor: CursorId,
        reply: Option<ReplySender<()>>,
    },
    /// Fail if another process runs a turn at this entry.
    CheckNoForeignTurn {
        at: Option<String>,
        reply: ReplySender<()>,
    },
    BeginDraft {
        cursor: CursorId,
        reply: ReplySender<EntryId>,
    },
    PushDraft {
        id: EntryId,
        delta: Arc<ReplyDelta>,
    },
    DropDraft {
        id: EntryId,
    },
}

/// A planned and gated change, ready to append.
pub(crate) struct AppendJob {
    pub(crate) plan: PlanFn,
    pub(crate) planned: EntryDraft,
    /// The draft of the gate, if it altered the planned one.
    pub(crate) altered_draft: Option<EntryDraft>,
    /// A gate passed this plan, so a different plan must be gated again.
    pub(crate) has_gate: bool,
    /// The version and position that the plan is based on.
    pub(crate) planned_for: (LogVersion, Place),
    pub(crate) cursor: Option<CursorId>,
    /// The required position of the cursor or the log, by id.
    pub(crate) expected_place: Option<Option<String>>,
    pub(crate) provided: ProvidedFields,
    /// Chosen by the writer and kept across retries.
    pub(crate) id: Option<EntryId>,
    pub(crate) time: Option<Millis>,
}

impl AppendJob {
    pub(crate) fn draft(&self) -> &EntryDraft {
        self.altered_draft.as_ref().unwrap_or(&self.planned)
    }
}

/// The result of an append.
pub(crate) enum AppendResult {
    Stored(StoredEntry),
    Nothing,
    PlanAgain,
}

/// The result of a follow request.
pub(crate) enum FollowResult {
    /// The cursor is there now.
    AtPlace(Place),
    /// The leaf of the log is elsewhere, so a move must be written.
    NeedsMove(Place),
}
