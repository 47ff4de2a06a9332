//! Builds request bodies for `streamGenerateContent`.

use serde_json::{Map, Value, json};

use crate::api::{Body, Call};
use crate::block::Image;
use crate::fit::{Outcome, Part, Said, Turn, turns};
use crate::request::{ModelInfo, Request};
use crate::thinking::{Style, ThinkingLevel};
use crate::tool_id::fitting;

const LONGEST_ID: usize = 64;
/// Placeholder signature for a call that another model made. Gemini 3 requires a signature.
const FOREIGN_CALL: &str = "skip_thought_signature_validator";

pub(crate) fn call(request: &Request) -> Call {
    let model = &*request.model;
    let mut body = Map::new();
    if !request.system.trim().is_empty() {
        body.insert("systemInstruction".to_owned(), json!({ "parts": [{ "text": request.system }] }));
    }
    if !request.tools.is_empty() && model.tools {
        body.insert("tools".to_owned(), tools(request));
    }
    let config = config(request);
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), Value::Object(config));
    }
    body.insert("contents".to_owned(), contents(request));
    let path = format!("/models/{}:streamGenerateContent?alt=sse", model.id);
    Call { path, headers: Vec::new(), body: Body::Fields(body) }
}

fn tools(request: &Request) -> Value {
    let tool = |tool: &crate::request::ToolSpec| json!({ "name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters });
    json!([{ "functionDeclarations": request.tools.iter().map(tool).collect::<Vec<_>>() }])
}

fn config(request: &Request) -> Map<String, Value> {
    let model = &*request.model;
    let mut config = Map::new();
    if let Some(limit) = request.limit() {
        config.insert("maxOutputTokens".to_owned(), json!(limit.min(model.max_output)));
    }
    let level = request.level();
    let thinking = match (model.thinking.style, level) {
        (Style::None, _) => None,
        (Style::Budget, ThinkingLevel::Off) => {
            model.thinking.off_word().map(|_| json!({ "thinkingBudget": 0 }))
        }
        (_, ThinkingLevel::Off) => {
            model.thinking.off_word().map(|word| json!({ "thinkingLevel": word.to_uppercase() }))
        }
        (Style::Budget, _) => {
            Some(json!({ "includeThoughts": true, "thinkingBudget": level.budget(MOST_THINKING) }))
        }
        (Style::Adaptive | Style::Effort, _) => {
            Some(json!({ "includeThoughts": true, "thinkingLevel": level.name().to_uppercase() }))
        }
    };
    config.extend(thinking.map(|thinking| ("thinkingConfig".to_owned(), thinking)));
    config
}

/// The largest thinking budget that every budget-based model accepts.
const MOST_THINKING: u64 = 24_576;

fn contents(request: &Request) -> Value {
    let model = &*request.model;
    let mut contents = Vec::new();
    for turn in turns(request) {
        match turn {
            Turn::User(parts) => {
                contents.push(json!({ "role": "user", "parts": parts.iter().map(part).collect::<Vec<_>>() }));
            }
            Turn::Assistant(assistant) => {
                contents.push(json!({ "role": "model", "parts": model_parts(&assistant, model) }));
            }
            Turn::Results(batch) => results(&batch, model, &mut contents),
        }
    }
    Value::Array(contents)
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Image(image) => inline(image),
    }
}

fn inline(image: &Image) -> Value {
    json!({ "inlineData": { "mimeType": image.mime_type, "data": image.data } })
}

fn model_parts(assistant: &[Said<'_>], model: &ModelInfo) -> Vec<Value> {
    // Only the first of several parallel calls is signed.
    let mut needs_signature = model.thinking.style == Style::Effort;
    let mut parts = Vec::with_capacity(assistant.len());
    for piece in assistant {
        let (mut part, signature) = match piece {
            Said::Text { text, signature } => (json!({ "text": text }), *signature),
            Said::Thinking { thinking, signature, .. } => {
                (json!({ "thought": true, "text": thinking }), Some(*signature))
            }
            Said::Call { call, signature, .. } => {
                let placeholder = std::mem::take(&mut needs_signature).then_some(FOREIGN_CALL);
                let call =
                    json!({ "name": call.name, "args": call.arguments, "id": fitting(&call.id, LONGEST_ID) });
                (json!({ "functionCall": call }), signature.or(placeholder))
            }
        };
        if let Some(signature) = signature {
            part["thoughtSignature"] = json!(signature);
        }
        parts.push(part);
    }
    parts
}

fn results(batch: &[Outcome<'_>], model: &ModelInfo, contents: &mut Vec<Value>) {
    let inside = model.compat.tool_result_images;
    let parts: Vec<Value> = batch.iter().map(|outcome| result(outcome, inside)).collect();
    contents.push(json!({ "role": "user", "parts": parts }));
    if inside {
        return;
    }
    let mut images = Vec::new();
    for outcome in batch {
        for image in outcome.images() {
            images.push(json!({ "text": format!("The image that {} returned:", outcome.name) }));
            images.push(inline(image));
        }
    }
    if !images.is_empty() {
        contents.push(json!({ "role": "user", "parts": images }));
    }
}

fn result(outcome: &Outcome<'_>, with_images: bool) -> Value {
    let key = if outcome.is_error { "error" } else { "output" };
    let mut response = json!({
        "name": outcome.name,
        "response": { key: outcome.text() },
        "id": fitting(outcome.id, LONGEST_ID),
    });
    let images: Vec<Value> = outcome.images().filter(|_| with_images).map(inline).collect();
    if !images.is_empty() {
        response["parts"] = json!(images);
    }
    json!({ "functionResponse": response })
}
