//! Events: what happens in a session, in one order for every client. `docs/json.md` lists them as `--mode json` prints them.
//!
//! Entries are stored before they are announced. Everything else is seen only while it happens.

use std::borrow::Cow;
use std::sync::Arc;

use osier_tree::projection::entry_view::{BacktrackView, EntryContent};
use osier_tree::projection::subagents::TaskPanel;
use osier_tree::{EntryId, EntryLine, ReplyDelta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::LogPosition;
use crate::explore::ExploreReport;
use crate::extension_event::ExtensionEvent;
use crate::question::Question;

/// An event that clients receive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ClientEvent {
    Entry(EntryEvent),
    /// The model returned to a checkpoint. It follows the entry.
    Backtrack(BacktrackEvent),
    /// The model begins to write a reply.
    #[serde(rename = "draft_begun")]
    DraftStarted {
        id: EntryId,
        /// It is a reply at another position than the client's.
        #[serde(default, skip_serializing_if = "is_false")]
        off_path: bool,
    },
    /// Delta number `index` of a draft.
    #[serde(rename = "draft")]
    DraftDelta {
        id: EntryId,
        index: usize,
        delta: Arc<ReplyDelta>,
    },
    /// The draft will not become an entry.
    DraftDropped {
        id: EntryId,
    },
    Moved(MoveEvent),
    /// Another program continued from the client's position, which stays where it is.
    ContinuedElsewhere {
        seq: Option<usize>,
    },
    /// The log was replaced; this is its new end. Earlier sequence numbers are invalid.
    Reset(LogPosition),
    /// The client was too slow and missed events. It receives no more: attach again.
    Lagged {
        missed: u64,
    },
    TurnStarted,
    /// `finished` is `None` if the turn failed; `error` is the message from the model or from Osier.
    TurnEnded {
        finished: Option<TurnOutcome>,
        error: Option<String>,
    },
    /// The model is called again after this delay, or an entry is stored again.
    Retrying {
        attempt: u32,
        /// How many attempts there may be; without a limit, `None`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_attempts: Option<u32>,
        seconds: f64,
        kind: Cow<'static, str>,
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
        /// The sub-agent that asks, if it is not the agent of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
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
    /// A model starts to write a summary. The stored entry or the reply to the command ends it.
    SummaryStarted {
        of: SummarySubject,
    },
    SummaryText {
        text: String,
    },
    /// The state of a task that a sub-agent does, whenever it changes.
    SubagentTask {
        batch_id: String,
        /// The call that delegated the task.
        call: String,
        panel: Box<TaskPanel>,
    },
    /// The tries of a prompt, whenever one of them changes.
    Explore {
        report: Box<ExploreReport>,
    },
    /// A notice for the user that needs no answer.
    Notice {
        text: String,
    },
    /// An extension shows something.
    Extension(ExtensionEvent),
    /// An extension runs a command, or checks a prompt before it is sent. [`ClientCommand::Cancel`](crate::ClientCommand::Cancel)
    /// ends both.
    ExtensionWorkStarted {
        id: u64,
        /// The command, without the slash. `None` if it checks a prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
    },
    ExtensionWorkEnded {
        id: u64,
    },
    /// An extension asks the client to open another session instead of this one.
    SessionRequested {
        session: RequestedSession,
    },
    /// An extension asks the client to end, as soon as nothing runs.
    QuitRequested,
}

/// The session that an extension wants to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RequestedSession {
    New,
    /// By its file, or the first characters of its id.
    Named {
        name: String,
    },
    /// A copy of this session, up to before an entry, or up to and with it.
    Fork {
        entry_id: EntryId,
        includes_entry: bool,
    },
}

impl ClientEvent {
    /// The event as one line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// An entry was stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryEvent {
    /// The position in the log, counted from 0.
    pub seq: usize,
    /// The generation of the log, if it is known. That of a new session changes with its first entry. A frame has it beside
    /// the event.
    #[serde(skip)]
    pub generation: Option<u64>,
    pub id: EntryId,
    /// The draft that became this entry. Usually it has the same id.
    pub draft_id: Option<EntryId>,
    /// Whether another process wrote it.
    pub foreign: bool,
    /// The client's position did not advance to it: a label or another mark, or an entry of another branch.
    #[serde(default, skip_serializing_if = "is_false")]
    pub off_path: bool,
    /// It is a message of an extension.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_hook_message: bool,
    pub entry: EntryLine,
}

impl EntryEvent {
    /// The return of the model to a checkpoint, if the entry is one.
    pub fn backtrack(&self) -> Option<BacktrackEvent> {
        // Reading an entry costs more than looking for the word, which every such entry has.
        memchr::memmem::find(self.entry.bytes(), b"backtrack")?;
        match &self.entry.view()?.content {
            EntryContent::Backtrack(backtrack) => {
                Some(BacktrackEvent { entry_id: self.id.clone(), backtrack: backtrack.clone() })
            }
            _ => None,
        }
    }
}

/// The model returned to a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BacktrackEvent {
    pub entry_id: EntryId,
    #[serde(flatten)]
    pub backtrack: BacktrackView,
}

/// The client's position changed to another branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MoveEvent {
    /// The position in the log of the new leaf.
    pub seq: Option<usize>,
    pub new_leaf_id: Option<EntryId>,
    pub old_leaf_id: Option<EntryId>,
    pub reason: MoveReason,
    /// The summary of the branch that was left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_entry: Option<EntryId>,
    /// An extension wrote the summary.
    #[serde(default, skip_serializing_if = "is_false")]
    pub from_hook: bool,
}

/// Why the position changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MoveReason {
    Move,
    Undo,
    Redo,
    /// Not a move of this session's clients: the branch was deleted, or another program continued it.
    Followed,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    Done,
    Cancelled,
    /// The model call failed; the entry has the error.
    Failed,
    /// The reply reached the output limit.
    CutOff,
    /// The turn reached the limit of model calls for one prompt.
    StepLimit,
}

/// What a summary is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SummarySubject {
    /// The branch that a move leaves.
    Branch,
    /// The older part of the path.
    Compaction,
    /// Another branch, whose conclusion is added here.
    Graft,
}

impl SummarySubject {
    pub fn name(self) -> &'static str {
        match self {
            SummarySubject::Branch => "branch",
            SummarySubject::Compaction => "compaction",
            SummarySubject::Graft => "graft",
        }
    }
}

fn is_false(yes: &bool) -> bool {
    !*yes
}
