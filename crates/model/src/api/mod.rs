//! The wire protocols. Each has two pure parts: a function that builds the HTTP request, and a reader that turns the
//! response events into deltas. Sockets, keys, retries and timeouts are handled in `remote`.

mod anthropic_messages;
mod block_tracker;
mod error_response;
mod google_generative_ai;
mod messages_writer;
mod openai_completions;
mod openai_responses;

use serde_json::Value;

use crate::error::ModelError;
use crate::message::StopReason;
use crate::model::Delta;
use crate::request::{Api, Request};
use crate::sse::SseEvent;

pub(crate) use error_response::{ErrorResponse, classify_error};

/// An HTTP POST request.
#[derive(Debug)]
pub(crate) struct HttpRequest {
    /// Relative to the provider's base URL.
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// A JSON object.
    pub(crate) body: String,
}

/// Whether a reader expects more events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadStatus {
    More,
    Done,
}

/// Turns the events of one reply into deltas.
pub(crate) trait EventReader: Send {
    fn read_event(&mut self, event: &SseEvent, deltas: &mut Vec<Delta>) -> Result<ReadStatus, ModelError>;

    /// Closes open blocks at the end of the stream. Returns the stop reason, or `None` if the reply is incomplete.
    fn finish(&mut self, deltas: &mut Vec<Delta>) -> Option<StopReason>;
}

/// Builds the HTTP request; `None` for models without a wire protocol.
pub(crate) fn build_request(request: &Request) -> Option<HttpRequest> {
    let mut built = match request.model.api {
        Api::AnthropicMessages => anthropic_messages::build_request(request),
        Api::OpenaiCompletions => openai_completions::build_request(request),
        Api::OpenaiResponses => openai_responses::build_request(request),
        Api::GoogleGenerativeAi => google_generative_ai::build_request(request),
        Api::Offline | Api::Extension | Api::Scripted => return None,
    };
    if let Some(body) = &request.body {
        built.body = body.to_string();
    }
    Some(built)
}

pub(crate) fn event_reader(request: &Request) -> Option<Box<dyn EventReader>> {
    match request.model.api {
        Api::AnthropicMessages => Some(Box::new(anthropic_messages::event_reader(request))),
        Api::OpenaiCompletions => Some(Box::new(openai_completions::event_reader(request))),
        Api::OpenaiResponses => Some(Box::new(openai_responses::event_reader(request))),
        Api::GoogleGenerativeAi => Some(Box::new(google_generative_ai::event_reader(request))),
        Api::Offline | Api::Extension | Api::Scripted => None,
    }
}

/// The header that carries the API key, and the prefix of its value.
pub(crate) fn key_header(api: Api) -> (&'static str, &'static str) {
    match api {
        Api::AnthropicMessages => ("x-api-key", ""),
        Api::GoogleGenerativeAi => ("x-goog-api-key", ""),
        Api::OpenaiCompletions | Api::OpenaiResponses | Api::Offline | Api::Extension | Api::Scripted => {
            ("authorization", "Bearer ")
        }
    }
}

/// Parses the data of an event as JSON.
fn parse_event(event: &SseEvent, provider: &str) -> Result<Value, ModelError> {
    serde_json::from_str(&event.data).map_err(|error| ModelError::Malformed {
        provider: provider.to_owned(),
        detail: format!("an event is not JSON ({error}): {}", event.data),
    })
}

/// A string member that is present and not empty.
fn nonempty_str<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value[key].as_str().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::message::Message;
    use crate::reply_draft::ReplyDraft;
    use crate::request::ModelInfo;

    /// Keys and values that one of the readers understands.
    const KEYS: &[&str] = &[
        "type",
        "index",
        "delta",
        "content_block",
        "message",
        "usage",
        "choices",
        "content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "finish_reason",
        "error",
        "item",
        "output_index",
        "response",
        "candidates",
        "parts",
        "text",
        "functionCall",
        "args",
        "thought",
        "thoughtSignature",
        "usageMetadata",
        "input_tokens",
        "stop_reason",
        "reasoning_content",
        "item_id",
        "call_id",
        "summary",
        "finishReason",
        "promptTokenCount",
        "prompt_tokens",
    ];
    const WORDS: &[&str] = &[
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "text",
        "thinking",
        "tool_use",
        "text_delta",
        "input_json_delta",
        "response.created",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "response.completed",
        "reasoning",
        "message",
        "function_call",
        "stop",
        "STOP",
        "{\"a\":",
        "",
    ];

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0u64..4).prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            prop::sample::select(WORDS).prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
            let object =
                prop::collection::vec((prop::sample::select(KEYS), inner), 0..6).prop_map(|fields| {
                    fields
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect::<serde_json::Map<_, _>>()
                        .into()
                });
            prop_oneof![list, object]
        })
    }

    proptest! {
        #[test]
        fn readers_accept_any_json_without_panicking(
            events in prop::collection::vec((prop::sample::select(WORDS), value()), 0..12),
        ) {
            for api in [Api::AnthropicMessages, Api::OpenaiCompletions, Api::OpenaiResponses, Api::GoogleGenerativeAi] {
                let request = Request::new(Arc::new(ModelInfo::new("p", "m", api)), vec![Message::user("hi")]);
                let mut reader = event_reader(&request).unwrap();
                let mut draft = ReplyDraft::new(&request.model, 0);
                let mut deltas = Vec::new();
                for (name, data) in &events {
                    let data = if data.is_object() && data.get("type").is_none() { with_type(data, name) } else { data.clone() };
                    let event = SseEvent { name: (*name).to_owned(), data: data.to_string() };
                    if reader.read_event(&event, &mut deltas).is_err() {
                        break;
                    }
                }
                reader.finish(&mut deltas);
                deltas.iter().for_each(|delta| draft.apply(delta));
                draft.partial_message();
            }
        }
    }

    fn with_type(data: &Value, name: &str) -> Value {
        let mut data = data.clone();
        data["type"] = json!(name);
        data
    }
}
