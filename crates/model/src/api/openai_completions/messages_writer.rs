//! Writes the request body as text, one message at a time, so that a long conversation is not also held in memory as
//! JSON values.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

/// How many of the last user messages get a cache marker.
const MARKED_USER_MESSAGES: usize = 2;

/// Serializes the body. If cache markers are enabled, the system prompt and the last two user messages get Anthropic's
/// `cache_control`, for servers that forward it.
#[derive(Debug)]
pub(super) struct MessagesWriter {
    text: String,
    with_cache_markers: bool,
    /// Messages that may still get a marker, and the messages between them.
    pending: VecDeque<Value>,
    pending_user_messages: usize,
}

impl MessagesWriter {
    /// `fields` are the other fields of the body.
    pub(super) fn new(fields: Map<String, Value>, marks: bool) -> MessagesWriter {
        let mut text = Value::Object(fields).to_string();
        text.pop();
        let comma = if text.len() > 1 { "," } else { "" };
        text.push_str(comma);
        text.push_str("\"messages\":[");
        MessagesWriter { text, with_cache_markers: marks, pending: VecDeque::new(), pending_user_messages: 0 }
    }

    pub(super) fn push(&mut self, mut message: Value) {
        if !self.with_cache_markers {
            return self.write(&message);
        }
        if matches!(message["role"].as_str(), Some("system" | "developer")) {
            set_marker(&mut message);
        }
        self.pending_user_messages += usize::from(is_user_message(&message));
        self.pending.push_back(message);
        while self.pending_user_messages > MARKED_USER_MESSAGES {
            let Some(oldest) = self.pending.pop_front() else { break };
            self.pending_user_messages -= usize::from(is_user_message(&oldest));
            self.write(&oldest);
        }
    }

    fn write(&mut self, message: &Value) {
        if !self.text.ends_with('[') {
            self.text.push(',');
        }
        self.text.push_str(&serde_json::to_string(message).expect("a JSON value always serializes"));
    }

    /// The complete body.
    pub(super) fn finish(mut self) -> String {
        for mut message in std::mem::take(&mut self.pending) {
            if is_user_message(&message) {
                set_marker(&mut message);
            }
            self.write(&message);
        }
        self.text + "]}"
    }
}

fn is_user_message(message: &Value) -> bool {
    message["role"] == "user"
}

fn set_marker(message: &mut Value) {
    if let Some(last) = message["content"].as_array_mut().and_then(|parts| parts.last_mut()) {
        last["cache_control"] = json!({ "type": "ephemeral" });
    }
}
