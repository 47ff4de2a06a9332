//! The content blocks of a message: text, thinking, images and tool calls, in pi's JSON format.
//!
//! Blocks of an unknown type are kept as they are and never sent to a model.

use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// One block of a message's content.
#[derive(Debug, Clone, PartialEq)]
pub enum ContentBlock {
    Text(TextBlock),
    Thinking(ThinkingBlock),
    Image(Image),
    ToolCall(ToolCall),
    Unknown(Value),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct TextBlock {
    pub text: String,
    /// Lets the API recognize its own text.
    pub signature: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThinkingBlock {
    pub thinking: String,
    /// Proves that the model wrote this. Only valid for the same provider, API and model.
    pub signature: Option<String>,
    /// The text is hidden; only the signature can be sent back.
    pub redacted: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename = "image", rename_all = "camelCase")]
pub struct Image {
    /// Base64, without any prefix.
    pub data: String,
    pub mime_type: String,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// Always an object: a call that was cut off is repaired first.
    pub arguments: Map<String, Value>,
    pub thought_signature: Option<String>,
    /// Why the arguments could not be parsed. Such a call is never run; this text is its result.
    pub invalid_arguments: Option<String>,
}

impl ContentBlock {
    pub fn text(text: impl Into<String>) -> ContentBlock {
        ContentBlock::Text(TextBlock { text: text.into(), signature: None })
    }

    pub fn image(mime_type: impl Into<String>, data: impl Into<String>) -> ContentBlock {
        ContentBlock::Image(Image { data: data.into(), mime_type: mime_type.into() })
    }

    pub fn call(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: Map<String, Value>,
    ) -> ContentBlock {
        ContentBlock::ToolCall(ToolCall {
            id: id.into(),
            name: name.into(),
            arguments,
            ..ToolCall::default()
        })
    }

    pub(crate) fn from_json(value: Value) -> ContentBlock {
        let Value::Object(fields) = value else { return ContentBlock::Unknown(value) };
        match fields.get("type").and_then(Value::as_str) {
            Some("text") => ContentBlock::read_text(fields),
            Some("thinking") => ContentBlock::read_thinking(fields),
            Some("image") => ContentBlock::read_image(fields),
            Some("toolCall") => ContentBlock::read_call(fields),
            _ => ContentBlock::Unknown(Value::Object(fields)),
        }
    }

    fn read_text(mut fields: Map<String, Value>) -> ContentBlock {
        let signature = take_string(&mut fields, "textSignature");
        ContentBlock::Text(TextBlock {
            text: take_string(&mut fields, "text").unwrap_or_default(),
            signature,
        })
    }

    fn read_thinking(mut fields: Map<String, Value>) -> ContentBlock {
        ContentBlock::Thinking(ThinkingBlock {
            thinking: take_string(&mut fields, "thinking").unwrap_or_default(),
            signature: take_string(&mut fields, "thinkingSignature"),
            redacted: fields.get("redacted") == Some(&Value::Bool(true)),
        })
    }

    fn read_image(mut fields: Map<String, Value>) -> ContentBlock {
        match (take_string(&mut fields, "data"), take_string(&mut fields, "mimeType")) {
            (Some(data), Some(mime_type)) => ContentBlock::Image(Image { data, mime_type }),
            _ => ContentBlock::Unknown(Value::Object(fields)),
        }
    }

    fn read_call(mut fields: Map<String, Value>) -> ContentBlock {
        ContentBlock::ToolCall(ToolCall {
            id: take_string(&mut fields, "id").unwrap_or_default(),
            name: take_string(&mut fields, "name").unwrap_or_default(),
            arguments: match fields.get_mut("arguments").map(Value::take) {
                Some(Value::Object(arguments)) => arguments,
                // Incomplete arguments stored by another program. Servers would reject every request that contains them.
                Some(Value::String(json)) => crate::arguments::parse_partial(&json),
                _ => Map::new(),
            },
            thought_signature: take_string(&mut fields, "thoughtSignature"),
            invalid_arguments: take_string(&mut fields, "invalidArguments"),
        })
    }
}

/// Takes a string member out of an object.
pub(crate) fn take_string(fields: &mut Map<String, Value>, key: &str) -> Option<String> {
    match fields.get_mut(key).map(Value::take) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

impl Serialize for ContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            ContentBlock::Text(text) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", &text.text)?;
                optional(&mut map, "textSignature", text.signature.as_ref())?;
            }
            ContentBlock::Thinking(thinking) => {
                map.serialize_entry("type", "thinking")?;
                map.serialize_entry("thinking", &thinking.thinking)?;
                optional(&mut map, "thinkingSignature", thinking.signature.as_ref())?;
                optional(&mut map, "redacted", thinking.redacted.then_some(&true))?;
            }
            ContentBlock::Image(image) => {
                map.serialize_entry("type", "image")?;
                map.serialize_entry("data", &image.data)?;
                map.serialize_entry("mimeType", &image.mime_type)?;
            }
            ContentBlock::ToolCall(call) => {
                map.serialize_entry("type", "toolCall")?;
                map.serialize_entry("id", &call.id)?;
                map.serialize_entry("name", &call.name)?;
                map.serialize_entry("arguments", &call.arguments)?;
                optional(&mut map, "thoughtSignature", call.thought_signature.as_ref())?;
                optional(&mut map, "invalidArguments", call.invalid_arguments.as_ref())?;
            }
            ContentBlock::Unknown(Value::Object(fields)) => {
                for (key, value) in fields {
                    map.serialize_entry(key, value)?;
                }
            }
            ContentBlock::Unknown(_) => {}
        }
        map.end()
    }
}

fn optional<M: SerializeMap, T: Serialize + ?Sized>(
    map: &mut M,
    key: &str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(key, value))
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ContentBlock, D::Error> {
        Value::deserialize(deserializer).map(ContentBlock::from_json)
    }
}
