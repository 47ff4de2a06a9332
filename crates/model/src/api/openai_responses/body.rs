//! Builds request bodies for the Responses API. The provider stores nothing: each request contains the whole
//! conversation, including encrypted thinking.

use serde_json::{Map, Value, json};

use super::read_text_signature;
use crate::adapt::{ApiTurn, AssistantPart, ContentPart, ToolOutput, for_each_turn};
use crate::api::HttpRequest;
use crate::api::messages_writer::MessagesWriter;
use crate::block::ToolCall;
use crate::request::{CacheRetention, Request};
use crate::thinking::ThinkingLevel;
use crate::tool_id::sanitize_id;

const MAX_ID_LENGTH: usize = 64;
const MIN_OUTPUT_TOKENS: u64 = 16;

pub(crate) fn build_request(request: &Request) -> HttpRequest {
    let model = &*request.model;
    let mut body = Map::new();
    let mut insert = |key: &str, value: Value| body.insert(key.to_owned(), value);
    insert("model", json!(model.id));
    insert("stream", json!(true));
    insert("store", json!(false));
    if let Some(limit) = request.output_limit() {
        insert("max_output_tokens", json!(limit.max(MIN_OUTPUT_TOKENS)));
    }
    if let Some(session) = request
        .session
        .as_ref()
        .filter(|_| model.compat.prompt_cache_key && request.cache != CacheRetention::Off)
    {
        insert("prompt_cache_key", json!(session.chars().take(MAX_ID_LENGTH).collect::<String>()));
    }
    if model.thinking.can_think() {
        match request.thinking_level() {
            ThinkingLevel::Off => {
                if let Some(word) = model.thinking.off_value() {
                    insert("reasoning", json!({ "effort": word }));
                }
            }
            level => {
                insert("reasoning", json!({ "effort": level.name(), "summary": "auto" }));
            }
        }
        insert("include", json!(["reasoning.encrypted_content"]));
    }
    if !request.tools.is_empty() && model.tools {
        insert("tools", tools(request));
    }
    if !request.system.trim().is_empty() {
        insert("instructions", json!(request.system));
    }
    HttpRequest { path: "/responses".to_owned(), headers: Vec::new(), body: with_input(body, request) }
}

fn tools(request: &Request) -> Value {
    let tool = |tool: &crate::request::ToolSpec| {
        json!({
            "type": "function", "name": tool.name, "description": tool.description,
            "parameters": tool.parameters, "strict": false,
        })
    };
    Value::Array(request.tools.iter().map(tool).collect())
}

fn with_input(fields: Map<String, Value>, request: &Request) -> String {
    let mut items = MessagesWriter::new(fields, "input", None, request);
    for_each_turn(request, |turn| match turn {
        ApiTurn::User(parts) => {
            items.push(json!({ "role": "user", "content": parts.iter().map(part).collect::<Vec<_>>() }));
        }
        ApiTurn::Assistant(content) => assistant(&content, &mut items),
        ApiTurn::ToolResults(batch) => batch.iter().map(result).for_each(|item| items.push(item)),
    });
    items.finish()
}

fn part(part: &ContentPart<'_>) -> Value {
    match part {
        ContentPart::Text(text) => json!({ "type": "input_text", "text": text }),
        ContentPart::Image(image) => {
            let url = format!("data:{};base64,{}", image.mime_type, image.data);
            json!({ "type": "input_image", "detail": "auto", "image_url": url })
        }
    }
}

/// Adds the items of an assistant message. The API rejects a reasoning item that no other item follows, so those are
/// omitted.
fn assistant(content: &[AssistantPart<'_>], items: &mut MessagesWriter) {
    let mut thoughts = Vec::new();
    for piece in content {
        match piece {
            AssistantPart::Thinking { signature, .. } => {
                let item = serde_json::from_str(signature).ok();
                thoughts.extend(item.filter(|item: &Value| item["type"] == "reasoning"));
            }
            AssistantPart::Text { text, .. } if text.trim().is_empty() => {}
            AssistantPart::Text { text, signature } => {
                thoughts.drain(..).for_each(|thought| items.push(thought));
                items.push(message(text, *signature));
            }
            AssistantPart::Call { call, from_same_model: own, .. } => {
                thoughts.drain(..).for_each(|thought| items.push(thought));
                items.push(function_call(call, *own));
            }
        }
    }
}

/// A text item. With an id it is sent as the server's own item, otherwise as plain output text.
fn message(text: &str, signature: Option<&str>) -> Value {
    let named =
        signature.map(read_text_signature).filter(|(id, _)| !id.is_empty() && id.len() <= MAX_ID_LENGTH);
    let Some((id, phase)) = named else {
        return json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] });
    };
    let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
    let mut item = json!({ "type": "message", "role": "assistant", "status": "completed", "id": id, "content": content });
    if let Some(phase) = phase {
        item["phase"] = json!(phase);
    }
    item
}

/// A call has two ids, stored as `call_id|item_id`. The item id is only sent to the model that created it.
fn function_call(call: &ToolCall, own: bool) -> Value {
    let mut item = json!({
        "type": "function_call",
        "call_id": sanitize_id(&call.id, MAX_ID_LENGTH),
        "name": call.name,
        "arguments": Value::from(call.arguments.clone()).to_string(),
    });
    let item_id = call.id.split_once('|').map(|(_, item)| item).filter(|_| own);
    if let Some(id) = item_id.filter(|id| id.starts_with("fc_") && id.len() <= MAX_ID_LENGTH) {
        item["id"] = json!(id);
    }
    item
}

fn result(outcome: &ToolOutput<'_>) -> Value {
    let output = match outcome.images().next() {
        Some(_) => Value::Array(outcome.parts.iter().map(part).collect()),
        None => json!(outcome.text()),
    };
    json!({ "type": "function_call_output", "call_id": sanitize_id(outcome.id, MAX_ID_LENGTH), "output": output })
}
