//! The messages of a conversation, in pi's JSON format. Unknown fields are kept when a message is read and written back.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::block::{ContentBlock, TextBlock, ThinkingBlock, ToolCall, take_string};
use crate::usage::TokenUsage;

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// A stored part of the system prompt. Never sent as a message; its content is in [`crate::Request::system`].
    System(SystemMessage),
    User(UserMessage),
    Assistant(AssistantMessage),
    ToolResult(ToolResultMessage),
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct SystemMessage {
    pub content: Vec<ContentBlock>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct UserMessage {
    pub content: Vec<ContentBlock>,
    pub timestamp: i64,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    pub content: Vec<ContentBlock>,
    pub api: String,
    pub provider: String,
    pub model: String,
    pub usage: TokenUsage,
    pub stop_reason: StopReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    pub timestamp: i64,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    pub tool_call_id: String,
    pub tool_name: String,
    pub content: Vec<ContentBlock>,
    pub is_error: bool,
    pub timestamp: i64,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    #[default]
    Stop,
    /// The output limit was reached. Calls in such a message may be cut off and must not be run.
    Length,
    ToolUse,
    Error,
    Aborted,
}

/// Why a JSON value is not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error("a message is not a JSON object")]
    NotAnObject,
    #[error("cannot send a message with role `{0}` to a model; convert the context to a request first")]
    UnknownRole(String),
}

impl Message {
    pub fn user(text: impl Into<String>) -> Message {
        Message::User(UserMessage { content: vec![ContentBlock::text(text)], ..UserMessage::default() })
    }

    /// Reads a message from JSON. Strings are moved, not copied.
    pub fn from_json(value: Value) -> Result<Message, MessageError> {
        let Value::Object(mut fields) = value else { return Err(MessageError::NotAnObject) };
        let role = take_string_or_empty(&mut fields, "role");
        match role.as_str() {
            "system" => Ok(Message::System(SystemMessage {
                content: take_content(&mut fields),
                extra: remaining_fields(fields),
            })),
            "user" => Ok(Message::User(UserMessage {
                content: take_content(&mut fields),
                timestamp: take_number(&mut fields, "timestamp"),
                extra: remaining_fields(fields),
            })),
            "assistant" => Ok(Message::Assistant(AssistantMessage::from_fields(fields))),
            "toolResult" | "tool" => Ok(Message::ToolResult(ToolResultMessage::from_fields(fields))),
            _ => Err(MessageError::UnknownRole(role)),
        }
    }
}

impl AssistantMessage {
    fn from_fields(mut fields: Map<String, Value>) -> AssistantMessage {
        AssistantMessage {
            content: take_content(&mut fields),
            api: take_string_or_empty(&mut fields, "api"),
            provider: take_string_or_empty(&mut fields, "provider"),
            model: take_string_or_empty(&mut fields, "model"),
            usage: fields
                .get_mut("usage")
                .map(Value::take)
                .and_then(|usage| serde_json::from_value(usage).ok())
                .unwrap_or_default(),
            stop_reason: StopReason::parse(&take_string_or_empty(&mut fields, "stopReason")),
            error_message: take_string(&mut fields, "errorMessage"),
            timestamp: take_number(&mut fields, "timestamp"),
            extra: remaining_fields(fields),
        }
    }

    /// The text, without thinking and calls.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            ContentBlock::Text(TextBlock { text, .. }) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The calls that may be run: all calls if the reply ended with tool use, otherwise none.
    pub fn calls_to_run(&self) -> impl Iterator<Item = &ToolCall> {
        self.calls().filter(|_| self.stop_reason == StopReason::ToolUse)
    }

    pub fn thinking(&self) -> impl Iterator<Item = &ThinkingBlock> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::Thinking(thinking) => Some(thinking),
            _ => None,
        })
    }
}

impl ToolResultMessage {
    fn from_fields(mut fields: Map<String, Value>) -> ToolResultMessage {
        ToolResultMessage {
            tool_call_id: take_string_or_empty(&mut fields, "toolCallId"),
            tool_name: take_string_or_empty(&mut fields, "toolName"),
            content: take_content(&mut fields),
            is_error: fields.get_mut("isError").map(Value::take) == Some(Value::Bool(true)),
            timestamp: take_number(&mut fields, "timestamp"),
            extra: remaining_fields(fields),
        }
    }

    pub fn text(&self) -> String {
        join_text(&self.content)
    }
}

impl UserMessage {
    pub fn text(&self) -> String {
        join_text(&self.content)
    }
}

impl StopReason {
    /// Unknown reasons, from newer versions, are read as a normal stop.
    pub(crate) fn parse(name: &str) -> StopReason {
        match name {
            "length" => StopReason::Length,
            "toolUse" => StopReason::ToolUse,
            "error" => StopReason::Error,
            "aborted" => StopReason::Aborted,
            _ => StopReason::Stop,
        }
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Message, D::Error> {
        Message::from_json(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// The text blocks, joined with newlines.
pub fn join_text(blocks: &[ContentBlock]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn take_string_or_empty(fields: &mut Map<String, Value>, key: &str) -> String {
    take_string(fields, key).unwrap_or_default()
}

fn take_number(fields: &mut Map<String, Value>, key: &str) -> i64 {
    let value = fields.get_mut(key).map(Value::take);
    value.and_then(|value| value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))).unwrap_or(0)
}

fn take_content(fields: &mut Map<String, Value>) -> Vec<ContentBlock> {
    match fields.get_mut("content").map(Value::take) {
        Some(Value::String(text)) if !text.is_empty() => vec![ContentBlock::text(text)],
        Some(Value::Array(blocks)) => blocks.into_iter().map(ContentBlock::from_json).collect(),
        _ => Vec::new(),
    }
}

/// The remaining fields. Fields that were taken out are null.
pub(crate) fn remaining_fields(fields: Map<String, Value>) -> Map<String, Value> {
    fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(message: &str, expected: Expect) {
        let message: Message = serde_json::from_str(message).unwrap();
        let json = serde_json::to_string(&message).unwrap();
        expected.assert_eq(&json);
        assert_eq!(serde_json::from_str::<Message>(&json).unwrap(), message);
    }

    #[test]
    fn assistant_message_round_trips_with_unknown_fields() {
        check(
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"","thinkingSignature":"c2ln","redacted":true},
                {"type":"text","text":"grüß","textSignature":"msg_1"},{"type":"hologram","x":1},
                {"type":"toolCall","id":"a|b","name":"read","arguments":{"z":1,"a":[2.5]},"thoughtSignature":"t"}],
                "api":"x-api","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0.5,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.5}},
                "stopReason":"toolUse","timestamp":17,"responseId":"r1"}"#,
            expect![[
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"","thinkingSignature":"c2ln","redacted":true},{"type":"text","text":"grüß","textSignature":"msg_1"},{"type":"hologram","x":1},{"type":"toolCall","id":"a|b","name":"read","arguments":{"z":1,"a":[2.5]},"thoughtSignature":"t"}],"api":"x-api","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0.5,"output":0.0,"cacheRead":0.0,"cacheWrite":0.0,"total":0.5}},"stopReason":"toolUse","timestamp":17,"responseId":"r1"}"#
            ]],
        );
    }

    #[test]
    fn string_content_is_one_block_and_null_is_none() {
        check(
            r#"{"role":"user","content":"hi","timestamp":1.0,"uiContent":"Hi"}"#,
            expect![[
                r#"{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":1,"uiContent":"Hi"}"#
            ]],
        );
        check(
            r#"{"role":"tool","toolCallId":"c","content":null,"details":{"n":1}}"#,
            expect![[
                r#"{"role":"toolResult","toolCallId":"c","toolName":"","content":[],"isError":false,"timestamp":0,"details":{"n":1}}"#
            ]],
        );
    }

    #[test]
    fn stored_partial_call_is_repaired() {
        let message = Message::from_json(serde_json::json!({ "role": "assistant", "content": [
            { "type": "toolCall", "id": "1", "name": "read", "arguments": "{\"path\": \"src/ma" },
        ]}));
        let Ok(Message::Assistant(message)) = message else { panic!("{message:?}") };
        assert_eq!(
            Value::Object(message.calls().next().unwrap().arguments.clone()),
            serde_json::json!({ "path": "src/ma" })
        );
    }

    #[test]
    fn unknown_roles_are_refused_with_a_hint() {
        let error = Message::from_json(serde_json::json!({ "role": "bashExecution" })).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot send a message with role `bashExecution` to a model; convert the context to a request first"
        );
    }
}
