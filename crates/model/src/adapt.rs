//! Adapts a conversation to the model that receives it. Signatures and thinking of other models are omitted, tool results
//! are grouped after their calls, and images and tool calls become text for models that do not support them.
//!
//! Each turn depends only on its own messages and the model, so a longer conversation always starts with the shorter one.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::block::{ContentBlock, Image, ThinkingBlock, ToolCall};
use crate::message::{AssistantMessage, Message, ToolResultMessage};
use crate::request::{ModelInfo, Request};

/// One turn of a conversation as an API receives it. Never empty.
#[derive(Debug, PartialEq)]
pub(crate) enum ApiTurn<'a> {
    User(Vec<ContentPart<'a>>),
    Assistant(Vec<AssistantPart<'a>>),
    /// The results of one batch of calls.
    ToolResults(Vec<ToolOutput<'a>>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ContentPart<'a> {
    Text(Cow<'a, str>),
    Image(&'a Image),
}

/// A part of an assistant message. Has a signature only if the same model created it. Text is empty only if it is signed.
#[derive(Debug, PartialEq)]
pub(crate) enum AssistantPart<'a> {
    Text {
        text: Cow<'a, str>,
        signature: Option<&'a str>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
        redacted: bool,
    },
    /// `from_same_model`: the same model made the call, so the server knows its full id.
    Call {
        call: &'a ToolCall,
        signature: Option<&'a str>,
        from_same_model: bool,
    },
}

#[derive(Debug, PartialEq)]
pub(crate) struct ToolOutput<'a> {
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
    pub(crate) is_error: bool,
    pub(crate) parts: Vec<ContentPart<'a>>,
}

impl ToolOutput<'_> {
    pub(crate) fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            ContentPart::Text(text) => Some(&**text),
            ContentPart::Image(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn images(&self) -> impl Iterator<Item = &Image> {
        self.parts.iter().filter_map(|part| match part {
            ContentPart::Image(image) => Some(*image),
            ContentPart::Text(_) => None,
        })
    }
}

/// Adapts the messages of a request to its model. Passes on each turn as soon as it is complete.
pub(crate) fn for_each_turn<'a>(request: &'a Request, mut each: impl FnMut(ApiTurn<'a>)) {
    let model = &*request.model;
    let calls = if model.tools { HashMap::new() } else { calls_by_id(request) };
    let mut results = Vec::new();
    for message in &request.messages {
        let turn = match message {
            Message::System(_) => continue,
            Message::User(user) => ApiTurn::User(content_parts(&user.content, model)),
            Message::Assistant(assistant) => ApiTurn::Assistant(assistant_parts(assistant, model)),
            Message::ToolResult(result) if model.tools => {
                results.push(tool_output(result, model));
                continue;
            }
            Message::ToolResult(result) => ApiTurn::User(result_as_text(result, &calls, model)),
        };
        if !turn.is_empty() {
            if !results.is_empty() {
                each(ApiTurn::ToolResults(std::mem::take(&mut results)));
            }
            each(turn);
        }
    }
    if !results.is_empty() {
        each(ApiTurn::ToolResults(results));
    }
}

/// The last assistant message, if there is one that is not empty.
pub(crate) fn last_reply(request: &Request) -> Option<Vec<AssistantPart<'_>>> {
    let mut replies = request.messages.iter().rev().filter_map(|message| match message {
        Message::Assistant(reply) => Some(assistant_parts(reply, &request.model)),
        _ => None,
    });
    replies.find(|parts| !parts.is_empty())
}

impl ApiTurn<'_> {
    fn is_empty(&self) -> bool {
        match self {
            ApiTurn::User(parts) => parts.is_empty(),
            ApiTurn::Assistant(parts) => parts.is_empty(),
            ApiTurn::ToolResults(batch) => batch.is_empty(),
        }
    }
}

/// Text and images. Empty text is dropped because some APIs reject it.
fn content_parts<'a>(blocks: &'a [ContentBlock], model: &ModelInfo) -> Vec<ContentPart<'a>> {
    let part = |block: &'a ContentBlock| match block {
        ContentBlock::Text(text) => {
            (!text.text.trim().is_empty()).then(|| ContentPart::Text(Cow::Borrowed(&*text.text)))
        }
        ContentBlock::Image(image) if model.images => Some(ContentPart::Image(image)),
        ContentBlock::Image(image) => Some(ContentPart::Text(Cow::Owned(format!(
            "(an image of type {}, which this model cannot see)",
            image.mime_type
        )))),
        ContentBlock::Thinking(_) | ContentBlock::ToolCall(_) | ContentBlock::Unknown(_) => None,
    };
    blocks.iter().filter_map(part).collect()
}

fn tool_output<'a>(result: &'a ToolResultMessage, model: &ModelInfo) -> ToolOutput<'a> {
    let mut parts = content_parts(&result.content, model);
    if !parts.iter().any(|part| matches!(part, ContentPart::Text(_))) {
        let text = if parts.is_empty() { "(no output)" } else { "(see the image)" };
        parts.insert(0, ContentPart::Text(Cow::Borrowed(text)));
    }
    ToolOutput { id: &result.tool_call_id, name: &result.tool_name, is_error: result.is_error, parts }
}

fn calls_by_id(request: &Request) -> HashMap<&str, &ToolCall> {
    let replies = request.messages.iter().filter_map(|message| match message {
        Message::Assistant(assistant) => Some(assistant),
        _ => None,
    });
    replies.flat_map(AssistantMessage::calls).map(|call| (&*call.id, call)).collect()
}

/// A tool result as text, for a model without tools.
fn result_as_text<'a>(
    result: &'a ToolResultMessage,
    calls: &HashMap<&str, &ToolCall>,
    model: &ModelInfo,
) -> Vec<ContentPart<'a>> {
    let call = calls.get(&*result.tool_call_id);
    let arguments = call.map_or_else(String::new, |call| format!(" for {}", arguments_json(call)));
    let mut parts = tool_output(result, model).parts;
    parts.insert(
        0,
        ContentPart::Text(Cow::Owned(format!(
            "[{}{arguments}] result:\n<function_results>",
            result.tool_name
        ))),
    );
    parts.push(ContentPart::Text(Cow::Borrowed("</function_results>")));
    parts
}

fn arguments_json(call: &ToolCall) -> String {
    serde_json::Value::from(call.arguments.clone()).to_string()
}

fn assistant_parts<'a>(message: &'a AssistantMessage, model: &ModelInfo) -> Vec<AssistantPart<'a>> {
    let own =
        message.provider == model.provider && message.api == model.api.name() && message.model == model.id;
    let own_signature =
        |signature: &'a Option<String>| signature.as_deref().filter(|signature| own && !signature.is_empty());
    let has_other_content = message.content.iter().any(|block| match block {
        ContentBlock::Text(text) => !text.text.trim().is_empty(),
        ContentBlock::ToolCall(_) => true,
        _ => false,
    });
    let to_part = |block: &'a ContentBlock| match block {
        ContentBlock::Text(text)
            if text.text.trim().is_empty() && own_signature(&text.signature).is_none() =>
        {
            None
        }
        ContentBlock::Text(text) => Some(AssistantPart::Text {
            text: Cow::Borrowed(&text.text),
            signature: own_signature(&text.signature),
        }),
        ContentBlock::Thinking(thinking) => match own_signature(&thinking.signature) {
            Some(signature) => Some(AssistantPart::Thinking {
                thinking: &thinking.thinking,
                signature,
                redacted: thinking.redacted,
            }),
            None => foreign_thinking(thinking, has_other_content),
        },
        ContentBlock::ToolCall(call) if model.tools => Some(AssistantPart::Call {
            call,
            signature: own_signature(&call.thought_signature),
            from_same_model: own,
        }),
        ContentBlock::ToolCall(call) => Some(AssistantPart::Text {
            text: Cow::Owned(format!("[{} for {}]", call.name, arguments_json(call))),
            signature: None,
        }),
        ContentBlock::Image(_) | ContentBlock::Unknown(_) => None,
    };
    message.content.iter().filter_map(to_part).collect()
}

/// Thinking of another model, or thinking that was cut off. It is sent as text only if the message has no other text or
/// call.
fn foreign_thinking(thinking: &ThinkingBlock, has_other_content: bool) -> Option<AssistantPart<'_>> {
    let is_sent = !has_other_content && !thinking.redacted && !thinking.thinking.trim().is_empty();
    is_sent.then(|| AssistantPart::Text { text: Cow::Borrowed(&*thinking.thinking), signature: None })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::request::Api;
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    fn check(model: ModelInfo, messages: Value, expected: Expect) {
        let request = Request::new(Arc::new(model), serde_json::from_value(messages).unwrap());
        let mut text = String::new();
        for_each_turn(&request, |turn| text += &format!("{turn:?}\n"));
        expected.assert_eq(&text);
    }

    fn conversation_with_thinking() -> Value {
        json!([
            { "role": "system", "content": "prompt" },
            { "role": "user", "content": "hi" },
            { "role": "assistant", "provider": "p", "api": "anthropic-messages", "model": "m", "content": [
                { "type": "thinking", "thinking": "hm", "thinkingSignature": "sig" },
                { "type": "text", "text": "  " },
                { "type": "text", "text": "yes", "textSignature": "t" },
            ]},
            { "role": "assistant", "provider": "p", "api": "anthropic-messages", "model": "m", "stopReason": "aborted", "content": [
                { "type": "thinking", "thinking": "broken off" },
            ]},
            { "role": "assistant", "provider": "p", "api": "anthropic-messages", "model": "m", "stopReason": "error", "content": [] },
        ])
    }

    #[test]
    fn model_gets_its_own_thinking_back() {
        check(
            ModelInfo::new("p", "m", Api::AnthropicMessages),
            conversation_with_thinking(),
            expect![[r#"
                User([Text("hi")])
                Assistant([Thinking { thinking: "hm", signature: "sig", redacted: false }, Text { text: "yes", signature: Some("t") }])
                Assistant([Text { text: "broken off", signature: None }])
            "#]],
        );
    }

    fn check_text_only(model: ModelInfo) {
        check(
            model,
            conversation_with_thinking(),
            expect![[r#"
                User([Text("hi")])
                Assistant([Text { text: "yes", signature: None }])
                Assistant([Text { text: "broken off", signature: None }])
            "#]],
        );
    }

    #[test]
    fn another_model_gets_text_without_thinking() {
        check_text_only(ModelInfo::new("p", "other", Api::AnthropicMessages));
        check_text_only(ModelInfo::new("q", "m", Api::AnthropicMessages));
        check_text_only(ModelInfo::new("p", "m", Api::OpenaiResponses));
    }

    fn conversation_with_images() -> Value {
        json!([
            { "role": "user", "content": [{ "type": "image", "data": "AAAA", "mimeType": "image/png" }] },
            { "role": "assistant", "content": [
                { "type": "toolCall", "id": "1", "name": "read", "arguments": { "path": "a.png" } },
                { "type": "toolCall", "id": "2", "name": "ls", "arguments": {} },
            ]},
            { "role": "toolResult", "toolCallId": "1", "toolName": "read", "content": [{ "type": "image", "data": "BBBB", "mimeType": "image/gif" }] },
            { "role": "toolResult", "toolCallId": "2", "toolName": "ls", "content": [], "isError": true },
        ])
    }

    #[test]
    fn results_of_one_batch_are_grouped() {
        let mut model = ModelInfo::new("p", "m", Api::AnthropicMessages);
        model.images = true;
        check(
            model,
            conversation_with_images(),
            expect![[r#"
                User([Image(Image { data: "AAAA", mime_type: "image/png" })])
                Assistant([Call { call: ToolCall { id: "1", name: "read", arguments: {"path": String("a.png")}, thought_signature: None, invalid_arguments: None }, signature: None, from_same_model: false }, Call { call: ToolCall { id: "2", name: "ls", arguments: {}, thought_signature: None, invalid_arguments: None }, signature: None, from_same_model: false }])
                ToolResults([ToolOutput { id: "1", name: "read", is_error: false, parts: [Text("(see the image)"), Image(Image { data: "BBBB", mime_type: "image/gif" })] }, ToolOutput { id: "2", name: "ls", is_error: true, parts: [Text("(no output)")] }])
            "#]],
        );
    }

    #[test]
    fn images_and_tools_become_text_for_models_without_them() {
        let mut model = ModelInfo::new("p", "m", Api::OpenaiCompletions);
        model.tools = false;
        check(
            model,
            conversation_with_images(),
            expect![[r#"
                User([Text("(an image of type image/png, which this model cannot see)")])
                Assistant([Text { text: "[read for {\"path\":\"a.png\"}]", signature: None }, Text { text: "[ls for {}]", signature: None }])
                User([Text("[read for {\"path\":\"a.png\"}] result:\n<function_results>"), Text("(an image of type image/gif, which this model cannot see)"), Text("</function_results>")])
                User([Text("[ls for {}] result:\n<function_results>"), Text("(no output)"), Text("</function_results>")])
            "#]],
        );
    }
}
