//! What is worth seeing only while it happens. Nothing here is ever stored; what is said goes through the session's drafts.

use osier_session::Session;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::broadcast;

use crate::asking::Question;
use crate::next_step::Finished;

/// How many pieces of news a slow client may be behind before it has to attach again.
const NEWS: usize = 1024;

/// See the module.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Live {
    TurnStarted,
    /// `finished` is missing if the turn could not go on; `error` is what the model or the program said about it.
    TurnEnded {
        finished: Option<Finished>,
        error: Option<String>,
    },
    /// The model is asked again after some seconds.
    Retrying {
        attempt: u32,
        seconds: f64,
        kind: &'static str,
        message: String,
    },
    ToolStarted {
        call: String,
        name: String,
        arguments: Value,
    },
    /// `skipped` bytes were left out before this piece.
    ToolOutput {
        call: String,
        text: String,
        skipped: usize,
    },
    ToolEnded {
        call: String,
        is_error: bool,
    },
    /// Somebody must say whether a tool may run.
    Asked {
        id: u64,
        question: Box<Question>,
    },
    /// A question is open no more: it was answered, or its turn was stopped.
    Answered {
        id: u64,
        allowed: bool,
    },
    /// What waits to be said.
    Queue {
        steering: Vec<String>,
        follow_up: Vec<String>,
    },
    BashOutput {
        text: String,
        skipped: usize,
    },
    /// A model writes a summary of this: `branch`, `compaction` or `graft`. Its entry, or the answer to whoever asked, ends it.
    SummaryStarted {
        of: &'static str,
    },
    SummaryText {
        text: String,
    },
    /// Something the user should know, and nobody has to answer.
    Notice {
        text: String,
    },
}

/// A piece of news, and how many entries the log had when it was told.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) after: usize,
    pub(crate) live: Live,
}

/// Tells everybody who is attached.
#[derive(Debug, Clone)]
pub(crate) struct Teller {
    session: Session,
    to: broadcast::Sender<Told>,
}

impl Teller {
    pub(crate) fn new(session: Session) -> Teller {
        Teller { session, to: broadcast::Sender::new(NEWS) }
    }

    pub(crate) fn tell(&self, live: Live) {
        // Nobody has to listen.
        let _ = self.to.send(Told { after: self.session.version().entries, live });
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Told> {
        self.to.subscribe()
    }
}
