//! Writes the request body as text, one message at a time, so that a long conversation is not also held in memory as
//! JSON values.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

/// How many of the last user messages get a cache marker.
const MARKED: usize = 2;

/// Serializes the body. If cache markers are enabled, the system prompt and the last two user messages get Anthropic's
/// `cache_control`, for servers that forward it.
#[derive(Debug)]
pub(super) struct Messages {
    text: String,
    marks: bool,
    /// Messages that may still get a marker, and the messages between them.
    waiting: VecDeque<Value>,
    of_user: usize,
}

impl Messages {
    /// `fields` are the other fields of the body.
    pub(super) fn new(fields: Map<String, Value>, marks: bool) -> Messages {
        let mut text = Value::Object(fields).to_string();
        text.pop();
        let comma = if text.len() > 1 { "," } else { "" };
        text.push_str(comma);
        text.push_str("\"messages\":[");
        Messages { text, marks, waiting: VecDeque::new(), of_user: 0 }
    }

    pub(super) fn push(&mut self, mut message: Value) {
        if !self.marks {
            return self.write(&message);
        }
        if matches!(message["role"].as_str(), Some("system" | "developer")) {
            mark(&mut message);
        }
        self.of_user += usize::from(is_of_user(&message));
        self.waiting.push_back(message);
        while self.of_user > MARKED {
            let Some(oldest) = self.waiting.pop_front() else { break };
            self.of_user -= usize::from(is_of_user(&oldest));
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
        for mut message in std::mem::take(&mut self.waiting) {
            if is_of_user(&message) {
                mark(&mut message);
            }
            self.write(&message);
        }
        self.text + "]}"
    }
}

fn is_of_user(message: &Value) -> bool {
    message["role"] == "user"
}

fn mark(message: &mut Value) {
    if let Some(last) = message["content"].as_array_mut().and_then(|parts| parts.last_mut()) {
        last["cache_control"] = json!({ "type": "ephemeral" });
    }
}
