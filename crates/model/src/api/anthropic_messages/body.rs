//! Builds request bodies for the Messages API.

use serde_json::{Map, Value, json};

use crate::adapt::{ApiTurn, AssistantPart, ContentPart, ToolOutput, adapt_turns};
use crate::api::{HttpRequest, RequestBody};
use crate::block::Image;
use crate::request::{CacheRetention, Request, ToolSpec};
use crate::thinking::{ThinkingLevel, ThinkingStyle};
use crate::tool_id::sanitize_id;

const MAX_ID_LENGTH: usize = 64;
/// The API requires `max_tokens`; these are the defaults. With adaptive thinking the limit includes the thinking.
const DEFAULT_MAX_TOKENS: u64 = 32_000;
const DEFAULT_MAX_TOKENS_ADAPTIVE: u64 = 64_000;
/// Tokens reserved for the answer when thinking has a budget.
const MIN_ANSWER_TOKENS: u64 = 1_024;
const MIN_THINKING_TOKENS: u64 = 1_024;

pub(crate) fn build_request(request: &Request) -> HttpRequest {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model.id));
    body.insert("stream".to_owned(), json!(true));
    let mut betas = Vec::new();
    let turns = turns_to_send(request);
    set_output_options(request, effective_level(request, &turns), &mut body, &mut betas);
    let marker = cache_marker(request);
    if !request.system.trim().is_empty() {
        let mut system = json!({ "type": "text", "text": request.system });
        set_marker(&mut system, marker.as_ref());
        body.insert("system".to_owned(), json!([system]));
    }
    let tools = tools(request, &turns, marker.as_ref());
    if !tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    body.insert("messages".to_owned(), messages(&turns, marker.as_ref()));
    let headers = if betas.is_empty() { Vec::new() } else { vec![("anthropic-beta", betas.join(","))] };
    HttpRequest { path: "/v1/messages".to_owned(), headers, body: RequestBody::Fields(body) }
}

/// The conversation. Omits bound thinking blocks when thinking is off: the server validates them, and only a request
/// with thinking on can ask it to drop those that no longer match.
fn turns_to_send(request: &Request) -> Vec<ApiTurn<'_>> {
    let mut turns = adapt_turns(request);
    if request.model.compat.bound_thinking && request.thinking_level() == ThinkingLevel::Off {
        turns.retain_mut(|turn| match turn {
            ApiTurn::Assistant(assistant) => {
                assistant.retain(|piece| !matches!(piece, AssistantPart::Thinking { .. }));
                !assistant.is_empty()
            }
            ApiTurn::User(_) | ApiTurn::ToolResults(_) => true,
        });
    }
    turns
}

/// The thinking level of this request. With a budget, the API rejects tool calls in the last assistant message that have
/// no thinking block before them. This happens if thinking was turned on, or the model changed, between a call and its
/// result. Thinking then starts with the next turn.
fn effective_level(request: &Request, turns: &[ApiTurn<'_>]) -> ThinkingLevel {
    let last = turns.iter().rev().find_map(|turn| match turn {
        ApiTurn::Assistant(assistant) => Some(assistant),
        ApiTurn::User(_) | ApiTurn::ToolResults(_) => None,
    });
    let calls_without_thought = last.is_some_and(|assistant| {
        !matches!(assistant.first(), Some(AssistantPart::Thinking { .. }))
            && assistant.iter().any(|piece| matches!(piece, AssistantPart::Call { .. }))
    });
    let is_budget = request.model.thinking.style == ThinkingStyle::Budget;
    if is_budget && calls_without_thought { ThinkingLevel::Off } else { request.thinking_level() }
}

/// Sets the output limit and the thinking options.
fn set_output_options(
    request: &Request,
    level: ThinkingLevel,
    body: &mut Map<String, Value>,
    betas: &mut Vec<&'static str>,
) {
    let model = &request.model;
    let most = model.max_output.max(1);
    let usual = if model.thinking.style == ThinkingStyle::Adaptive {
        DEFAULT_MAX_TOKENS_ADAPTIVE
    } else {
        DEFAULT_MAX_TOKENS
    };
    let mut limit = request.max_tokens.unwrap_or(usual).min(most);
    match model.thinking.style {
        ThinkingStyle::None => {}
        _ if level == ThinkingLevel::Off => {
            if let Some(word) = model.thinking.off_value() {
                body.insert("thinking".to_owned(), json!({ "type": word }));
            }
        }
        ThinkingStyle::Budget => {
            let budget = level.budget(most.saturating_sub(MIN_ANSWER_TOKENS)).max(MIN_THINKING_TOKENS);
            limit = limit.saturating_add(budget).min(most).max(budget + 1);
            body.insert("thinking".to_owned(), json!({ "type": "enabled", "budget_tokens": budget }));
            if !request.tools.is_empty() {
                betas.push("interleaved-thinking-2025-05-14");
            }
        }
        ThinkingStyle::Adaptive | ThinkingStyle::Effort => {
            let mut thinking = json!({ "type": "adaptive", "display": "summarized" });
            if model.compat.bound_thinking {
                // Moves, compactions and edits change the prefix of a thinking block. Without this option the API returns an error.
                thinking["block_binding"] = json!({ "prefix_mismatch_behavior": "drop_block" });
                betas.push("thinking-binding-controls-2026-08-01");
            }
            let effort = if level == ThinkingLevel::Minimal { ThinkingLevel::Low } else { level };
            body.insert("thinking".to_owned(), thinking);
            body.insert("output_config".to_owned(), json!({ "effort": effort.name() }));
        }
    }
    body.insert("max_tokens".to_owned(), json!(limit));
}

fn cache_marker(request: &Request) -> Option<Value> {
    match request.cache {
        _ if !request.model.compat.cache_control => None,
        CacheRetention::Off => None,
        CacheRetention::Short => Some(json!({ "type": "ephemeral" })),
    }
}

fn set_marker(block: &mut Value, marker: Option<&Value>) {
    if let Some(marker) = marker {
        block["cache_control"] = marker.clone();
    }
}

fn tools(request: &Request, turns: &[ApiTurn<'_>], marker: Option<&Value>) -> Vec<Value> {
    let tool = |tool: &ToolSpec| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters });
    let mut tools: Vec<Value> = match request.model.tools {
        true if request.tools.is_empty() => removed_tools(turns),
        true => request.tools.iter().map(tool).collect(),
        false => Vec::new(),
    };
    if let Some(last) = tools.last_mut() {
        set_marker(last, marker);
    }
    tools
}

/// Definitions for the tools called earlier in the conversation. The API rejects tool calls in a request without tools.
fn removed_tools(turns: &[ApiTurn<'_>]) -> Vec<Value> {
    let messages = turns.iter().filter_map(|turn| match turn {
        ApiTurn::Assistant(assistant) => Some(assistant),
        _ => None,
    });
    let mut names: Vec<&str> = Vec::new();
    for part in messages.flatten() {
        if let AssistantPart::Call { call, .. } = part
            && !names.contains(&&*call.name)
        {
            names.push(&call.name);
        }
    }
    let schema = json!({ "type": "object" });
    names
        .iter()
        .map(|name| json!({ "name": name, "description": "No longer available.", "input_schema": schema }))
        .collect()
}

fn messages(turns: &[ApiTurn<'_>], marker: Option<&Value>) -> Value {
    let mut messages: Vec<Value> = turns.iter().map(message).collect();
    mark_last_two(&mut messages, marker);
    Value::Array(messages)
}

/// Sets cache markers at the end of the conversation and at the end of the previous request, which is already cached.
fn mark_last_two(messages: &mut [Value], marker: Option<&Value>) {
    let users = messages.iter_mut().rev().filter(|message| message["role"] == "user");
    for message in users.take(2) {
        if let Some(last) = message["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
            set_marker(last, marker);
        }
    }
}

fn message(turn: &ApiTurn<'_>) -> Value {
    match turn {
        ApiTurn::User(parts) => {
            json!({ "role": "user", "content": parts.iter().map(part).collect::<Vec<_>>() })
        }
        ApiTurn::Assistant(assistant) => {
            json!({ "role": "assistant", "content": assistant.iter().map(assistant_block).collect::<Vec<_>>() })
        }
        ApiTurn::ToolResults(batch) => {
            json!({ "role": "user", "content": batch.iter().map(result).collect::<Vec<_>>() })
        }
    }
}

fn part(part: &ContentPart<'_>) -> Value {
    match part {
        ContentPart::Text(text) => json!({ "type": "text", "text": text }),
        ContentPart::Image(Image { data, mime_type }) => {
            json!({ "type": "image", "source": { "type": "base64", "media_type": mime_type, "data": data } })
        }
    }
}

fn assistant_block(part: &AssistantPart<'_>) -> Value {
    match part {
        AssistantPart::Text { text, .. } => json!({ "type": "text", "text": text }),
        AssistantPart::Thinking { signature, redacted: true, .. } => {
            json!({ "type": "redacted_thinking", "data": signature })
        }
        AssistantPart::Thinking { thinking, signature, redacted: false } => {
            json!({ "type": "thinking", "thinking": thinking, "signature": signature })
        }
        AssistantPart::Call { call, .. } => {
            json!({ "type": "tool_use", "id": sanitize_id(&call.id, MAX_ID_LENGTH), "name": call.name, "input": call.arguments })
        }
    }
}

fn result(outcome: &ToolOutput<'_>) -> Value {
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": sanitize_id(outcome.id, MAX_ID_LENGTH),
        "content": outcome.parts.iter().map(part).collect::<Vec<_>>(),
    });
    if outcome.is_error {
        block["is_error"] = json!(true);
    }
    block
}
