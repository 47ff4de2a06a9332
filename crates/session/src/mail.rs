//! What can lie in a writer's mailbox.

use std::sync::Arc;

use osier_store::Version;
use osier_tree::time::Millis;
use osier_tree::{Draft, Place};
use tokio::sync::oneshot;

use crate::attach::Attached;
use crate::commit::{Plan, Stored};
use crate::error::Error;
use crate::given::Given;
use crate::standing::CursorId;

pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// See the module.
pub(crate) enum Mail {
    Append {
        job: Box<Job>,
        reply: Reply<Answer>,
    },
    Attach {
        after: Option<Version>,
        reply: Reply<Attached>,
    },
    /// The store hints that the log grew.
    Changed,
    /// Somebody wants to see what others appended.
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
    BeginTurn {
        cursor: CursorId,
        reply: Reply<()>,
    },
    EndTurn {
        cursor: CursorId,
        reply: Option<Reply<()>>,
    },
    /// Whether another process runs a turn at this entry.
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

/// A planned and gated change that waits for its append.
pub(crate) struct Job {
    pub(crate) plan: Plan,
    pub(crate) planned: Draft,
    /// What the gate made of it, if anything.
    pub(crate) gated: Option<Draft>,
    /// A gate passed this very plan; another one it has to see first.
    pub(crate) must_ask_again: bool,
    /// The state for which it was planned.
    pub(crate) relied_on: (Version, Place),
    pub(crate) cursor: Option<CursorId>,
    /// Where the cursor or the log must stand, by id.
    pub(crate) expect: Option<Option<String>>,
    pub(crate) given: Given,
    /// Chosen by the writer, and kept when it has to try again.
    pub(crate) id: Option<Arc<str>>,
    pub(crate) time: Option<Millis>,
}

impl Job {
    pub(crate) fn draft(&self) -> &Draft {
        self.gated.as_ref().unwrap_or(&self.planned)
    }
}

/// The writer's answer to a job.
pub(crate) enum Answer {
    Stored(Stored),
    Nothing,
    PlanAgain,
}

/// The writer's answer to a wish to follow.
pub(crate) enum Followed {
    /// The cursor stands there now.
    Stands(Place),
    /// The log stands elsewhere by now, so going there takes a move.
    Move(Place),
}
