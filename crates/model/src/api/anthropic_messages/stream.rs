//! Reads the event stream of the Messages API.

use serde_json::{Value, json as object};

use crate::api::{ErrorResponse, EventReader, ReadStatus, classify_error, nonempty_str, parse_event};
use crate::error::ModelError;
use crate::message::StopReason;
use crate::model::Delta;
use crate::request::Request;
use crate::sse::SseEvent;
use crate::tool_id::CallIdGenerator;
use crate::usage::TokenUsage;

pub(crate) fn event_reader(request: &Request) -> AnthropicReader {
    AnthropicReader {
        provider: request.model.provider.clone(),
        ids: CallIdGenerator::new(&request.messages),
        open: Vec::new(),
        next: 0,
        usage: TokenUsage::default(),
        stop: None,
    }
}

pub(crate) struct AnthropicReader {
    provider: String,
    ids: CallIdGenerator,
    open: Vec<OpenBlock>,
    next: usize,
    usage: TokenUsage,
    stop: Option<StopReason>,
}

/// A block that has started: its index on the wire, our index, and the data needed to close it.
struct OpenBlock {
    index: u64,
    block: usize,
    kind: OpenBlockKind,
    signature: Option<String>,
    /// Arguments that some servers send with the start event instead of as deltas.
    input: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenBlockKind {
    Text,
    Thinking,
    Redacted,
    Call,
}

impl EventReader for AnthropicReader {
    fn read_event(&mut self, event: &SseEvent, deltas: &mut Vec<Delta>) -> Result<ReadStatus, ModelError> {
        let value = parse_event(event, &self.provider)?;
        match value["type"].as_str().unwrap_or(&event.name) {
            "message_start" => self.message_start(&value["message"], deltas),
            "content_block_start" => self.block_start(index(&value), &value["content_block"], deltas),
            "content_block_delta" => self.block_delta(index(&value), &value["delta"], deltas),
            "content_block_stop" => self.block_stop(index(&value), deltas),
            "message_delta" => self.message_delta(&value, deltas)?,
            "message_stop" => return Ok(ReadStatus::Done),
            "message" => return self.read_complete_message(&value, deltas).map(|()| ReadStatus::Done),
            "error" => return Err(classify_error(&ErrorResponse::from_event(&self.provider, &value))),
            _ => {}
        }
        Ok(ReadStatus::More)
    }

    fn finish(&mut self, deltas: &mut Vec<Delta>) -> Option<StopReason> {
        for open in std::mem::take(&mut self.open) {
            close(open, deltas);
        }
        self.stop
    }
}

fn index(value: &Value) -> u64 {
    value["index"].as_u64().unwrap_or(0)
}

impl AnthropicReader {
    /// Reads the complete message that a non-streaming server sends.
    fn read_complete_message(&mut self, message: &Value, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        self.message_start(message, deltas);
        for (index, block) in (0..).zip(message["content"].as_array().into_iter().flatten()) {
            self.block_start(index, block, deltas);
            self.block_stop(index, deltas);
        }
        self.message_delta(&object!({ "delta": message, "usage": message["usage"] }), deltas)
    }

    fn message_start(&mut self, message: &Value, deltas: &mut Vec<Delta>) {
        let owned = |key| nonempty_str(message, key).map(str::to_owned);
        deltas.push(Delta::Start { response_id: owned("id"), response_model: owned("model") });
        self.update_usage(&message["usage"], deltas);
    }

    fn block_start(&mut self, index: u64, content: &Value, deltas: &mut Vec<Delta>) {
        let block = self.next;
        let mut open = OpenBlock { index, block, kind: OpenBlockKind::Text, signature: None, input: None };
        match content["type"].as_str() {
            Some("text") => {
                deltas.push(Delta::TextStart { block });
                deltas.extend(
                    nonempty_str(content, "text").map(|text| Delta::Text { block, text: text.to_owned() }),
                );
            }
            Some("thinking") => {
                open.kind = OpenBlockKind::Thinking;
                open.signature = nonempty_str(content, "signature").map(str::to_owned);
                deltas.push(Delta::ThinkingStart { block });
                deltas.extend(
                    nonempty_str(content, "thinking")
                        .map(|text| Delta::Thinking { block, text: text.to_owned() }),
                );
            }
            Some("redacted_thinking") => {
                open.kind = OpenBlockKind::Redacted;
                open.signature = nonempty_str(content, "data").map(str::to_owned);
                deltas.push(Delta::ThinkingStart { block });
            }
            Some("tool_use") => {
                open.kind = OpenBlockKind::Call;
                let input = &content["input"];
                let is_empty = input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty);
                open.input = (!is_empty).then(|| input.to_string());
                let name = nonempty_str(content, "name").unwrap_or_default().to_owned();
                deltas.push(Delta::ToolCallStart {
                    block,
                    id: self.ids.given_or_new(nonempty_str(content, "id")),
                    name,
                });
            }
            // Blocks of server-side tools, which Osier never enables.
            _ => return,
        }
        self.next += 1;
        self.open.push(open);
    }

    fn block_delta(&mut self, index: u64, delta: &Value, deltas: &mut Vec<Delta>) {
        let Some(open) = self.open.iter_mut().find(|open| open.index == index) else { return };
        let block = open.block;
        match (delta["type"].as_str(), open.kind) {
            (Some("text_delta"), OpenBlockKind::Text) => {
                deltas.extend(
                    nonempty_str(delta, "text").map(|text| Delta::Text { block, text: text.to_owned() }),
                );
            }
            (Some("thinking_delta"), OpenBlockKind::Thinking) => {
                deltas.extend(
                    nonempty_str(delta, "thinking")
                        .map(|text| Delta::Thinking { block, text: text.to_owned() }),
                );
            }
            (Some("signature_delta"), OpenBlockKind::Thinking) => {
                let piece = nonempty_str(delta, "signature").unwrap_or_default();
                open.signature.get_or_insert_default().push_str(piece);
            }
            (Some("input_json_delta"), OpenBlockKind::Call) => {
                if let Some(json) = nonempty_str(delta, "partial_json") {
                    open.input = None;
                    deltas.push(Delta::ToolCallArguments { block, json: json.to_owned() });
                }
            }
            _ => {}
        }
    }

    fn block_stop(&mut self, index: u64, deltas: &mut Vec<Delta>) {
        if let Some(at) = self.open.iter().position(|open| open.index == index) {
            close(self.open.remove(at), deltas);
        }
    }

    fn message_delta(&mut self, value: &Value, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        self.update_usage(&value["usage"], deltas);
        match value["delta"]["stop_reason"].as_str() {
            None => {}
            Some("max_tokens" | "model_context_window_exceeded") => self.stop = Some(StopReason::Length),
            Some("tool_use") => self.stop = Some(StopReason::ToolUse),
            Some("refusal") => {
                let reason = nonempty_str(&value["delta"]["stop_details"], "explanation").unwrap_or_default();
                return Err(ModelError::Refused { detail: reason.to_owned() });
            }
            Some(_) => self.stop = Some(StopReason::Stop),
        }
        Ok(())
    }

    /// Counts that an event omits keep their value: later events repeat only some of them.
    fn update_usage(&mut self, usage: &Value, deltas: &mut Vec<Delta>) {
        if !usage.is_object() {
            return;
        }
        let take = |count: &mut u64, value: &Value| *count = value.as_u64().unwrap_or(*count);
        take(&mut self.usage.input, &usage["input_tokens"]);
        take(&mut self.usage.output, &usage["output_tokens"]);
        take(&mut self.usage.cache_read, &usage["cache_read_input_tokens"]);
        take(&mut self.usage.cache_write, &usage["cache_creation_input_tokens"]);
        take(&mut self.usage.cache_write_1h, &usage["cache_creation"]["ephemeral_1h_input_tokens"]);
        take(&mut self.usage.reasoning, &usage["output_tokens_details"]["thinking_tokens"]);
        self.usage = self.usage.with_total();
        deltas.push(Delta::Usage(self.usage));
    }
}

fn close(open: OpenBlock, deltas: &mut Vec<Delta>) {
    let OpenBlock { block, kind, signature, input, .. } = open;
    match kind {
        OpenBlockKind::Text => deltas.push(Delta::TextEnd { block, signature: None }),
        OpenBlockKind::Thinking => deltas.push(Delta::ThinkingEnd { block, signature, redacted: false }),
        OpenBlockKind::Redacted => deltas.push(Delta::ThinkingEnd { block, signature, redacted: true }),
        OpenBlockKind::Call => {
            deltas.extend(input.map(|json| Delta::ToolCallArguments { block, json }));
            deltas.push(Delta::ToolCallEnd { block, signature: None });
        }
    }
}
