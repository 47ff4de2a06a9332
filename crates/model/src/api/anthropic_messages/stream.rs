//! Reads the event stream of the Messages API.

use serde_json::{Value, json as object};

use crate::api::{Answer, Flow, Reader, json, refusal, text};
use crate::failure::Failure;
use crate::message::StopReason;
use crate::port::Delta;
use crate::request::Request;
use crate::sse::Event;
use crate::tool_id::Minter;
use crate::usage::Usage;

pub(crate) fn reader(request: &Request) -> AnthropicReader {
    AnthropicReader {
        provider: request.model.provider.clone(),
        ids: Minter::new(&request.messages),
        open: Vec::new(),
        next: 0,
        usage: Usage::default(),
        stop: None,
    }
}

pub(crate) struct AnthropicReader {
    provider: String,
    ids: Minter,
    open: Vec<Open>,
    next: usize,
    usage: Usage,
    stop: Option<StopReason>,
}

/// A block that has started: its index on the wire, our index, and the data needed to close it.
struct Open {
    index: u64,
    block: usize,
    kind: Kind,
    signature: Option<String>,
    /// Arguments that some servers send with the start event instead of as deltas.
    input: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Redacted,
    Call,
}

impl Reader for AnthropicReader {
    fn event(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<Flow, Failure> {
        let value = json(event, &self.provider)?;
        match value["type"].as_str().unwrap_or(&event.name) {
            "message_start" => self.message_start(&value["message"], out),
            "content_block_start" => self.block_start(index(&value), &value["content_block"], out),
            "content_block_delta" => self.block_delta(index(&value), &value["delta"], out),
            "content_block_stop" => self.block_stop(index(&value), out),
            "message_delta" => self.message_delta(&value, out)?,
            "message_stop" => return Ok(Flow::Done),
            "message" => return self.whole(&value, out).map(|()| Flow::Done),
            "error" => return Err(refusal(&Answer::in_stream(&self.provider, &value))),
            _ => {}
        }
        Ok(Flow::More)
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Option<StopReason> {
        for open in std::mem::take(&mut self.open) {
            close(open, out);
        }
        self.stop
    }
}

fn index(value: &Value) -> u64 {
    value["index"].as_u64().unwrap_or(0)
}

impl AnthropicReader {
    /// Reads the complete message that a non-streaming server sends.
    fn whole(&mut self, message: &Value, out: &mut Vec<Delta>) -> Result<(), Failure> {
        self.message_start(message, out);
        for (index, block) in (0..).zip(message["content"].as_array().into_iter().flatten()) {
            self.block_start(index, block, out);
            self.block_stop(index, out);
        }
        self.message_delta(&object!({ "delta": message, "usage": message["usage"] }), out)
    }

    fn message_start(&mut self, message: &Value, out: &mut Vec<Delta>) {
        let owned = |key| text(message, key).map(str::to_owned);
        out.push(Delta::Start { response_id: owned("id"), response_model: owned("model") });
        self.take_usage(&message["usage"], out);
    }

    fn block_start(&mut self, index: u64, content: &Value, out: &mut Vec<Delta>) {
        let block = self.next;
        let mut open = Open { index, block, kind: Kind::Text, signature: None, input: None };
        match content["type"].as_str() {
            Some("text") => {
                out.push(Delta::TextStart { block });
                out.extend(text(content, "text").map(|text| Delta::Text { block, text: text.to_owned() }));
            }
            Some("thinking") => {
                open.kind = Kind::Thinking;
                open.signature = text(content, "signature").map(str::to_owned);
                out.push(Delta::ThinkingStart { block });
                out.extend(
                    text(content, "thinking").map(|text| Delta::Thinking { block, text: text.to_owned() }),
                );
            }
            Some("redacted_thinking") => {
                open.kind = Kind::Redacted;
                open.signature = text(content, "data").map(str::to_owned);
                out.push(Delta::ThinkingStart { block });
            }
            Some("tool_use") => {
                open.kind = Kind::Call;
                let input = &content["input"];
                let is_empty = input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty);
                open.input = (!is_empty).then(|| input.to_string());
                let name = text(content, "name").unwrap_or_default().to_owned();
                out.push(Delta::ToolCallStart { block, id: self.ids.id(text(content, "id")), name });
            }
            // Blocks of server-side tools, which Osier never enables.
            _ => return,
        }
        self.next += 1;
        self.open.push(open);
    }

    fn block_delta(&mut self, index: u64, delta: &Value, out: &mut Vec<Delta>) {
        let Some(open) = self.open.iter_mut().find(|open| open.index == index) else { return };
        let block = open.block;
        match (delta["type"].as_str(), open.kind) {
            (Some("text_delta"), Kind::Text) => {
                out.extend(text(delta, "text").map(|text| Delta::Text { block, text: text.to_owned() }));
            }
            (Some("thinking_delta"), Kind::Thinking) => {
                out.extend(
                    text(delta, "thinking").map(|text| Delta::Thinking { block, text: text.to_owned() }),
                );
            }
            (Some("signature_delta"), Kind::Thinking) => {
                let piece = text(delta, "signature").unwrap_or_default();
                open.signature.get_or_insert_default().push_str(piece);
            }
            (Some("input_json_delta"), Kind::Call) => {
                if let Some(json) = text(delta, "partial_json") {
                    open.input = None;
                    out.push(Delta::ToolCallArguments { block, json: json.to_owned() });
                }
            }
            _ => {}
        }
    }

    fn block_stop(&mut self, index: u64, out: &mut Vec<Delta>) {
        if let Some(at) = self.open.iter().position(|open| open.index == index) {
            close(self.open.remove(at), out);
        }
    }

    fn message_delta(&mut self, value: &Value, out: &mut Vec<Delta>) -> Result<(), Failure> {
        self.take_usage(&value["usage"], out);
        match value["delta"]["stop_reason"].as_str() {
            None => {}
            Some("max_tokens" | "model_context_window_exceeded") => self.stop = Some(StopReason::Length),
            Some("tool_use") => self.stop = Some(StopReason::ToolUse),
            Some("refusal") => {
                let reason = text(&value["delta"]["stop_details"], "explanation").unwrap_or_default();
                return Err(Failure::Refused { said: reason.to_owned() });
            }
            Some(_) => self.stop = Some(StopReason::Stop),
        }
        Ok(())
    }

    /// Counts that an event omits keep their value: later events repeat only some of them.
    fn take_usage(&mut self, usage: &Value, out: &mut Vec<Delta>) {
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
        self.usage = self.usage.totalled();
        out.push(Delta::Usage(self.usage));
    }
}

fn close(open: Open, out: &mut Vec<Delta>) {
    let Open { block, kind, signature, input, .. } = open;
    match kind {
        Kind::Text => out.push(Delta::TextEnd { block, signature: None }),
        Kind::Thinking => out.push(Delta::ThinkingEnd { block, signature, redacted: false }),
        Kind::Redacted => out.push(Delta::ThinkingEnd { block, signature, redacted: true }),
        Kind::Call => {
            out.extend(input.map(|json| Delta::ToolCallArguments { block, json }));
            out.push(Delta::ToolCallEnd { block, signature: None });
        }
    }
}
