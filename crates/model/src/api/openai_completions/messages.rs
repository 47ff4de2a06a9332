//! The body as text, with its messages written while they are made: a long conversation is held once, not once more as
//! values.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

/// How many of the user's last messages carry a marker.
const MARKED: usize = 2;

/// See the module. With `marks` come Anthropic's cache markers, for servers that pass them on: on the prompt, and on the
/// last two things the user said.
#[derive(Debug)]
pub(super) struct Messages {
    text: String,
    marks: bool,
    /// Messages that may still get a marker, and what lies between them.
    waiting: VecDeque<Value>,
    of_user: usize,
}

impl Messages {
    /// Behind the other fields of the body.
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
            let Some(past) = self.waiting.pop_front() else { break };
            self.of_user -= usize::from(is_of_user(&past));
            self.write(&past);
        }
    }

    fn write(&mut self, message: &Value) {
        if !self.text.ends_with('[') {
            self.text.push(',');
        }
        self.text.push_str(&serde_json::to_string(message).expect("a value is plain data"));
    }

    /// The whole body.
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
