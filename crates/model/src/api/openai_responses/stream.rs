//! Reads the event stream of the Responses API.

use serde_json::{Value, json as object};

use super::text_signature;
use crate::api::{ErrorResponse, EventReader, ReadStatus, classify_error, nonempty_str, parse_event};
use crate::error::ModelError;
use crate::message::StopReason;
use crate::model::Delta;
use crate::request::Request;
use crate::sse::SseEvent;
use crate::tool_id::CallIdGenerator;
use crate::usage::TokenUsage;

pub(crate) fn event_reader(request: &Request) -> ResponsesReader {
    ResponsesReader {
        provider: request.model.provider.clone(),
        ids: CallIdGenerator::new(&request.messages),
        open: Vec::new(),
        next: 0,
        started: false,
        stop: None,
    }
}

pub(crate) struct ResponsesReader {
    provider: String,
    ids: CallIdGenerator,
    open: Vec<OpenItem>,
    next: usize,
    started: bool,
    stop: Option<StopReason>,
}

/// An item that has started.
struct OpenItem {
    block: usize,
    kind: ItemKind,
    index: Option<u64>,
    id: Option<String>,
    /// Some content arrived as deltas, so the content of the final item is ignored.
    has_deltas: bool,
    /// A part of the reasoning summary ended; the next part starts with a blank line.
    part_ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemKind {
    Thinking,
    Text,
    Call,
}

impl EventReader for ResponsesReader {
    fn read_event(&mut self, event: &SseEvent, deltas: &mut Vec<Delta>) -> Result<ReadStatus, ModelError> {
        if event.data.trim() == "[DONE]" {
            return Ok(ReadStatus::Done);
        }
        let value = parse_event(event, &self.provider)?;
        match value["type"].as_str().unwrap_or(&event.name) {
            "response.created" | "response.in_progress" => self.start(&value["response"], deltas),
            "response.output_item.added" => self.item_added(&value, deltas),
            "response.output_item.done" => self.item_done(&value, deltas),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.thinking_delta(&value, deltas);
            }
            "response.reasoning_summary_part.done" => {
                if let Some(open) = self.find_open(&value, ItemKind::Thinking) {
                    open.part_ended = true;
                }
            }
            "response.output_text.delta" | "response.refusal.delta" => self.text_delta(&value, deltas),
            "response.function_call_arguments.delta" => self.arguments_delta(&value, deltas),
            "response.completed" | "response.incomplete" => {
                return self.completed(&value["response"], deltas).map(|()| ReadStatus::Done);
            }
            "response.failed" => {
                return Err(classify_error(&ErrorResponse::from_event(&self.provider, &value["response"])));
            }
            "error" => return Err(classify_error(&ErrorResponse::from_event(&self.provider, &value))),
            _ if value["output"].is_array() => {
                return self.read_complete_response(&value, deltas).map(|()| ReadStatus::Done);
            }
            _ if !value["error"].is_null() => {
                return Err(classify_error(&ErrorResponse::from_event(&self.provider, &value)));
            }
            _ => {}
        }
        Ok(ReadStatus::More)
    }

    fn finish(&mut self, deltas: &mut Vec<Delta>) -> Option<StopReason> {
        for open in std::mem::take(&mut self.open) {
            deltas.push(end_delta(&open, None));
        }
        self.stop
    }
}

impl ResponsesReader {
    fn start(&mut self, response: &Value, deltas: &mut Vec<Delta>) {
        if !std::mem::replace(&mut self.started, true) {
            let owned = |key| nonempty_str(response, key).map(str::to_owned);
            deltas.push(Delta::Start { response_id: owned("id"), response_model: owned("model") });
        }
    }

    fn item_added(&mut self, value: &Value, deltas: &mut Vec<Delta>) {
        let item = &value["item"];
        let block = self.next;
        let kind = match item["type"].as_str() {
            Some("reasoning") => {
                deltas.push(Delta::ThinkingStart { block });
                ItemKind::Thinking
            }
            Some("message") => {
                deltas.push(Delta::TextStart { block });
                ItemKind::Text
            }
            Some("function_call") => {
                let call = self.ids.given_or_new(nonempty_str(item, "call_id"));
                let id = nonempty_str(item, "id").map_or_else(|| call.clone(), |id| format!("{call}|{id}"));
                deltas.push(Delta::ToolCallStart {
                    block,
                    id,
                    name: nonempty_str(item, "name").unwrap_or_default().to_owned(),
                });
                ItemKind::Call
            }
            _ => return,
        };
        self.next += 1;
        let (index, id) = (value["output_index"].as_u64(), nonempty_str(item, "id").map(str::to_owned));
        self.open.push(OpenItem { block, kind, index, id, has_deltas: false, part_ended: false });
    }

    /// The item an event refers to: by its index, else by its id, else the last item of its kind.
    fn find_open(&mut self, value: &Value, kind: ItemKind) -> Option<&mut OpenItem> {
        let at = self.position(value, nonempty_str(value, "item_id"), kind)?;
        self.open.get_mut(at)
    }

    fn position(&self, value: &Value, id: Option<&str>, kind: ItemKind) -> Option<usize> {
        let index = value["output_index"].as_u64();
        let of_kind = |open: &OpenItem| open.kind == kind;
        let by_index =
            self.open.iter().position(|open| of_kind(open) && index.is_some() && open.index == index);
        let by_id =
            || self.open.iter().position(|open| of_kind(open) && id.is_some() && open.id.as_deref() == id);
        by_index.or_else(by_id).or_else(|| self.open.iter().rposition(of_kind))
    }

    fn thinking_delta(&mut self, value: &Value, deltas: &mut Vec<Delta>) {
        if let (Some(open), Some(piece)) =
            (self.find_open(value, ItemKind::Thinking), nonempty_str(value, "delta"))
        {
            let gap = if std::mem::take(&mut open.part_ended) { "\n\n" } else { "" };
            open.has_deltas = true;
            deltas.push(Delta::Thinking { block: open.block, text: format!("{gap}{piece}") });
        }
    }

    fn text_delta(&mut self, value: &Value, deltas: &mut Vec<Delta>) {
        if let (Some(open), Some(piece)) =
            (self.find_open(value, ItemKind::Text), nonempty_str(value, "delta"))
        {
            open.has_deltas = true;
            deltas.push(Delta::Text { block: open.block, text: piece.to_owned() });
        }
    }

    fn arguments_delta(&mut self, value: &Value, deltas: &mut Vec<Delta>) {
        if let (Some(open), Some(piece)) =
            (self.find_open(value, ItemKind::Call), nonempty_str(value, "delta"))
        {
            open.has_deltas = true;
            deltas.push(Delta::ToolCallArguments { block: open.block, json: piece.to_owned() });
        }
    }

    fn item_done(&mut self, value: &Value, deltas: &mut Vec<Delta>) {
        let item = &value["item"];
        let kind = match item["type"].as_str() {
            Some("reasoning") => ItemKind::Thinking,
            Some("message") => ItemKind::Text,
            Some("function_call") => ItemKind::Call,
            _ => return,
        };
        if self.position(value, nonempty_str(item, "id"), kind).is_none() {
            self.item_added(value, deltas);
        }
        let Some(at) = self.position(value, nonempty_str(item, "id"), kind) else { return };
        let open = self.open.remove(at);
        if !open.has_deltas {
            deltas.extend(complete_content(item, &open));
        }
        deltas.push(end_delta(&open, Some(item)));
    }

    /// Reads the complete response that a non-streaming server sends.
    fn read_complete_response(
        &mut self,
        response: &Value,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        self.start(response, deltas);
        for (index, item) in response["output"].as_array().into_iter().flatten().enumerate() {
            self.item_done(&object!({ "output_index": index, "item": item }), deltas);
        }
        self.completed(response, deltas)
    }

    fn completed(&mut self, response: &Value, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        self.start(response, deltas);
        deltas.extend(read_usage(&response["usage"]).map(Delta::Usage));
        let reason = response["incomplete_details"]["reason"].as_str();
        self.stop = match (response["status"].as_str(), reason) {
            (_, Some("content_filter")) => {
                return Err(ModelError::Refused {
                    detail: "The provider's content filter stopped the reply.".to_owned(),
                });
            }
            (Some("incomplete"), _) => Some(StopReason::Length),
            (Some("failed" | "cancelled"), _) => {
                return Err(classify_error(&ErrorResponse::from_event(&self.provider, response)));
            }
            _ => Some(StopReason::Stop),
        };
        Ok(())
    }
}

/// The content of an item that sent no deltas.
fn complete_content(item: &Value, open: &OpenItem) -> Option<Delta> {
    let block = open.block;
    let joined = |list: &Value, gap: &str| {
        let texts: Vec<&str> = list.as_array().into_iter().flatten().filter_map(part_text).collect();
        Some(texts.join(gap)).filter(|text| !text.is_empty())
    };
    match open.kind {
        ItemKind::Text => joined(&item["content"], "").map(|text| Delta::Text { block, text }),
        ItemKind::Thinking => joined(&item["summary"], "\n\n")
            .or_else(|| joined(&item["content"], "\n\n"))
            .map(|text| Delta::Thinking { block, text }),
        ItemKind::Call => {
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

fn part_text(part: &Value) -> Option<&str> {
    nonempty_str(part, "text").or_else(|| nonempty_str(part, "refusal"))
}

/// The end of an item. A reasoning item can be sent back only if it has encrypted content; its signature is the whole
/// item.
fn end_delta(open: &OpenItem, item: Option<&Value>) -> Delta {
    let block = open.block;
    match open.kind {
        ItemKind::Text => {
            let id = item.and_then(|item| nonempty_str(item, "id"));
            let phase = item.and_then(|item| nonempty_str(item, "phase"));
            Delta::TextEnd { block, signature: id.map(|id| text_signature(id, phase)) }
        }
        ItemKind::Thinking => {
            let signature =
                item.filter(|item| nonempty_str(item, "encrypted_content").is_some()).map(Value::to_string);
            Delta::ThinkingEnd { block, signature, redacted: false }
        }
        ItemKind::Call => Delta::ToolCallEnd { block, signature: None },
    }
}

fn read_usage(usage: &Value) -> Option<TokenUsage> {
    let input = usage["input_tokens"].as_u64()?;
    let details = &usage["input_tokens_details"];
    let part = |value: &Value| value.as_u64().unwrap_or(0).min(input);
    let (cache_read, cache_write) = (part(&details["cached_tokens"]), part(&details["cache_write_tokens"]));
    Some(
        TokenUsage {
            input: input.saturating_sub(cache_read).saturating_sub(cache_write),
            output: usage["output_tokens"].as_u64().unwrap_or(0),
            cache_read,
            cache_write,
            reasoning: usage["output_tokens_details"]["reasoning_tokens"].as_u64().unwrap_or(0),
            ..TokenUsage::default()
        }
        .with_total(),
    )
}
