//! Writes the request body as text, one message at a time, so that a long conversation is not also held in memory as
//! JSON values.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::{Map, Value, json};

/// How many of the last user messages get a cache marker.
const MARKED_USER_MESSAGES: usize = 2;

/// Serializes the body. If cache markers are enabled, the system prompt and the last two user messages get Anthropic's
/// `cache_control`, for servers that forward it.
#[derive(Debug)]
pub(super) struct MessagesWriter {
    text: Vec<u8>,
    with_cache_markers: bool,
    /// Messages that may still get a marker, and the messages between them.
    pending: VecDeque<Value>,
    pending_user_messages: usize,
}

/// A message whose content is one text.
#[derive(Serialize)]
struct TextMessage<'a> {
    role: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    content: &'a str,
}

impl MessagesWriter {
    /// `fields` are the other fields of the body, and `size` is about the size of the messages.
    pub(super) fn new(fields: Map<String, Value>, marks: bool, size: usize) -> MessagesWriter {
        let mut text = Value::Object(fields).to_string().into_bytes();
        text.reserve(size);
        text.pop();
        if text.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(b"\"messages\":[");
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

    /// Adds a message whose content is one text; `tool_call_id` is the call that it answers.
    pub(super) fn push_text(&mut self, role: &str, tool_call_id: Option<&str>, content: &str) {
        let message = TextMessage { role, tool_call_id, content };
        match self.with_cache_markers {
            true => self.push(json!(message)),
            false => self.write(&message),
        }
    }

    fn write(&mut self, message: &impl Serialize) {
        if !self.text.ends_with(b"[") {
            self.text.push(b',');
        }
        serde_json::to_writer(&mut self.text, message).expect("a message always serializes");
    }

    /// The complete body.
    pub(super) fn finish(mut self) -> String {
        for mut message in std::mem::take(&mut self.pending) {
            if is_user_message(&message) {
                set_marker(&mut message);
            }
            self.write(&message);
        }
        self.text.extend_from_slice(b"]}");
        String::from_utf8(self.text).expect("JSON is UTF-8")
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
