//! The events that observers receive. Entries are given by id; a hook reads them from the session.

use std::collections::BTreeMap;

use osier_model::{ThinkingLevel, TokenUsage};
use osier_protocol::TurnOutcome;
use osier_tree::EntryId;
use serde::Serialize;
use serde_json::Value;

use super::preparation::{RequestPurpose, SwitchReason};

/// Something that happened. The serialized names are those of pi's extension events, where pi has one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum HookEvent {
    /// The first client of the process opened the session.
    SessionOpened,
    /// The last client of the process left the session.
    SessionClosed,
    /// An agent begins to work in the session. Nothing has happened in it yet.
    #[serde(rename = "session_start")]
    AgentStarted {
        reason: SessionStartReason,
        /// The file or id of the session that the client left for this one.
        #[serde(skip_serializing_if = "Option::is_none")]
        previous_session_file: Option<String>,
    },
    /// The agent ends. Nothing happens after this.
    #[serde(rename = "session_shutdown")]
    AgentEnded {
        reason: SessionEndReason,
        /// The file or id of the session that the client goes to.
        #[serde(skip_serializing_if = "Option::is_none")]
        target_session_file: Option<String>,
    },
    /// A client left another session for this one.
    #[serde(rename = "session_switch")]
    SessionSwitched { reason: SwitchReason, previous_session_file: Option<String> },
    /// This session was forked; the new one has this file or id.
    #[serde(rename = "session_fork")]
    SessionForked { previous_session_file: String, new_session_file: String },
    /// The position changed to another branch.
    #[serde(rename = "session_tree")]
    Moved {
        new_leaf_id: Option<EntryId>,
        old_leaf_id: Option<EntryId>,
        #[serde(skip_serializing_if = "Option::is_none")]
        summary_entry: Option<EntryId>,
        /// A hook wrote the summary.
        from_hook: bool,
    },
    #[serde(rename = "session_compact")]
    Compacted { compaction_entry: EntryId, from_hook: bool, reason: &'static str, will_retry: bool },
    /// A path was not compacted, because of an error or because the user canceled it.
    #[serde(rename = "session_compact_failed")]
    CompactionFailed {
        error: String,
        aborted: bool,
        /// A hook wrote the summary.
        from_hook: bool,
        reason: &'static str,
        will_retry: bool,
    },
    /// A turn begins. Its prompt is stored.
    #[serde(rename = "agent_start")]
    TurnStarted,
    /// A turn has ended, and its entries are stored.
    #[serde(rename = "agent_end")]
    TurnEnded {
        /// `None` if the turn failed without a reply.
        outcome: Option<TurnOutcome>,
        /// The entries that the turn stored on the path, oldest first.
        entries: Vec<EntryId>,
    },
    /// A model call begins.
    #[serde(rename = "turn_start")]
    StepStarted {
        /// Counted from 0 in each turn.
        turn_index: u32,
        /// Milliseconds since 1970.
        timestamp: i64,
    },
    /// A reply and the results of its tool calls are stored.
    #[serde(rename = "turn_end")]
    StepEnded { turn_index: u32, message_entry_id: EntryId, tool_result_entry_ids: Vec<EntryId> },
    /// A message of a turn begins. A reply has no content yet.
    #[serde(rename = "message_start")]
    MessageStarted { message: Value },
    /// A tool call of a reply begins, before the gates are asked about it. Only for hooks that want it.
    #[serde(rename = "tool_execution_start")]
    ToolStarted { tool_call_id: String, tool_name: String, args: Value },
    /// A running tool has new output. Only for hooks that want it.
    #[serde(rename = "tool_execution_update")]
    ToolUpdated { tool_call_id: String, tool_name: String, args: Value, partial_result: Value },
    /// A call has its final result, which is not stored yet. Only for hooks that want it.
    #[serde(rename = "tool_execution_end")]
    ToolEnded {
        tool_call_id: String,
        tool_name: String,
        args: Value,
        result: Value,
        is_error: bool,
        /// Missing if the tool did not run.
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// Nothing runs any more, and no prompt waits. What hooks request now begins after all of them. Only for hooks that want it.
    #[serde(rename = "agent_settled")]
    TurnSettled { aborted: bool },
    /// A reply has grown. `message` is the reply so far.
    #[serde(rename = "message_update")]
    MessageUpdated { message: Value, assistant_message_event: Value },
    /// The user chose another model. Not sent when a move restores the model of a path.
    #[serde(rename = "model_select")]
    ModelChanged { model: String, previous_model: String },
    #[serde(rename = "thinking_level_select")]
    ThinkingChanged { level: ThinkingLevel, previous_level: ThinkingLevel },
    /// A piece of a response, as the provider sent it.
    #[serde(rename = "provider_stream_event")]
    ProviderStreamed { provider: String, api: &'static str, model: String, data: Value },
    /// A request was answered, or failed.
    #[serde(rename = "after_provider_response")]
    ResponseReceived {
        /// The full name of the model.
        model: String,
        purpose: RequestPurpose,
        usage: TokenUsage,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The status of the HTTP response, if there was one, and its headers.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        headers: BTreeMap<String, String>,
    },
}

/// Why an agent starts in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SessionStartReason {
    #[default]
    Startup,
    New,
    Resume,
    Fork,
    /// Extensions or settings were loaded again.
    Reload,
}

/// Why an agent ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SessionEndReason {
    #[default]
    Quit,
    New,
    Resume,
    Fork,
    Reload,
}

impl HookEvent {
    /// The serialized name.
    pub fn name(&self) -> &'static str {
        match self {
            HookEvent::SessionOpened => "session_opened",
            HookEvent::SessionClosed => "session_closed",
            HookEvent::AgentStarted { .. } => "session_start",
            HookEvent::AgentEnded { .. } => "session_shutdown",
            HookEvent::SessionSwitched { .. } => "session_switch",
            HookEvent::SessionForked { .. } => "session_fork",
            HookEvent::Moved { .. } => "session_tree",
            HookEvent::Compacted { .. } => "session_compact",
            HookEvent::CompactionFailed { .. } => "session_compact_failed",
            HookEvent::TurnStarted => "agent_start",
            HookEvent::TurnEnded { .. } => "agent_end",
            HookEvent::StepStarted { .. } => "turn_start",
            HookEvent::StepEnded { .. } => "turn_end",
            HookEvent::ToolStarted { .. } => "tool_execution_start",
            HookEvent::ToolUpdated { .. } => "tool_execution_update",
            HookEvent::ToolEnded { .. } => "tool_execution_end",
            HookEvent::TurnSettled { .. } => "agent_settled",
            HookEvent::MessageStarted { .. } => "message_start",
            HookEvent::MessageUpdated { .. } => "message_update",
            HookEvent::ModelChanged { .. } => "model_select",
            HookEvent::ThinkingChanged { .. } => "thinking_level_select",
            HookEvent::ProviderStreamed { .. } => "provider_stream_event",
            HookEvent::ResponseReceived { .. } => "after_provider_response",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_serialized_as_the_type() {
        let (model, previous_model) = ("a/b".to_owned(), "a/c".to_owned());
        for event in [
            HookEvent::SessionOpened,
            HookEvent::AgentStarted { reason: SessionStartReason::New, previous_session_file: None },
            HookEvent::AgentEnded { reason: SessionEndReason::Quit, target_session_file: None },
            HookEvent::SessionSwitched { reason: SwitchReason::Resume, previous_session_file: None },
            HookEvent::TurnStarted,
            HookEvent::TurnEnded { outcome: None, entries: Vec::new() },
            HookEvent::StepStarted { turn_index: 0, timestamp: 0 },
            HookEvent::ModelChanged { model, previous_model },
            HookEvent::ToolStarted {
                tool_call_id: "c".to_owned(),
                tool_name: "t".to_owned(),
                args: Value::Null,
            },
            HookEvent::TurnSettled { aborted: false },
        ] {
            let serialized: Value = serde_json::to_value(&event).unwrap();
            assert_eq!(serialized["type"], event.name());
        }
    }

    #[test]
    fn a_move_has_the_fields_of_pi() {
        let moved = HookEvent::Moved {
            new_leaf_id: Some("a".into()),
            old_leaf_id: None,
            summary_entry: Some("s".into()),
            from_hook: true,
        };
        let expected = json!({ "type": "session_tree", "newLeafId": "a", "oldLeafId": null, "summaryEntry": "s", "fromHook": true });
        assert_eq!(serde_json::to_value(moved).unwrap(), expected);
    }
}
