//! Live events: what clients see only while it happens. They are never stored. Streamed replies use the
//! session's drafts instead.

use osier_session::Session;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::broadcast;

use crate::next_step::TurnOutcome;
use crate::questions::Question;

/// How many events a slow client may fall behind before it must attach again.
const CHANNEL_CAPACITY: usize = 1024;

/// A live event. It serializes to the JSON that clients get.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum LiveUpdate {
    TurnStarted,
    /// `finished` is `None` if the turn failed; `error` is the message from the model or from Osier.
    TurnEnded {
        finished: Option<TurnOutcome>,
        error: Option<String>,
    },
    /// The model is called again after this delay.
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
    /// `skipped` is the number of bytes dropped before this text.
    ToolOutput {
        call: String,
        text: String,
        skipped: usize,
    },
    ToolEnded {
        call: String,
        is_error: bool,
    },
    /// The user must answer a question.
    Asked {
        id: u64,
        question: Box<Question>,
    },
    /// A question was answered, or its turn stopped.
    Answered {
        id: u64,
        allowed: bool,
    },
    /// The queued prompts.
    Queue {
        steering: Vec<String>,
        follow_up: Vec<String>,
    },
    BashOutput {
        text: String,
        skipped: usize,
    },
    /// A model starts to write a summary; `of` is `branch`, `compaction` or `graft`. The stored entry or the
    /// reply to the command ends it.
    SummaryStarted {
        of: &'static str,
    },
    SummaryText {
        text: String,
    },
    /// A notice for the user that needs no answer.
    Notice {
        text: String,
    },
}

/// A live event with the number of entries the log had when it was sent.
#[derive(Debug, Clone)]
pub(crate) struct LiveEvent {
    pub(crate) after_entries: usize,
    pub(crate) update: LiveUpdate,
}

/// Sends live events to all attached clients.
#[derive(Debug, Clone)]
pub(crate) struct LiveSender {
    session: Session,
    sender: broadcast::Sender<LiveEvent>,
}

impl LiveSender {
    pub(crate) fn new(session: Session) -> LiveSender {
        LiveSender { session, sender: broadcast::Sender::new(CHANNEL_CAPACITY) }
    }

    pub(crate) fn send(&self, live: LiveUpdate) {
        // It is fine if no client is attached.
        let _ = self.sender.send(LiveEvent { after_entries: self.session.version().entries, update: live });
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<LiveEvent> {
        self.sender.subscribe()
    }
}
