//! Reads messages from JSON text. The result is that of [`Message::from_json`], without a JSON value for every field: a long
//! conversation is read again for each request.

use osier_tree::scan::RawJson;
use serde_json::{Map, Value};

use crate::block::{ContentBlock, TextBlock, ThinkingBlock, ToolCall};
use crate::message::{
    AssistantMessage, Message, StopReason, ToolResultMessage, UserMessage, remaining_fields,
};
use crate::usage::TokenUsage;

impl Message {
    /// `None` if only [`Message::from_json`] can tell what the message is.
    pub fn read(message: RawJson<'_>) -> Option<Message> {
        let role = message.get("role")?.text()?;
        match &*role {
            "user" => read_user(message),
            "assistant" => read_reply(message),
            "toolResult" => read_result(message),
            _ => None,
        }
    }
}

fn read_user(message: RawJson<'_>) -> Option<Message> {
    let mut user = UserMessage::default();
    let mut other = OtherFields::default();
    message.each_field(|key, value| match key {
        "role" => {}
        "content" => user.content = other.content(value),
        "timestamp" => user.timestamp = other.time(value),
        _ => other.add(key, value),
    });
    user.extra = other.finish()?;
    Some(Message::User(user))
}

fn read_reply(message: RawJson<'_>) -> Option<Message> {
    let mut reply = AssistantMessage::default();
    let mut other = OtherFields::default();
    message.each_field(|key, value| match key {
        "role" => {}
        "content" => reply.content = other.content(value),
        "api" => reply.api = string(value).unwrap_or_default(),
        "provider" => reply.provider = string(value).unwrap_or_default(),
        "model" => reply.model = string(value).unwrap_or_default(),
        "usage" => reply.usage = usage(value),
        "stopReason" => reply.stop_reason = StopReason::parse(&value.text().unwrap_or_default()),
        "errorMessage" => reply.error_message = string(value),
        "timestamp" => reply.timestamp = other.time(value),
        _ => other.add(key, value),
    });
    reply.extra = other.finish()?;
    Some(Message::Assistant(reply))
}

fn read_result(message: RawJson<'_>) -> Option<Message> {
    let mut result = ToolResultMessage::default();
    let mut other = OtherFields::default();
    message.each_field(|key, value| match key {
        "role" => {}
        "toolCallId" => result.tool_call_id = string(value).unwrap_or_default(),
        "toolName" => result.tool_name = string(value).unwrap_or_default(),
        "content" => result.content = other.content(value),
        "isError" => result.is_error = value.is_true(),
        "timestamp" => result.timestamp = other.time(value),
        _ => other.add(key, value),
    });
    result.extra = other.finish()?;
    Some(Message::ToolResult(result))
}

fn string(value: RawJson<'_>) -> Option<String> {
    value.text().map(String::from)
}

fn usage(value: RawJson<'_>) -> TokenUsage {
    serde_json::from_slice(value.bytes()).unwrap_or_default()
}

/// The fields that this crate does not know, and whether something could not be read.
#[derive(Default)]
struct OtherFields {
    fields: Map<String, Value>,
    is_unreadable: bool,
}

impl OtherFields {
    fn add(&mut self, key: &str, value: RawJson<'_>) {
        let value = self.value(value);
        self.fields.insert(key.to_owned(), value);
    }

    fn value(&mut self, value: RawJson<'_>) -> Value {
        serde_json::from_slice(value.bytes()).unwrap_or_else(|_| {
            self.is_unreadable = true;
            Value::Null
        })
    }

    fn time(&mut self, value: RawJson<'_>) -> i64 {
        let whole = std::str::from_utf8(value.bytes()).ok().and_then(|text| text.parse().ok());
        whole.unwrap_or_else(|| {
            let number = value.number().unwrap_or_default();
            self.is_unreadable |= !number.is_finite();
            number as i64
        })
    }

    fn content(&mut self, value: RawJson<'_>) -> Vec<ContentBlock> {
        if let Some(text) = value.text() {
            return if text.is_empty() { Vec::new() } else { vec![ContentBlock::text(text)] };
        }
        let mut blocks = Vec::new();
        value.each_item(|block| blocks.push(self.block(block)));
        blocks
    }

    fn block(&mut self, block: RawJson<'_>) -> ContentBlock {
        match block.get("type").and_then(RawJson::text).as_deref() {
            Some("text") => ContentBlock::Text(read_text(block)),
            Some("thinking") => ContentBlock::Thinking(read_thinking(block)),
            Some("toolCall") => ContentBlock::ToolCall(self.read_call(block)),
            _ => ContentBlock::from_json(self.value(block)),
        }
    }

    fn read_call(&mut self, block: RawJson<'_>) -> ToolCall {
        let mut call = ToolCall::default();
        block.each_field(|key, value| match key {
            "id" => call.id = string(value).unwrap_or_default(),
            "name" => call.name = string(value).unwrap_or_default(),
            "arguments" => call.arguments = self.arguments(value),
            "thoughtSignature" => call.thought_signature = string(value),
            "invalidArguments" => call.invalid_arguments = string(value),
            _ => {}
        });
        call
    }

    fn arguments(&mut self, value: RawJson<'_>) -> Map<String, Value> {
        match self.value(value) {
            Value::Object(arguments) => arguments,
            Value::String(json) => crate::arguments::parse_partial(&json),
            _ => Map::new(),
        }
    }

    fn finish(self) -> Option<Map<String, Value>> {
        (!self.is_unreadable).then(|| remaining_fields(self.fields))
    }
}

fn read_text(block: RawJson<'_>) -> TextBlock {
    let mut text = TextBlock::default();
    block.each_field(|key, value| match key {
        "text" => text.text = string(value).unwrap_or_default(),
        "textSignature" => text.signature = string(value),
        _ => {}
    });
    text
}

fn read_thinking(block: RawJson<'_>) -> ThinkingBlock {
    let mut thinking = ThinkingBlock::default();
    block.each_field(|key, value| match key {
        "thinking" => thinking.thinking = string(value).unwrap_or_default(),
        "thinkingSignature" => thinking.signature = string(value),
        "redacted" => thinking.redacted = value.is_true(),
        _ => {}
    });
    thinking
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Values of all kinds, also where another kind is expected.
    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e300..1e300).prop_map(Value::from),
            "[a-zäé\"\\\\\n\u{1}]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-c]", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn object(keys: &'static [&'static str], known: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
        let value = prop_oneof![2 => known, 1 => any_value()];
        let field = (prop_oneof![4 => prop::sample::select(keys), 1 => Just("other")], value);
        prop::collection::vec(field, 0..9)
            .prop_map(|fields| {
                Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            })
            .boxed()
    }

    fn block() -> BoxedStrategy<Value> {
        const KINDS: &[&str] = &["text", "thinking", "image", "toolCall", "hologram"];
        let keys = &[
            "text",
            "textSignature",
            "thinking",
            "thinkingSignature",
            "redacted",
            "data",
            "mimeType",
            "id",
            "name",
            "arguments",
            "thoughtSignature",
            "invalidArguments",
        ];
        let texts = prop_oneof![
            Just(json!("{\"path\": \"src/ma")),
            Just(json!({ "path": "x", "n": [1.5] })),
            "[a-zé ]{0,5}".prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
        ];
        (prop::sample::select(KINDS), object(keys, texts.boxed()))
            .prop_map(|(kind, mut block)| {
                block["type"] = json!(kind);
                block
            })
            .boxed()
    }

    fn message() -> impl Strategy<Value = Value> {
        let keys = &[
            "content",
            "timestamp",
            "api",
            "provider",
            "model",
            "usage",
            "stopReason",
            "errorMessage",
            "toolCallId",
            "toolName",
            "isError",
        ];
        let known = prop_oneof![
            prop::collection::vec(prop_oneof![4 => block(), 1 => any_value()], 0..4).prop_map(Value::from),
            Just(json!({ "input": 1, "output": 2, "totalTokens": 3, "cost": { "total": 0.5 } })),
            Just(json!("toolUse")),
            any_value(),
        ];
        let role = prop::sample::select(&["user", "assistant", "toolResult"][..]);
        (role, object(keys, known.boxed())).prop_map(|(role, mut message)| {
            message["role"] = json!(role);
            message
        })
    }

    proptest! {
        #[test]
        fn reading_the_text_gives_the_same_message_as_reading_its_value(message in message()) {
            let text = message.to_string();
            let read = Message::read(RawJson::parse(text.as_bytes()).unwrap());
            let value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read, Message::from_json(value).ok());
        }
    }

    #[test]
    fn other_roles_and_numbers_beyond_all_limits_are_left_to_the_value() {
        for text in [
            r#"{"role":"system","content":"x"}"#,
            r#"{"content":"x"}"#,
            r#"{"role":"user","content":"x","x":1e999}"#,
            r#"{"role":"user","content":"x","timestamp":1e999}"#,
        ] {
            assert_eq!(Message::read(RawJson::parse(text.as_bytes()).unwrap()), None, "{text}");
        }
    }

    #[test]
    fn of_several_equal_keys_the_last_one_counts() {
        let text =
            r#"{"role":"user","content":"a","x":1,"content":"b","x":null,"timestamp":1,"timestamp":2.5}"#;
        let read = Message::read(RawJson::parse(text.as_bytes()).unwrap());
        assert_eq!(read, serde_json::from_str(text).ok());
        assert!(matches!(read, Some(Message::User(user)) if user.text() == "b" && user.extra.is_empty()));
    }
}
