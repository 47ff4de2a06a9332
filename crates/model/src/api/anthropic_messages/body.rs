//! Builds request bodies for the Messages API.

use serde_json::{Map, Value, json};

use crate::adapt::{ApiTurn, AssistantPart, ContentPart, ToolOutput, for_each_turn, last_reply};
use crate::api::HttpRequest;
use crate::api::messages_writer::MessagesWriter;
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
    set_output_options(request, effective_level(request), &mut body, &mut betas);
    let marker = cache_marker(request);
    if !request.system.trim().is_empty() {
        let mut system = json!({ "type": "text", "text": request.system });
        set_marker(&mut system, marker.as_ref());
        body.insert("system".to_owned(), json!([system]));
    }
    let tools = tools(request, marker.as_ref());
    if !tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    let headers = if betas.is_empty() { Vec::new() } else { vec![("anthropic-beta", betas.join(","))] };
    HttpRequest { path: "/v1/messages".to_owned(), headers, body: with_messages(body, marker, request) }
}

/// Writes the conversation. Omits bound thinking blocks when thinking is off: the server validates them, and only a request
/// with thinking on can ask it to drop those that no longer match.
fn with_messages(fields: Map<String, Value>, marker: Option<Value>, request: &Request) -> String {
    let omits_thinking =
        request.model.compat.bound_thinking && request.thinking_level() == ThinkingLevel::Off;
    let mut messages = MessagesWriter::new(fields, "messages", marker, request);
    for_each_turn(request, |mut turn| {
        if let ApiTurn::Assistant(parts) = &mut turn
            && omits_thinking
        {
            parts.retain(|part| !matches!(part, AssistantPart::Thinking { .. }));
            if parts.is_empty() {
                return;
            }
        }
        messages.push(message(&turn));
    });
    messages.finish()
}

/// The thinking level of this request. With a budget, the API rejects tool calls in the last assistant message that have
/// no thinking block before them. This happens if thinking was turned on, or the model changed, between a call and its
/// result. Thinking then starts with the next turn.
fn effective_level(request: &Request) -> ThinkingLevel {
    let calls_without_thought = || {
        last_reply(request).is_some_and(|parts| {
            !matches!(parts.first(), Some(AssistantPart::Thinking { .. }))
                && parts.iter().any(|part| matches!(part, AssistantPart::Call { .. }))
        })
    };
    let is_budget = request.model.thinking.style == ThinkingStyle::Budget;
    if is_budget && calls_without_thought() { ThinkingLevel::Off } else { request.thinking_level() }
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

fn tools(request: &Request, marker: Option<&Value>) -> Vec<Value> {
    let tool = |tool: &ToolSpec| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters });
    let mut tools: Vec<Value> = match request.model.tools {
        true if request.tools.is_empty() => removed_tools(request),
        true => request.tools.iter().map(tool).collect(),
        false => Vec::new(),
    };
    if let Some(last) = tools.last_mut() {
        set_marker(last, marker);
    }
    tools
}

/// Definitions for the tools called earlier in the conversation. The API rejects tool calls in a request without tools.
fn removed_tools(request: &Request) -> Vec<Value> {
    let mut names: Vec<&str> = Vec::new();
    for_each_turn(request, |turn| {
        let ApiTurn::Assistant(parts) = turn else { return };
        for part in parts {
            if let AssistantPart::Call { call, .. } = part
                && !names.contains(&&*call.name)
            {
                names.push(&call.name);
            }
        }
    });
    let schema = json!({ "type": "object" });
    names
        .iter()
        .map(|name| json!({ "name": name, "description": "No longer available.", "input_schema": schema }))
        .collect()
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
