//! The messages to the writer task.

use std::sync::Arc;

use osier_store::Version;
use osier_tree::time::Millis;
use osier_tree::{Draft, Place};
use tokio::sync::oneshot;

use crate::attach::Attached;
use crate::commit::{Plan, Stored};
use crate::cursor::TurnGuard;
use crate::error::Error;
use crate::given::Given;
use crate::standing::CursorId;

pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// A message to the writer task.
pub(crate) enum Mail {
    Append {
        job: Box<Job>,
        reply: Reply<Answer>,
    },
    Attach {
        after: Option<Version>,
        reply: Reply<Attached>,
    },
    /// The store reports that the log may have grown.
    Changed,
    /// Read what other processes appended.
    ReadOn {
        reply: Reply<Version>,
    },
    Sync {
        whatever_the_setting: bool,
        reply: Reply<()>,
    },
    NewCursor {
        at: Place,
        reply: Reply<CursorId>,
    },
    DropCursor {
        cursor: CursorId,
    },
    Follow {
        cursor: CursorId,
        reply: Reply<Followed>,
    },
    /// The guard comes back once the turn runs. If nobody waits for it any more, it is dropped, and the turn ends.
    BeginTurn {
        turn: TurnGuard,
        reply: Reply<TurnGuard>,
    },
    EndTurn {
        cursor: CursorId,
        reply: Option<Reply<()>>,
    },
    /// Fail if another process runs a turn at this entry.
    CheckFree {
        at: Option<String>,
        reply: Reply<()>,
    },
    BeginDraft {
        cursor: CursorId,
        reply: Reply<Arc<str>>,
    },
    PushDraft {
        id: Arc<str>,
        delta: Arc<str>,
    },
    DropDraft {
        id: Arc<str>,
    },
}

/// A planned and gated change, ready to append.
pub(crate) struct Job {
    pub(crate) plan: Plan,
    pub(crate) planned: Draft,
    /// The draft of the gate, if it altered the planned one.
    pub(crate) gated: Option<Draft>,
    /// A gate passed this plan, so a different plan must be gated again.
    pub(crate) must_ask_again: bool,
    /// The version and position that the plan is based on.
    pub(crate) relied_on: (Version, Place),
    pub(crate) cursor: Option<CursorId>,
    /// The required position of the cursor or the log, by id.
    pub(crate) expect: Option<Option<String>>,
    pub(crate) given: Given,
    /// Chosen by the writer and kept across retries.
    pub(crate) id: Option<Arc<str>>,
    pub(crate) time: Option<Millis>,
}

impl Job {
    pub(crate) fn draft(&self) -> &Draft {
        self.gated.as_ref().unwrap_or(&self.planned)
    }
}

/// The result of an append.
pub(crate) enum Answer {
    Stored(Stored),
    Nothing,
    PlanAgain,
}

/// The result of a follow request.
pub(crate) enum Followed {
    /// The cursor is there now.
    Stands(Place),
    /// The leaf of the log is elsewhere, so a move must be written.
    Move(Place),
}
