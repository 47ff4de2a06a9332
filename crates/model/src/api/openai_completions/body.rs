//! Builds request bodies for Chat Completions, adapted to each server with [`crate::Compat`].

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::THINKING_FIELDS;
use crate::adapt::{ApiTurn, AssistantPart, ContentPart, ToolOutput, for_each_turn};
use crate::api::HttpRequest;
use crate::api::messages_writer::MessagesWriter;
use crate::block::Image;
use crate::compat::{MaxTokensField, ReasoningFormat};
use crate::request::{CacheRetention, ModelInfo, Request};
use crate::thinking::ThinkingLevel;
use crate::tool_id::sanitize_id;

const MAX_ID_LENGTH: usize = 40;

pub(crate) fn build_request(request: &Request) -> HttpRequest {
    let model = &*request.model;
    let compat = model.compat;
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model.id));
    body.insert("stream".to_owned(), json!(true));
    if compat.stream_options {
        body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    }
    if compat.store {
        body.insert("store".to_owned(), json!(false));
    }
    match (request.output_limit(), compat.max_tokens_field) {
        (Some(limit), MaxTokensField::MaxTokens) => insert(&mut body, "max_tokens", json!(limit)),
        (Some(limit), MaxTokensField::MaxCompletionTokens) => {
            insert(&mut body, "max_completion_tokens", json!(limit));
        }
        (None, _) | (_, MaxTokensField::None) => {}
    }
    if let Some(session) =
        request.session.as_ref().filter(|_| compat.prompt_cache_key && request.cache != CacheRetention::Off)
    {
        insert(&mut body, "prompt_cache_key", json!(session));
    }
    reasoning(request, &mut body);
    if !request.tools.is_empty() && model.tools {
        insert(&mut body, "tools", tools(request));
    }
    let body = with_messages(body, request);
    HttpRequest { path: "/chat/completions".to_owned(), headers: Vec::new(), body }
}

fn insert(body: &mut Map<String, Value>, key: &str, value: Value) {
    body.insert(key.to_owned(), value);
}

fn reasoning(request: &Request, body: &mut Map<String, Value>) {
    let ability = &request.model.thinking;
    if !ability.can_think() {
        return;
    }
    let level = request.thinking_level();
    let is_off = level == ThinkingLevel::Off;
    let word = if is_off { ability.off_value() } else { Some(level.name()) };
    match request.model.compat.reasoning {
        ReasoningFormat::None => {}
        ReasoningFormat::Effort => body.extend(word.map(|word| ("reasoning_effort".to_owned(), json!(word)))),
        ReasoningFormat::Openrouter => {
            body.extend(word.map(|word| ("reasoning".to_owned(), json!({ "effort": word }))));
        }
        ReasoningFormat::EnableThinking => insert(body, "enable_thinking", json!(!is_off)),
        ReasoningFormat::ChatTemplate => {
            insert(body, "chat_template_kwargs", json!({ "enable_thinking": !is_off }));
        }
    }
}

fn tools(request: &Request) -> Value {
    let tool = |tool: &crate::request::ToolSpec| {
        json!({ "type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.parameters,
        }})
    };
    Value::Array(request.tools.iter().map(tool).collect())
}

fn with_messages(fields: Map<String, Value>, request: &Request) -> String {
    let model = &*request.model;
    let with_markers = model.compat.cache_control && request.cache != CacheRetention::Off;
    let marker = with_markers.then(|| json!({ "type": "ephemeral" }));
    let mut messages = MessagesWriter::new(fields, "messages", marker, request);
    if !request.system.trim().is_empty() {
        let role = if model.compat.developer_role { "developer" } else { "system" };
        messages.push_marked(json!({ "role": role, "content": text_content(&request.system, model) }));
    }
    for_each_turn(request, |turn| match turn {
        ApiTurn::User(parts) => user(&parts, model, &mut messages),
        ApiTurn::Assistant(content) => assistant(&content, model, &mut messages),
        ApiTurn::ToolResults(batch) => results(&batch, &mut messages),
    });
    messages.finish()
}

/// A message whose content is one text.
#[derive(Serialize)]
struct TextMessage<'a> {
    role: &'a str,
    /// The call that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    content: &'a str,
}

fn push_text(messages: &mut MessagesWriter, role: &str, tool_call_id: Option<&str>, content: &str) {
    messages.push_serialized(&TextMessage { role, tool_call_id, content });
}

/// Text that may get a cache marker is always sent in array form, so that setting the marker does not change the rest.
fn text_content(text: &str, model: &ModelInfo) -> Value {
    if model.compat.cache_control { json!([{ "type": "text", "text": text }]) } else { json!(text) }
}

/// A user message. Content without images is sent as a plain string, because some servers accept nothing else.
fn user(parts: &[ContentPart<'_>], model: &ModelInfo, messages: &mut MessagesWriter) {
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            ContentPart::Text(text) => Some(&**text),
            ContentPart::Image(_) => None,
        })
        .collect();
    let content = match texts {
        Some(texts) if !model.compat.cache_control => {
            return push_text(messages, "user", None, &texts.join("\n"));
        }
        Some(texts) => text_content(&texts.join("\n"), model),
        None => parts.iter().map(part).collect(),
    };
    messages.push(json!({ "role": "user", "content": content }));
}

fn part(part: &ContentPart<'_>) -> Value {
    match part {
        ContentPart::Text(text) => json!({ "type": "text", "text": text }),
        ContentPart::Image(image) => image_part(image),
    }
}

fn image_part(image: &Image) -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:{};base64,{}", image.mime_type, image.data) } })
}

fn assistant(content: &[AssistantPart<'_>], model: &ModelInfo, messages: &mut MessagesWriter) {
    if let [AssistantPart::Text { text, .. }] = content
        && !text.is_empty()
    {
        return push_text(messages, "assistant", None, text);
    }
    let mut message = json!({ "role": "assistant" });
    let mut text = String::new();
    let mut calls = Vec::new();
    let mut thoughts: Map<String, Value> = Map::new();
    for piece in content {
        match piece {
            AssistantPart::Text { text: more, .. } => text.push_str(more),
            // In this protocol the signature of a thinking block is the name of the field it came in. A session file may
            // contain any text there, so only known field names are accepted.
            AssistantPart::Thinking { thinking, signature, .. }
                if model.compat.reasoning_back && THINKING_FIELDS.contains(signature) =>
            {
                let field = thoughts.entry(*signature).or_insert_with(|| json!(""));
                *field = json!(format!("{}{thinking}", field.as_str().unwrap_or_default()));
            }
            AssistantPart::Thinking { .. } => {}
            AssistantPart::Call { call, .. } => calls.push(json!({
                "id": sanitize_id(&call.id, MAX_ID_LENGTH),
                "type": "function",
                "function": { "name": call.name, "arguments": Value::from(call.arguments.clone()).to_string() },
            })),
        }
    }
    if text.is_empty() && calls.is_empty() {
        return;
    }
    message["content"] = if text.is_empty() && model.compat.null_content { Value::Null } else { json!(text) };
    for (field, thought) in thoughts {
        message[field] = thought;
    }
    let details: Vec<Value> = content.iter().filter_map(reasoning_detail).collect();
    if !details.is_empty() {
        message["reasoning_details"] = json!(details);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    messages.push(message);
}

/// Encrypted thinking that some servers attach to a call and expect back.
fn reasoning_detail(content: &AssistantPart<'_>) -> Option<Value> {
    match content {
        AssistantPart::Call { signature: Some(signature), .. } => {
            serde_json::from_str(signature).ok().filter(|detail: &Value| {
                detail["type"].as_str().is_some_and(|kind| kind.starts_with("reasoning."))
            })
        }
        _ => None,
    }
}

/// Tool results are text in this protocol; their images follow in a user message.
fn results(batch: &[ToolOutput<'_>], messages: &mut MessagesWriter) {
    let mut images = Vec::new();
    for outcome in batch {
        push_text(messages, "tool", Some(&sanitize_id(outcome.id, MAX_ID_LENGTH)), &outcome.text());
        for image in outcome.images() {
            images.push(
                json!({ "type": "text", "text": format!("The image that {} returned:", outcome.name) }),
            );
            images.push(image_part(image));
        }
    }
    if !images.is_empty() {
        messages.push(json!({ "role": "user", "content": images }));
    }
}
