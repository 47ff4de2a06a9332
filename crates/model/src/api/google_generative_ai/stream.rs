//! Reads the chunks of `streamGenerateContent`.

use serde_json::Value;

use crate::api::block_tracker::BlockTracker;
use crate::api::{ErrorResponse, EventReader, ReadStatus, classify_error, nonempty_str, parse_event};
use crate::error::ModelError;
use crate::message::StopReason;
use crate::model::Delta;
use crate::request::Request;
use crate::sse::SseEvent;
use crate::tool_id::CallIdGenerator;
use crate::usage::TokenUsage;

pub(crate) fn event_reader(request: &Request) -> GoogleReader {
    GoogleReader {
        provider: request.model.provider.clone(),
        ids: CallIdGenerator::new(&request.messages),
        blocks: BlockTracker::default(),
        usage: TokenUsage::default(),
        started: false,
        stop: None,
    }
}

pub(crate) struct GoogleReader {
    provider: String,
    ids: CallIdGenerator,
    blocks: BlockTracker,
    usage: TokenUsage,
    started: bool,
    stop: Option<StopReason>,
}

impl EventReader for GoogleReader {
    fn read_event(&mut self, event: &SseEvent, deltas: &mut Vec<Delta>) -> Result<ReadStatus, ModelError> {
        let chunk = parse_event(event, &self.provider)?;
        if !chunk["error"].is_null() {
            return Err(classify_error(&ErrorResponse::from_event(&self.provider, &chunk)));
        }
        if !std::mem::replace(&mut self.started, true) {
            let owned = |key| nonempty_str(&chunk, key).map(str::to_owned);
            deltas.push(Delta::Start {
                response_id: owned("responseId"),
                response_model: owned("modelVersion"),
            });
        }
        if let Some(reason) = nonempty_str(&chunk["promptFeedback"], "blockReason") {
            return Err(ModelError::Refused { detail: format!("The prompt was blocked: {reason}.") });
        }
        let candidate = &chunk["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.part(part, deltas);
        }
        self.update_usage(&chunk["usageMetadata"], deltas);
        self.finish_reason(candidate)?;
        Ok(ReadStatus::More)
    }

    fn finish(&mut self, deltas: &mut Vec<Delta>) -> Option<StopReason> {
        self.blocks.close(deltas);
        self.stop
    }
}

impl GoogleReader {
    fn part(&mut self, part: &Value, deltas: &mut Vec<Delta>) {
        let signature = nonempty_str(part, "thoughtSignature");
        if let Some(call) = part.get("functionCall") {
            self.call(call, signature, deltas);
            return;
        }
        let piece = part["text"].as_str().unwrap_or_default();
        let is_thought = part["thought"] == true;
        // A part that has only a signature signs the previous part.
        let only_signs = piece.is_empty() && self.blocks.is_open();
        match (only_signs, is_thought) {
            (true, _) => {}
            (false, true) => self.blocks.push_thinking(piece, deltas),
            (false, false) if piece.is_empty() && signature.is_none() => {}
            (false, false) => self.blocks.push_text(piece, deltas),
        }
        if let Some(signature) = signature {
            self.blocks.set_signature(signature);
        }
    }

    /// Each call arrives complete, in one part.
    fn call(&mut self, call: &Value, signature: Option<&str>, deltas: &mut Vec<Delta>) {
        let id = self.ids.given_or_new(nonempty_str(call, "id"));
        let block = self.blocks.start_call(id, nonempty_str(call, "name").unwrap_or_default(), deltas);
        if !call["args"].is_null() {
            deltas.push(Delta::ToolCallArguments { block, json: call["args"].to_string() });
        }
        deltas.push(Delta::ToolCallEnd { block, signature: signature.map(str::to_owned) });
    }

    fn finish_reason(&mut self, candidate: &Value) -> Result<(), ModelError> {
        let detail = nonempty_str(candidate, "finishMessage").unwrap_or_default();
        self.stop = match candidate["finishReason"].as_str() {
            None => return Ok(()),
            Some("STOP") => Some(StopReason::Stop),
            Some("MAX_TOKENS") => Some(StopReason::Length),
            Some(
                reason
                @ ("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "OTHER" | "MALFORMED_RESPONSE"),
            ) => {
                let detail = format!("the reply ended with {reason}. {detail}");
                return Err(ModelError::Malformed { provider: self.provider.clone(), detail });
            }
            Some(reason) => {
                return Err(ModelError::Refused {
                    detail: format!("The reply was stopped: {reason}. {detail}"),
                });
            }
        };
        Ok(())
    }

    /// Every chunk repeats the counts; emits a delta only when they change.
    fn update_usage(&mut self, usage: &Value, deltas: &mut Vec<Delta>) {
        let count = |key: &str| usage[key].as_u64().unwrap_or(0);
        if !usage.is_object() {
            return;
        }
        let cache_read = count("cachedContentTokenCount").min(count("promptTokenCount"));
        let now = TokenUsage {
            input: (count("promptTokenCount") - cache_read).saturating_add(count("toolUsePromptTokenCount")),
            output: count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount")),
            cache_read,
            reasoning: count("thoughtsTokenCount"),
            ..TokenUsage::default()
        }
        .with_total();
        if std::mem::replace(&mut self.usage, now) != now {
            deltas.push(Delta::Usage(now));
        }
    }
}
