//! The outcome of a tool call: content blocks for the model, and details for the interface. A failure is also an outcome.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::tool::ToolCall;

/// A content block of a result, in its stored form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ResultBlock {
    Text {
        text: String,
    },
    /// `data` is base64.
    #[serde(rename_all = "camelCase")]
    Image {
        data: String,
        mime_type: String,
    },
}

/// The outcome of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    pub content: Vec<ResultBlock>,
    /// An object (or null) that the model does not see.
    pub details: Value,
    pub is_error: bool,
    /// The turn ends after this call, if all other calls of the reply want that too.
    pub ends_turn: bool,
}

impl ToolOutcome {
    pub fn text(text: impl Into<String>) -> ToolOutcome {
        let content = vec![ResultBlock::Text { text: text.into() }];
        ToolOutcome { content, details: Value::Null, is_error: false, ends_turn: false }
    }

    /// A failure. The text says what went wrong and what to do next.
    pub fn failed(text: impl Into<String>) -> ToolOutcome {
        ToolOutcome { is_error: true, ..ToolOutcome::text(text) }
    }

    /// The call was canceled before it finished.
    pub fn cancelled() -> ToolOutcome {
        ToolOutcome::failed("[canceled before it finished]").with_detail("cancelled", json!(true))
    }

    /// Adds a field to the details.
    pub fn with_detail(mut self, key: &str, value: Value) -> ToolOutcome {
        self.details_mut().insert(key.to_owned(), value);
        self
    }

    /// Appends a line to the text.
    pub(crate) fn with_note(mut self, line: &str) -> ToolOutcome {
        if let Some(ResultBlock::Text { text }) = self.content.last_mut() {
            text.push('\n');
            text.push_str(line);
        }
        self
    }

    /// Adds several fields to the details.
    pub fn with_details(mut self, fields: Map<String, Value>) -> ToolOutcome {
        self.details_mut().extend(fields);
        self
    }

    fn details_mut(&mut self) -> &mut Map<String, Value> {
        if !self.details.is_object() {
            self.details = Value::Object(Map::new());
        }
        self.details.as_object_mut().expect("details is an object")
    }

    /// All text blocks, joined by line feeds.
    pub fn plain_text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            ResultBlock::Text { text } => Some(text.as_str()),
            ResultBlock::Image { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The `toolResult` message that answers a call.
    pub fn message(&self, call: &ToolCall, timestamp: i64) -> Value {
        let mut message = json!({
            "role": "toolResult",
            "toolCallId": call.id,
            "toolName": call.name,
            "content": self.content,
            "isError": self.is_error,
            "timestamp": timestamp,
        });
        if !self.details.is_null() {
            message["details"] = self.details.clone();
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_message_has_the_format_that_pi_reads() {
        let call = ToolCall { id: "c1".into(), name: "read".into(), arguments: json!({}) };
        let mut outcome = ToolOutcome::failed("no such file").with_detail("path", json!("a"));
        outcome.content.push(ResultBlock::Image { data: "AA==".into(), mime_type: "image/png".into() });
        assert_eq!(
            outcome.message(&call, 7),
            json!({
                "role": "toolResult", "toolCallId": "c1", "toolName": "read",
                "content": [
                    { "type": "text", "text": "no such file" },
                    { "type": "image", "data": "AA==", "mimeType": "image/png" }
                ],
                "details": { "path": "a" }, "isError": true, "timestamp": 7
            })
        );
        assert_eq!(ToolOutcome::text("x").message(&call, 7).get("details"), None);
    }
}
