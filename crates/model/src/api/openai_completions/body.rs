//! Builds request bodies for Chat Completions, adapted to each server with [`crate::Compat`].

use serde_json::{Map, Value, json};

use super::THOUGHTS;
use super::messages::Messages;
use crate::api::{Body, Call};
use crate::block::Image;
use crate::compat::{MaxTokensField, Reasoning};
use crate::fit::{Outcome, Part, Said, Turn, turns};
use crate::request::{Cache, ModelInfo, Request};
use crate::thinking::ThinkingLevel;
use crate::tool_id::fitting;

const LONGEST_ID: usize = 40;

pub(crate) fn call(request: &Request) -> Call {
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
    match (request.limit(), compat.max_tokens_field) {
        (Some(limit), MaxTokensField::MaxTokens) => insert(&mut body, "max_tokens", json!(limit)),
        (Some(limit), MaxTokensField::MaxCompletionTokens) => {
            insert(&mut body, "max_completion_tokens", json!(limit));
        }
        (None, _) | (_, MaxTokensField::None) => {}
    }
    if let Some(session) =
        request.session.as_ref().filter(|_| compat.prompt_cache_key && request.cache != Cache::Off)
    {
        insert(&mut body, "prompt_cache_key", json!(session));
    }
    reasoning(request, &mut body);
    if !request.tools.is_empty() && model.tools {
        insert(&mut body, "tools", tools(request));
    }
    let body = Body::Text(with_messages(body, request));
    Call { path: "/chat/completions".to_owned(), headers: Vec::new(), body }
}

fn insert(body: &mut Map<String, Value>, key: &str, value: Value) {
    body.insert(key.to_owned(), value);
}

fn reasoning(request: &Request, body: &mut Map<String, Value>) {
    let ability = &request.model.thinking;
    if !ability.can_think() {
        return;
    }
    let level = request.level();
    let is_off = level == ThinkingLevel::Off;
    let word = if is_off { ability.off_word() } else { Some(level.name()) };
    match request.model.compat.reasoning {
        Reasoning::None => {}
        Reasoning::Effort => body.extend(word.map(|word| ("reasoning_effort".to_owned(), json!(word)))),
        Reasoning::Openrouter => {
            body.extend(word.map(|word| ("reasoning".to_owned(), json!({ "effort": word }))));
        }
        Reasoning::EnableThinking => insert(body, "enable_thinking", json!(!is_off)),
        Reasoning::ChatTemplate => {
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
    let mut messages = Messages::new(fields, model.compat.cache_control && request.cache != Cache::Off);
    if !request.system.trim().is_empty() {
        let role = if model.compat.developer_role { "developer" } else { "system" };
        messages.push(json!({ "role": role, "content": prose(&request.system, model) }));
    }
    for turn in turns(request) {
        match turn {
            Turn::User(parts) => messages.push(user(&parts, model)),
            Turn::Assistant(content) => {
                assistant(&content, model).into_iter().for_each(|message| messages.push(message));
            }
            Turn::Results(batch) => results(&batch, &mut messages),
        }
    }
    messages.finish()
}

/// Text that may get a cache marker is always sent in array form, so that setting the marker does not change the rest.
fn prose(text: &str, model: &ModelInfo) -> Value {
    if model.compat.cache_control { json!([{ "type": "text", "text": text }]) } else { json!(text) }
}

/// A user message. Content without images is sent as a plain string, because some servers accept nothing else.
fn user(parts: &[Part<'_>], model: &ModelInfo) -> Value {
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => Some(&**text),
            Part::Image(_) => None,
        })
        .collect();
    match texts {
        Some(texts) => json!({ "role": "user", "content": prose(&texts.join("\n"), model) }),
        None => json!({ "role": "user", "content": parts.iter().map(part).collect::<Vec<_>>() }),
    }
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Image(image) => image_part(image),
    }
}

fn image_part(image: &Image) -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:{};base64,{}", image.mime_type, image.data) } })
}

fn assistant(content: &[Said<'_>], model: &ModelInfo) -> Option<Value> {
    let mut message = json!({ "role": "assistant" });
    let mut text = String::new();
    let mut calls = Vec::new();
    let mut thoughts: Map<String, Value> = Map::new();
    for piece in content {
        match piece {
            Said::Text { text: more, .. } => text.push_str(more),
            // In this protocol the signature of a thinking block is the name of the field it came in. A session file may
            // contain any text there, so only known field names are accepted.
            Said::Thinking { thinking, signature, .. }
                if model.compat.reasoning_back && THOUGHTS.contains(signature) =>
            {
                let field = thoughts.entry(*signature).or_insert_with(|| json!(""));
                *field = json!(format!("{}{thinking}", field.as_str().unwrap_or_default()));
            }
            Said::Thinking { .. } => {}
            Said::Call { call, .. } => calls.push(json!({
                "id": fitting(&call.id, LONGEST_ID),
                "type": "function",
                "function": { "name": call.name, "arguments": Value::from(call.arguments.clone()).to_string() },
            })),
        }
    }
    if text.is_empty() && calls.is_empty() {
        return None;
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
    Some(message)
}

/// Encrypted thinking that some servers attach to a call and expect back.
fn reasoning_detail(content: &Said<'_>) -> Option<Value> {
    match content {
        Said::Call { signature: Some(signature), .. } => {
            serde_json::from_str(signature).ok().filter(|detail: &Value| {
                detail["type"].as_str().is_some_and(|kind| kind.starts_with("reasoning."))
            })
        }
        _ => None,
    }
}

/// Tool results are text in this protocol; their images follow in a user message.
fn results(batch: &[Outcome<'_>], messages: &mut Messages) {
    let mut images = Vec::new();
    for outcome in batch {
        messages.push(json!({ "role": "tool", "tool_call_id": fitting(outcome.id, LONGEST_ID), "content": outcome.text() }));
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
