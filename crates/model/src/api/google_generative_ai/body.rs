//! Builds request bodies for `streamGenerateContent`.

use serde_json::{Map, Value, json};

use crate::adapt::{ApiTurn, AssistantPart, ContentPart, ToolOutput, for_each_turn};
use crate::api::HttpRequest;
use crate::api::messages_writer::MessagesWriter;
use crate::block::Image;
use crate::request::{ModelInfo, Request};
use crate::thinking::{ThinkingLevel, ThinkingStyle};
use crate::tool_id::sanitize_id;

const MAX_ID_LENGTH: usize = 64;
/// Placeholder signature for a call that another model made. Gemini 3 requires a signature.
const PLACEHOLDER_SIGNATURE: &str = "skip_thought_signature_validator";

pub(crate) fn build_request(request: &Request) -> HttpRequest {
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
    let path = format!("/models/{}:streamGenerateContent?alt=sse", model.id);
    HttpRequest { path, headers: Vec::new(), body: with_contents(body, request) }
}

fn tools(request: &Request) -> Value {
    let tool = |tool: &crate::request::ToolSpec| json!({ "name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters });
    json!([{ "functionDeclarations": request.tools.iter().map(tool).collect::<Vec<_>>() }])
}

fn config(request: &Request) -> Map<String, Value> {
    let model = &*request.model;
    let mut config = Map::new();
    if let Some(limit) = request.output_limit() {
        config.insert("maxOutputTokens".to_owned(), json!(limit.min(model.max_output)));
    }
    let level = request.thinking_level();
    let thinking = match (model.thinking.style, level) {
        (ThinkingStyle::None, _) => None,
        (ThinkingStyle::Budget, ThinkingLevel::Off) => {
            model.thinking.off_value().map(|_| json!({ "thinkingBudget": 0 }))
        }
        (_, ThinkingLevel::Off) => {
            model.thinking.off_value().map(|word| json!({ "thinkingLevel": word.to_uppercase() }))
        }
        (ThinkingStyle::Budget, _) => {
            Some(json!({ "includeThoughts": true, "thinkingBudget": level.budget(MAX_THINKING_BUDGET) }))
        }
        (ThinkingStyle::Adaptive | ThinkingStyle::Effort, _) => {
            Some(json!({ "includeThoughts": true, "thinkingLevel": level.name().to_uppercase() }))
        }
    };
    config.extend(thinking.map(|thinking| ("thinkingConfig".to_owned(), thinking)));
    config
}

/// The largest thinking budget that every budget-based model accepts.
const MAX_THINKING_BUDGET: u64 = 24_576;

fn with_contents(fields: Map<String, Value>, request: &Request) -> String {
    let model = &*request.model;
    let mut contents = MessagesWriter::new(fields, "contents", None, request);
    for_each_turn(request, |turn| match turn {
        ApiTurn::User(parts) => {
            contents.push(json!({ "role": "user", "parts": parts.iter().map(part).collect::<Vec<_>>() }));
        }
        ApiTurn::Assistant(assistant) => {
            contents.push(json!({ "role": "model", "parts": model_parts(&assistant, model) }));
        }
        ApiTurn::ToolResults(batch) => results(&batch, model, &mut contents),
    });
    contents.finish()
}

fn part(part: &ContentPart<'_>) -> Value {
    match part {
        ContentPart::Text(text) => json!({ "text": text }),
        ContentPart::Image(image) => inline_image(image),
    }
}

fn inline_image(image: &Image) -> Value {
    json!({ "inlineData": { "mimeType": image.mime_type, "data": image.data } })
}

fn model_parts(assistant: &[AssistantPart<'_>], model: &ModelInfo) -> Vec<Value> {
    // Only the first of several parallel calls is signed.
    let mut needs_signature = model.thinking.style == ThinkingStyle::Effort;
    let mut parts = Vec::with_capacity(assistant.len());
    for piece in assistant {
        let (mut part, signature) = match piece {
            AssistantPart::Text { text, signature } => (json!({ "text": text }), *signature),
            AssistantPart::Thinking { thinking, signature, .. } => {
                (json!({ "thought": true, "text": thinking }), Some(*signature))
            }
            AssistantPart::Call { call, signature, .. } => {
                let placeholder = std::mem::take(&mut needs_signature).then_some(PLACEHOLDER_SIGNATURE);
                let call = json!({ "name": call.name, "args": call.arguments, "id": sanitize_id(&call.id, MAX_ID_LENGTH) });
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

fn results(batch: &[ToolOutput<'_>], model: &ModelInfo, contents: &mut MessagesWriter) {
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
            images.push(inline_image(image));
        }
    }
    if !images.is_empty() {
        contents.push(json!({ "role": "user", "parts": images }));
    }
}

fn result(outcome: &ToolOutput<'_>, with_images: bool) -> Value {
    let key = if outcome.is_error { "error" } else { "output" };
    let mut response = json!({
        "name": outcome.name,
        "response": { key: outcome.text() },
        "id": sanitize_id(outcome.id, MAX_ID_LENGTH),
    });
    let images: Vec<Value> = outcome.images().filter(|_| with_images).map(inline_image).collect();
    if !images.is_empty() {
        response["parts"] = json!(images);
    }
    json!({ "functionResponse": response })
}
