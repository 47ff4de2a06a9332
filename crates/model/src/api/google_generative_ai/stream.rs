//! Reads the chunks of `streamGenerateContent`.

use serde_json::Value;

use crate::api::blocks::Blocks;
use crate::api::{Answer, Flow, Reader, json, refusal, text};
use crate::failure::Failure;
use crate::message::StopReason;
use crate::port::Delta;
use crate::request::Request;
use crate::sse::Event;
use crate::tool_id::Minter;
use crate::usage::Usage;

pub(crate) fn reader(request: &Request) -> GoogleReader {
    GoogleReader {
        provider: request.model.provider.clone(),
        ids: Minter::new(&request.messages),
        blocks: Blocks::default(),
        usage: Usage::default(),
        started: false,
        stop: None,
    }
}

pub(crate) struct GoogleReader {
    provider: String,
    ids: Minter,
    blocks: Blocks,
    usage: Usage,
    started: bool,
    stop: Option<StopReason>,
}

impl Reader for GoogleReader {
    fn event(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<Flow, Failure> {
        let chunk = json(event, &self.provider)?;
        if !chunk["error"].is_null() {
            return Err(refusal(&Answer::in_stream(&self.provider, &chunk)));
        }
        if !std::mem::replace(&mut self.started, true) {
            let owned = |key| text(&chunk, key).map(str::to_owned);
            out.push(Delta::Start {
                response_id: owned("responseId"),
                response_model: owned("modelVersion"),
            });
        }
        if let Some(reason) = text(&chunk["promptFeedback"], "blockReason") {
            return Err(Failure::Refused { said: format!("The prompt was blocked: {reason}.") });
        }
        let candidate = &chunk["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.part(part, out);
        }
        self.take_usage(&chunk["usageMetadata"], out);
        self.finish_reason(candidate)?;
        Ok(Flow::More)
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Option<StopReason> {
        self.blocks.close(out);
        self.stop
    }
}

impl GoogleReader {
    fn part(&mut self, part: &Value, out: &mut Vec<Delta>) {
        let signature = text(part, "thoughtSignature");
        if let Some(call) = part.get("functionCall") {
            self.call(call, signature, out);
            return;
        }
        let piece = part["text"].as_str().unwrap_or_default();
        let is_thought = part["thought"] == true;
        // A part that has only a signature signs the previous part.
        let only_signs = piece.is_empty() && self.blocks.is_open();
        match (only_signs, is_thought) {
            (true, _) => {}
            (false, true) => self.blocks.thinking(piece, out),
            (false, false) if piece.is_empty() && signature.is_none() => {}
            (false, false) => self.blocks.text(piece, out),
        }
        if let Some(signature) = signature {
            self.blocks.sign(signature);
        }
    }

    /// Each call arrives complete, in one part.
    fn call(&mut self, call: &Value, signature: Option<&str>, out: &mut Vec<Delta>) {
        let id = self.ids.id(text(call, "id"));
        let block = self.blocks.call(id, text(call, "name").unwrap_or_default(), out);
        if !call["args"].is_null() {
            out.push(Delta::ToolCallArguments { block, json: call["args"].to_string() });
        }
        out.push(Delta::ToolCallEnd { block, signature: signature.map(str::to_owned) });
    }

    fn finish_reason(&mut self, candidate: &Value) -> Result<(), Failure> {
        let said = text(candidate, "finishMessage").unwrap_or_default();
        self.stop = match candidate["finishReason"].as_str() {
            None => return Ok(()),
            Some("STOP") => Some(StopReason::Stop),
            Some("MAX_TOKENS") => Some(StopReason::Length),
            Some(
                reason
                @ ("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "OTHER" | "MALFORMED_RESPONSE"),
            ) => {
                let said = format!("the reply ended with {reason}. {said}");
                return Err(Failure::Malformed { provider: self.provider.clone(), said });
            }
            Some(reason) => {
                return Err(Failure::Refused { said: format!("The reply was stopped: {reason}. {said}") });
            }
        };
        Ok(())
    }

    /// Every chunk repeats the counts; emits a delta only when they change.
    fn take_usage(&mut self, usage: &Value, out: &mut Vec<Delta>) {
        let count = |key: &str| usage[key].as_u64().unwrap_or(0);
        if !usage.is_object() {
            return;
        }
        let cache_read = count("cachedContentTokenCount").min(count("promptTokenCount"));
        let now = Usage {
            input: (count("promptTokenCount") - cache_read).saturating_add(count("toolUsePromptTokenCount")),
            output: count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount")),
            cache_read,
            reasoning: count("thoughtsTokenCount"),
            ..Usage::default()
        }
        .totalled();
        if std::mem::replace(&mut self.usage, now) != now {
            out.push(Delta::Usage(now));
        }
    }
}
