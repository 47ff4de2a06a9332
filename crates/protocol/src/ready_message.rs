//! Messages that a client or an extension builds itself, instead of a text that the user typed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A message to store as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum ReadyMessage {
    /// A message of the user. Other fields are stored too.
    User {
        content: MessageContent,
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// A message of an extension. It is stored as a `custom_message` entry.
    Custom(CustomMessage),
}

/// A message of an extension. The model gets it like a message of the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    /// The kind of message, chosen by the extension.
    pub custom_type: String,
    pub content: MessageContent,
    /// Whether people see the message.
    #[serde(default = "shown")]
    pub display: bool,
    /// Data of the extension. The model does not get it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// The content of a message: a text, or blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MessageContent {
    Text(String),
    Blocks(Vec<MessageBlock>),
}

/// A block of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum MessageBlock {
    Text {
        text: String,
    },
    /// `data` is base64.
    Image {
        data: String,
        mime_type: String,
    },
}

impl ReadyMessage {
    pub fn content(&self) -> &MessageContent {
        match self {
            ReadyMessage::User { content, .. } => content,
            ReadyMessage::Custom(message) => &message.content,
        }
    }
}

impl CustomMessage {
    /// A text that people see.
    pub fn text(custom_type: impl Into<String>, text: impl Into<String>) -> CustomMessage {
        CustomMessage {
            custom_type: custom_type.into(),
            content: MessageContent::Text(text.into()),
            display: true,
            details: None,
        }
    }
}

impl MessageContent {
    /// Whether the model would get nothing.
    pub fn is_empty(&self) -> bool {
        match self {
            MessageContent::Text(text) => text.trim().is_empty(),
            MessageContent::Blocks(blocks) => blocks
                .iter()
                .all(|block| matches!(block, MessageBlock::Text { text } if text.trim().is_empty())),
        }
    }

    pub fn image_count(&self) -> usize {
        match self {
            MessageContent::Text(_) => 0,
            MessageContent::Blocks(blocks) => {
                blocks.iter().filter(|block| matches!(block, MessageBlock::Image { .. })).count()
            }
        }
    }
}

fn shown() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_of_users_and_extensions_are_read_and_written() {
        for message in [
            json!({ "role": "user", "content": "hello", "uiContent": "/hi" }),
            json!({ "role": "custom", "customType": "ci", "content": [
                { "type": "text", "text": "red" },
                { "type": "image", "data": "AA==", "mimeType": "image/png" },
            ], "display": false, "details": { "run": 3 } }),
        ] {
            let read: ReadyMessage = serde_json::from_value(message.clone()).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), message);
        }
    }

    #[test]
    fn replies_and_results_are_not_prompts() {
        for role in ["assistant", "toolResult", "system"] {
            let message = json!({ "role": role, "content": "x" });
            assert!(serde_json::from_value::<ReadyMessage>(message).is_err(), "{role}");
        }
    }

    #[test]
    fn a_message_of_an_extension_is_shown_by_default() {
        let message = json!({ "role": "custom", "customType": "ci", "content": "red" });
        let read: ReadyMessage = serde_json::from_value(message).unwrap();
        assert_eq!(read, ReadyMessage::Custom(CustomMessage::text("ci", "red")));
    }
}
