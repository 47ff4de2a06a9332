//! The events as they are written: pi's, with pi's fields, and those that pi does not have.

use osier_protocol::subagents::TaskPanel;
use osier_protocol::{BacktrackEvent, EntryId, ExploreReport, ExtensionEvent, MoveReason};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::reply_stream::{ReplyEvent, ReplyUsage};

/// A message as it is stored.
pub(crate) type RawMessage = Box<RawValue>;

/// An event, written as one line.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum PiEvent<'a> {
    AgentStart,
    AgentEnd {
        messages: &'a [RawMessage],
        will_retry: bool,
    },
    AgentSettled {
        aborted: bool,
    },
    TurnStart,
    TurnEnd {
        message: &'a RawValue,
        tool_results: &'a [RawMessage],
    },
    MessageStart {
        message: &'a RawValue,
    },
    MessageUpdate {
        usage: ReplyUsage,
        assistant_message_event: ReplyEvent<'a>,
    },
    MessageEnd {
        message: &'a RawValue,
    },
    ToolExecutionStart {
        tool_call_id: &'a str,
        tool_name: &'a str,
        args: &'a Value,
    },
    ToolExecutionUpdate {
        tool_call_id: &'a str,
        tool_name: &'a str,
        args: &'a Value,
        partial_result: Value,
    },
    ToolExecutionEnd {
        tool_call_id: &'a str,
        tool_name: &'a str,
        result: ToolResultParts<'a>,
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// Beyond pi: the state of a task that a sub-agent does.
    SubagentTask {
        batch_id: &'a str,
        tool_call_id: &'a str,
        panel: &'a TaskPanel,
    },
    /// Beyond pi: the tries of a prompt.
    Explore {
        report: &'a ExploreReport,
    },
    QueueUpdate {
        steering: &'a [String],
        follow_up: &'a [String],
    },
    EntryAppended {
        entry: &'a RawValue,
    },
    SessionInfoChanged {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
    },
    ThinkingLevelChanged {
        level: &'a str,
    },
    CompactionStart {
        reason: CompactionReason,
    },
    CompactionEnd {
        reason: CompactionReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<RawMessage>,
        aborted: bool,
        will_retry: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    AutoRetryStart {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error_message: &'a str,
    },
    AutoRetryEnd {
        success: bool,
        attempt: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<&'a str>,
    },
    BashExecutionUpdate {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a Value>,
        delta: &'a str,
    },
    ExtensionUiRequest {
        id: String,
        #[serde(flatten)]
        dialog: Dialog,
        /// Milliseconds until the dialog closes without an answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// An extension shows something.
    #[serde(rename = "extension_ui_request")]
    ExtensionShow {
        id: String,
        #[serde(flatten)]
        event: &'a ExtensionEvent,
    },
    ExtensionError {
        extension_path: &'a str,
        event: &'a str,
        error: &'a str,
    },

    // Beyond pi.
    /// The position moved to another branch. The fields are those of pi's extension event.
    SessionTree {
        new_leaf_id: Option<&'a EntryId>,
        old_leaf_id: Option<&'a EntryId>,
        reason: MoveReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        summary_entry_id: Option<&'a EntryId>,
    },
    LabelChanged {
        target_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<&'a str>,
    },
    /// Another program continued from the position of the client.
    ContinuedElsewhere,
    /// The log was replaced: entries that the client knows may be gone.
    SessionReset,
    /// The client was too slow and missed events. Entries that it missed follow.
    EventsSkipped,
    Backtrack(&'a BacktrackEvent),
}

/// The part of a tool result that the model gets.
#[derive(Debug, Serialize)]
pub(crate) struct ToolResultParts<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) details: Option<&'a RawValue>,
}

/// Why the context is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CompactionReason {
    Manual,
    Threshold,
}

/// A request to the user.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "method", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Dialog {
    Confirm {
        title: String,
        message: String,
        /// Beyond pi: the answers that `value` can name.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    },
    Select {
        title: String,
        options: Vec<String>,
    },
    Input {
        title: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        placeholder: Option<String>,
    },
    Editor {
        title: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        prefill: Option<String>,
    },
    Notify {
        message: String,
        notify_type: &'static str,
    },
    SetEditorText {
        text: String,
    },
}

impl PiEvent<'_> {
    /// The event as a line. Events of sessions that the client opened in addition name their session.
    pub(crate) fn to_line(&self, session_id: Option<&str>) -> String {
        let mut line = serde_json::to_string(self).unwrap_or_default();
        if let Some(id) = session_id.filter(|_| line.pop().is_some()) {
            line.push_str(",\"sessionId\":");
            line.push_str(&Value::from(id).to_string());
            line.push('}');
        }
        line
    }
}
