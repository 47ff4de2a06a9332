//! The fields of stored entries that events contain. Messages are copied as they are stored, which is pi's format.

use osier_protocol::EntryLine;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::pi_event::{RawMessage, ToolResultParts};

/// The fields of an entry. Each kind of entry has only some of them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredEntry<'a> {
    #[serde(borrow)]
    pub(crate) message: Option<&'a RawValue>,
    pub(crate) target_id: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) thinking_level: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) model_id: Option<String>,
    pub(crate) custom_type: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) first_kept_entry_id: Option<String>,
    pub(crate) tokens_before: Option<u64>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    display: Option<bool>,
    #[serde(borrow)]
    details: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

impl<'a> StoredEntry<'a> {
    /// `None` if the line is not JSON.
    pub(crate) fn read(line: &'a EntryLine) -> Option<StoredEntry<'a>> {
        serde_json::from_slice(line.bytes()).ok()
    }

    /// A message of an extension as pi's events contain it.
    pub(crate) fn custom_message(&self, timestamp: Option<i64>) -> Option<RawMessage> {
        let message = CustomMessage {
            role: "custom",
            custom_type: self.custom_type.as_deref(),
            content: self.content,
            display: self.display.unwrap_or(true),
            details: self.details,
            timestamp,
        };
        to_raw_value(&message).ok()
    }

    /// The result of a compaction as pi reports it.
    pub(crate) fn compaction_result(&self) -> Option<RawMessage> {
        let result = CompactionResult {
            summary: self.summary.as_deref(),
            first_kept_entry_id: self.first_kept_entry_id.as_deref(),
            tokens_before: self.tokens_before,
            usage: self.usage,
            details: self.details,
        };
        to_raw_value(&result).ok()
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CustomMessage<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a RawValue>,
    display: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<i64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CompactionResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_kept_entry_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_before: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a RawValue>,
}

/// The fields of a tool result that end its execution.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredToolResult<'a> {
    pub(crate) tool_call_id: String,
    pub(crate) tool_name: String,
    #[serde(default)]
    pub(crate) is_error: bool,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    details: Option<&'a RawValue>,
}

impl<'a> StoredToolResult<'a> {
    pub(crate) fn read(message: &'a RawValue) -> Option<StoredToolResult<'a>> {
        serde_json::from_str(message.get()).ok()
    }

    pub(crate) fn parts(&self) -> ToolResultParts<'a> {
        ToolResultParts { content: self.content, details: self.details }
    }
}

/// A value as JSON text.
pub(crate) fn to_raw(value: &Value) -> Option<RawMessage> {
    to_raw_value(value).ok()
}

/// An object without its null fields.
pub(crate) fn without_nulls(mut object: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.retain(|_, value| !value.is_null());
    }
    object
}
