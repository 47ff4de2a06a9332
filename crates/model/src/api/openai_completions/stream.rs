//! Reads the chunks of Chat Completions, in the variants that different servers send.

use serde_json::Value;

use super::THINKING_FIELDS;
use crate::api::block_tracker::BlockTracker;
use crate::api::{ErrorResponse, EventReader, ReadStatus, classify_error, nonempty_str, parse_event};
use crate::error::ModelError;
use crate::message::StopReason;
use crate::model::Delta;
use crate::request::Request;
use crate::sse::SseEvent;
use crate::tool_id::CallIdGenerator;
use crate::usage::TokenUsage;

pub(crate) fn event_reader(request: &Request) -> CompletionsReader {
    CompletionsReader {
        provider: request.model.provider.clone(),
        ids: CallIdGenerator::new(&request.messages),
        blocks: BlockTracker::default(),
        calls: Vec::new(),
        started: false,
        stop: None,
    }
}

pub(crate) struct CompletionsReader {
    provider: String,
    ids: CallIdGenerator,
    blocks: BlockTracker,
    calls: Vec<OpenCall>,
    started: bool,
    stop: Option<StopReason>,
}

/// A call whose arguments are still arriving.
struct OpenCall {
    block: usize,
    index: Option<u64>,
    /// The server's id for the call, which it may repeat with every chunk.
    id: Option<String>,
    signature: Option<String>,
}

impl EventReader for CompletionsReader {
    fn read_event(&mut self, event: &SseEvent, deltas: &mut Vec<Delta>) -> Result<ReadStatus, ModelError> {
        if event.data.trim() == "[DONE]" {
            return Ok(ReadStatus::Done);
        }
        let chunk = parse_event(event, &self.provider)?;
        if !chunk["error"].is_null() || event.name == "error" {
            return Err(classify_error(&ErrorResponse::from_event(&self.provider, &chunk)));
        }
        if !self.started && (chunk["choices"].is_array() || chunk["id"].is_string()) {
            self.started = true;
            let owned = |key| nonempty_str(&chunk, key).map(str::to_owned);
            deltas.push(Delta::Start { response_id: owned("id"), response_model: owned("model") });
        }
        let choice = &chunk["choices"][0];
        for usage in [&chunk["usage"], &choice["usage"]] {
            deltas.extend(read_usage(usage).map(Delta::Usage));
        }
        // A non-streaming server sends the complete message.
        let delta = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
        self.read_thinking(delta, deltas);
        self.read_content(&delta["content"], deltas);
        if let Some(refusal) = nonempty_str(delta, "refusal") {
            self.blocks.push_text(refusal, deltas);
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.read_call(call, deltas);
        }
        self.read_reasoning_details(delta);
        self.finish_reason(choice)?;
        Ok(ReadStatus::More)
    }

    fn finish(&mut self, deltas: &mut Vec<Delta>) -> Option<StopReason> {
        self.blocks.close(deltas);
        for call in std::mem::take(&mut self.calls) {
            deltas.push(Delta::ToolCallEnd { block: call.block, signature: call.signature });
        }
        self.stop
    }
}

impl CompletionsReader {
    fn read_thinking(&mut self, delta: &Value, deltas: &mut Vec<Delta>) {
        if let Some((field, thought)) =
            THINKING_FIELDS.iter().find_map(|field| Some((field, nonempty_str(delta, field)?)))
        {
            self.blocks.push_thinking(thought, deltas);
            self.blocks.set_signature(field);
        }
    }

    /// Content is a string or a list of typed parts.
    fn read_content(&mut self, content: &Value, deltas: &mut Vec<Delta>) {
        match content {
            Value::String(text) if !text.is_empty() => self.blocks.push_text(text, deltas),
            Value::Array(parts) => {
                for part in parts {
                    match part["type"].as_str() {
                        Some("thinking") => {
                            let texts = part["thinking"].as_array().into_iter().flatten();
                            texts
                                .filter_map(|part| nonempty_str(part, "text"))
                                .for_each(|text| self.blocks.push_thinking(text, deltas));
                        }
                        _ => {
                            if let Some(text) = nonempty_str(part, "text") {
                                self.blocks.push_text(text, deltas);
                            }
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn read_call(&mut self, piece: &Value, deltas: &mut Vec<Delta>) {
        let index = piece["index"].as_u64();
        let id = nonempty_str(piece, "id");
        let function = &piece["function"];
        let name = nonempty_str(function, "name");
        let at = match self.find_open_call(index, id, name) {
            Some(at) => at,
            None => {
                let block =
                    self.blocks.start_call(self.ids.given_or_new(id), name.unwrap_or_default(), deltas);
                self.calls.push(OpenCall { block, index, id: id.map(str::to_owned), signature: None });
                self.calls.len() - 1
            }
        };
        let json = match &function["arguments"] {
            Value::String(json) => json.clone(),
            Value::Null => String::new(),
            // Some servers send an object instead of a string.
            whole => whole.to_string(),
        };
        if !json.is_empty() {
            deltas.push(Delta::ToolCallArguments { block: self.calls[at].block, json });
        }
    }

    /// The open call that a chunk continues. Servers send an index, repeat the id, do neither, or give every call index 0.
    fn find_open_call(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let is_other = |call: &OpenCall| id.is_some() && call.id.is_some() && call.id.as_deref() != id;
        let at = match (index, id) {
            (Some(_), _) => self.calls.iter().rposition(|call| call.index == index),
            (None, Some(_)) => self.calls.iter().rposition(|call| call.id.as_deref() == id),
            (None, None) if name.is_none() => self.calls.len().checked_sub(1),
            (None, None) => None,
        };
        at.filter(|at| !is_other(&self.calls[*at]))
    }

    /// Stores encrypted thinking with the call it belongs to.
    fn read_reasoning_details(&mut self, delta: &Value) {
        for detail in delta["reasoning_details"].as_array().into_iter().flatten() {
            let is_encrypted = detail["type"] == "reasoning.encrypted";
            if let Some(id) = nonempty_str(detail, "id").filter(|_| is_encrypted)
                && let Some(call) = self.calls.iter_mut().find(|call| call.id.as_deref() == Some(id))
            {
                call.signature = Some(detail.to_string());
            }
        }
    }

    fn finish_reason(&mut self, choice: &Value) -> Result<(), ModelError> {
        self.stop = match choice["finish_reason"].as_str() {
            None => return Ok(()),
            Some("length") => Some(StopReason::Length),
            Some("tool_calls" | "function_call") => Some(StopReason::ToolUse),
            Some("content_filter") => {
                return Err(ModelError::Refused {
                    detail: "The provider's content filter stopped the reply.".to_owned(),
                });
            }
            Some("error") => {
                return Err(classify_error(&ErrorResponse::from_event(&self.provider, &choice["error"])));
            }
            Some(_) => Some(StopReason::Stop),
        };
        Ok(())
    }
}

/// The API counts cached tokens as prompt tokens; `TokenUsage::input` does not.
fn read_usage(usage: &Value) -> Option<TokenUsage> {
    let prompt = usage["prompt_tokens"].as_u64()?;
    let first = |values: [&Value; 3]| values.into_iter().find_map(Value::as_u64).unwrap_or(0);
    let details = &usage["prompt_tokens_details"];
    let cache_read =
        first([&details["cached_tokens"], &usage["prompt_cache_hit_tokens"], &usage["cached_tokens"]]);
    let cache_write = first([&details["cache_write_tokens"], &Value::Null, &Value::Null]);
    let reasoning = &usage["completion_tokens_details"]["reasoning_tokens"];
    Some(
        TokenUsage {
            input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
            output: usage["completion_tokens"].as_u64().unwrap_or(0),
            cache_read: cache_read.min(prompt),
            cache_write: cache_write.min(prompt),
            reasoning: reasoning.as_u64().unwrap_or(0),
            ..TokenUsage::default()
        }
        .with_total(),
    )
}
