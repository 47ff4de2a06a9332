//! Writes a request body as text, one message at a time, so that a long conversation is not also held in memory as JSON
//! values.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::block::ContentBlock;
use crate::message::{AssistantMessage, Message, SystemMessage, ToolResultMessage, UserMessage};
use crate::request::Request;

/// How many of the last user messages get a cache marker.
const MARKED_USER_MESSAGES: usize = 2;

/// Serializes the body, whose last field is the list of messages. With a cache marker, the last two user messages get it:
/// the end of the conversation, and the end of the previous request, which is already cached.
#[derive(Debug)]
pub(super) struct MessagesWriter {
    text: Vec<u8>,
    cache_marker: Option<Value>,
    /// Messages that may still get a marker, and the messages between them.
    pending: VecDeque<Value>,
    pending_user_messages: usize,
}

impl MessagesWriter {
    /// `fields` are the other fields of the body, and `key` is the name of the list.
    pub(super) fn new(
        fields: Map<String, Value>,
        key: &str,
        cache_marker: Option<Value>,
        request: &Request,
    ) -> MessagesWriter {
        let mut text = Value::Object(fields).to_string().into_bytes();
        text.reserve(text_size(request));
        text.pop();
        if text.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(format!("\"{key}\":[").as_bytes());
        MessagesWriter { text, cache_marker, pending: VecDeque::new(), pending_user_messages: 0 }
    }

    pub(super) fn push(&mut self, message: Value) {
        if self.cache_marker.is_none() {
            return self.write(&message);
        }
        self.pending_user_messages += usize::from(is_user_message(&message));
        self.pending.push_back(message);
        while self.pending_user_messages > MARKED_USER_MESSAGES {
            let Some(oldest) = self.pending.pop_front() else { break };
            self.pending_user_messages -= usize::from(is_user_message(&oldest));
            self.write(&oldest);
        }
    }

    /// Adds a message that gets a cache marker.
    pub(super) fn push_marked(&mut self, mut message: Value) {
        set_marker(&mut message, self.cache_marker.as_ref());
        self.push(message);
    }

    /// Adds a message that need not become a JSON value if it cannot get a marker.
    pub(super) fn push_serialized(&mut self, message: &impl Serialize) {
        match self.cache_marker {
            Some(_) => self.push(serde_json::to_value(message).expect("a message always serializes")),
            None => self.write(message),
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
                set_marker(&mut message, self.cache_marker.as_ref());
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

fn set_marker(message: &mut Value, marker: Option<&Value>) {
    if let (Some(last), Some(marker)) =
        (message["content"].as_array_mut().and_then(|parts| parts.last_mut()), marker)
    {
        last["cache_control"] = marker.clone();
    }
}

/// About the size of the messages of a conversation that is mostly text.
fn text_size(request: &Request) -> usize {
    const MESSAGE: usize = 64;
    let block_size = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.text.len() + text.text.len() / 16,
        _ => MESSAGE,
    };
    let content = |message| match message {
        &Message::User(UserMessage { ref content, .. })
        | &Message::Assistant(AssistantMessage { ref content, .. })
        | &Message::ToolResult(ToolResultMessage { ref content, .. })
        | &Message::System(SystemMessage { ref content, .. }) => content,
    };
    let sizes = request.messages.iter().map(content);
    sizes.map(|blocks| MESSAGE + blocks.iter().map(block_size).sum::<usize>()).sum()
}
