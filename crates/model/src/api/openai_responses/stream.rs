//! Reads the event stream of the Responses API.

use serde_json::{Value, json as object};

use super::text_signature;
use crate::api::{Answer, Flow, Reader, json, refusal, text};
use crate::failure::Failure;
use crate::message::StopReason;
use crate::port::Delta;
use crate::request::Request;
use crate::sse::Event;
use crate::tool_id::Minter;
use crate::usage::Usage;

pub(crate) fn reader(request: &Request) -> ResponsesReader {
    ResponsesReader {
        provider: request.model.provider.clone(),
        ids: Minter::new(&request.messages),
        open: Vec::new(),
        next: 0,
        started: false,
        stop: None,
    }
}

pub(crate) struct ResponsesReader {
    provider: String,
    ids: Minter,
    open: Vec<Open>,
    next: usize,
    started: bool,
    stop: Option<StopReason>,
}

/// An item that has started.
struct Open {
    block: usize,
    kind: Kind,
    index: Option<u64>,
    id: Option<String>,
    /// Some content arrived as deltas, so the content of the final item is ignored.
    told: bool,
    /// A part of the reasoning summary ended; the next part starts with a blank line.
    part_ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Thinking,
    Text,
    Call,
}

impl Reader for ResponsesReader {
    fn event(&mut self, event: &Event, out: &mut Vec<Delta>) -> Result<Flow, Failure> {
        if event.data.trim() == "[DONE]" {
            return Ok(Flow::Done);
        }
        let value = json(event, &self.provider)?;
        match value["type"].as_str().unwrap_or(&event.name) {
            "response.created" | "response.in_progress" => self.start(&value["response"], out),
            "response.output_item.added" => self.added(&value, out),
            "response.output_item.done" => self.done(&value, out),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.thought(&value, out);
            }
            "response.reasoning_summary_part.done" => {
                if let Some(open) = self.find(&value, Kind::Thinking) {
                    open.part_ended = true;
                }
            }
            "response.output_text.delta" | "response.refusal.delta" => self.said(&value, out),
            "response.function_call_arguments.delta" => self.arguments(&value, out),
            "response.completed" | "response.incomplete" => {
                return self.completed(&value["response"], out).map(|()| Flow::Done);
            }
            "response.failed" => return Err(refusal(&Answer::in_stream(&self.provider, &value["response"]))),
            "error" => return Err(refusal(&Answer::in_stream(&self.provider, &value))),
            _ if value["output"].is_array() => return self.whole(&value, out).map(|()| Flow::Done),
            _ if !value["error"].is_null() => {
                return Err(refusal(&Answer::in_stream(&self.provider, &value)));
            }
            _ => {}
        }
        Ok(Flow::More)
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Option<StopReason> {
        for open in std::mem::take(&mut self.open) {
            out.push(end_of(&open, None));
        }
        self.stop
    }
}

impl ResponsesReader {
    fn start(&mut self, response: &Value, out: &mut Vec<Delta>) {
        if !std::mem::replace(&mut self.started, true) {
            let owned = |key| text(response, key).map(str::to_owned);
            out.push(Delta::Start { response_id: owned("id"), response_model: owned("model") });
        }
    }

    fn added(&mut self, value: &Value, out: &mut Vec<Delta>) {
        let item = &value["item"];
        let block = self.next;
        let kind = match item["type"].as_str() {
            Some("reasoning") => {
                out.push(Delta::ThinkingStart { block });
                Kind::Thinking
            }
            Some("message") => {
                out.push(Delta::TextStart { block });
                Kind::Text
            }
            Some("function_call") => {
                let call = self.ids.id(text(item, "call_id"));
                let id = text(item, "id").map_or_else(|| call.clone(), |id| format!("{call}|{id}"));
                out.push(Delta::ToolCallStart {
                    block,
                    id,
                    name: text(item, "name").unwrap_or_default().to_owned(),
                });
                Kind::Call
            }
            _ => return,
        };
        self.next += 1;
        let (index, id) = (value["output_index"].as_u64(), text(item, "id").map(str::to_owned));
        self.open.push(Open { block, kind, index, id, told: false, part_ended: false });
    }

    /// The item an event refers to: by its index, else by its id, else the last item of its kind.
    fn find(&mut self, value: &Value, kind: Kind) -> Option<&mut Open> {
        let at = self.position(value, text(value, "item_id"), kind)?;
        self.open.get_mut(at)
    }

    fn position(&self, value: &Value, id: Option<&str>, kind: Kind) -> Option<usize> {
        let index = value["output_index"].as_u64();
        let of_kind = |open: &Open| open.kind == kind;
        let by_index =
            self.open.iter().position(|open| of_kind(open) && index.is_some() && open.index == index);
        let by_id =
            || self.open.iter().position(|open| of_kind(open) && id.is_some() && open.id.as_deref() == id);
        by_index.or_else(by_id).or_else(|| self.open.iter().rposition(of_kind))
    }

    fn thought(&mut self, value: &Value, out: &mut Vec<Delta>) {
        if let (Some(open), Some(piece)) = (self.find(value, Kind::Thinking), text(value, "delta")) {
            let gap = if std::mem::take(&mut open.part_ended) { "\n\n" } else { "" };
            open.told = true;
            out.push(Delta::Thinking { block: open.block, text: format!("{gap}{piece}") });
        }
    }

    fn said(&mut self, value: &Value, out: &mut Vec<Delta>) {
        if let (Some(open), Some(piece)) = (self.find(value, Kind::Text), text(value, "delta")) {
            open.told = true;
            out.push(Delta::Text { block: open.block, text: piece.to_owned() });
        }
    }

    fn arguments(&mut self, value: &Value, out: &mut Vec<Delta>) {
        if let (Some(open), Some(piece)) = (self.find(value, Kind::Call), text(value, "delta")) {
            open.told = true;
            out.push(Delta::ToolCallArguments { block: open.block, json: piece.to_owned() });
        }
    }

    fn done(&mut self, value: &Value, out: &mut Vec<Delta>) {
        let item = &value["item"];
        let kind = match item["type"].as_str() {
            Some("reasoning") => Kind::Thinking,
            Some("message") => Kind::Text,
            Some("function_call") => Kind::Call,
            _ => return,
        };
        if self.position(value, text(item, "id"), kind).is_none() {
            self.added(value, out);
        }
        let Some(at) = self.position(value, text(item, "id"), kind) else { return };
        let open = self.open.remove(at);
        if !open.told {
            out.extend(whole(item, &open));
        }
        out.push(end_of(&open, Some(item)));
    }

    /// Reads the complete response that a non-streaming server sends.
    fn whole(&mut self, response: &Value, out: &mut Vec<Delta>) -> Result<(), Failure> {
        self.start(response, out);
        for (index, item) in response["output"].as_array().into_iter().flatten().enumerate() {
            self.done(&object!({ "output_index": index, "item": item }), out);
        }
        self.completed(response, out)
    }

    fn completed(&mut self, response: &Value, out: &mut Vec<Delta>) -> Result<(), Failure> {
        self.start(response, out);
        out.extend(read_usage(&response["usage"]).map(Delta::Usage));
        let reason = response["incomplete_details"]["reason"].as_str();
        self.stop = match (response["status"].as_str(), reason) {
            (_, Some("content_filter")) => {
                return Err(Failure::Refused {
                    said: "The provider's content filter stopped the reply.".to_owned(),
                });
            }
            (Some("incomplete"), _) => Some(StopReason::Length),
            (Some("failed" | "cancelled"), _) => {
                return Err(refusal(&Answer::in_stream(&self.provider, response)));
            }
            _ => Some(StopReason::Stop),
        };
        Ok(())
    }
}

/// The content of an item that sent no deltas.
fn whole(item: &Value, open: &Open) -> Option<Delta> {
    let block = open.block;
    let joined = |list: &Value, gap: &str| {
        let texts: Vec<&str> = list.as_array().into_iter().flatten().filter_map(words).collect();
        Some(texts.join(gap)).filter(|text| !text.is_empty())
    };
    match open.kind {
        Kind::Text => joined(&item["content"], "").map(|text| Delta::Text { block, text }),
        Kind::Thinking => joined(&item["summary"], "\n\n")
            .or_else(|| joined(&item["content"], "\n\n"))
            .map(|text| Delta::Thinking { block, text }),
        Kind::Call => {
            let json = match &item["arguments"] {
                Value::Null => return None,
                Value::String(json) => json.clone(),
                // Some servers send an object instead of a string.
                whole => whole.to_string(),
            };
            Some(Delta::ToolCallArguments { block, json })
        }
    }
}

fn words(part: &Value) -> Option<&str> {
    text(part, "text").or_else(|| text(part, "refusal"))
}

/// The end of an item. A reasoning item can be sent back only if it has encrypted content; its signature is the whole
/// item.
fn end_of(open: &Open, item: Option<&Value>) -> Delta {
    let block = open.block;
    match open.kind {
        Kind::Text => {
            let id = item.and_then(|item| text(item, "id"));
            let phase = item.and_then(|item| text(item, "phase"));
            Delta::TextEnd { block, signature: id.map(|id| text_signature(id, phase)) }
        }
        Kind::Thinking => {
            let signature =
                item.filter(|item| text(item, "encrypted_content").is_some()).map(Value::to_string);
            Delta::ThinkingEnd { block, signature, redacted: false }
        }
        Kind::Call => Delta::ToolCallEnd { block, signature: None },
    }
}

fn read_usage(usage: &Value) -> Option<Usage> {
    let input = usage["input_tokens"].as_u64()?;
    let details = &usage["input_tokens_details"];
    let part = |value: &Value| value.as_u64().unwrap_or(0).min(input);
    let (cache_read, cache_write) = (part(&details["cached_tokens"]), part(&details["cache_write_tokens"]));
    Some(
        Usage {
            input: input.saturating_sub(cache_read).saturating_sub(cache_write),
            output: usage["output_tokens"].as_u64().unwrap_or(0),
            cache_read,
            cache_write,
            reasoning: usage["output_tokens_details"]["reasoning_tokens"].as_u64().unwrap_or(0),
            ..Usage::default()
        }
        .totalled(),
    )
}
