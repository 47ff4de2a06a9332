//! A reply that an extension streams: its events become deltas, like those of any model.

use std::sync::{Arc, PoisonError};

use futures_util::StreamExt;
use osier_model::{
    AssistantMessage, CancellationToken, Delta, DeltaStream, Message, ModelError, ReplyDraft, Request,
    StopReason, TokenUsage,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::extension::{Extension, TimeLimit};
use super::model_calls::{describe, now};
use super::session::{ProcessNumber, SessionExtensions};
use crate::frame::Failure;

/// Some events of a reply.
#[derive(Debug, Deserialize)]
pub(crate) struct ProviderEvents {
    token: u64,
    events: Vec<ProviderEvent>,
}

/// An event of pi's streams, without the message so far.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProviderEvent {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    content_index: usize,
    #[serde(default)]
    delta: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
}

/// A reply that an extension streams.
#[derive(Debug)]
pub(crate) struct ProviderStream {
    /// Only this extension sends its events.
    owner: (ProcessNumber, u32),
    sender: mpsc::UnboundedSender<Delta>,
    /// The numbers that the extension gave its blocks, in the order in which they began.
    blocks: Vec<usize>,
    /// What the call of another model used from which the reply comes.
    usage: Option<TokenUsage>,
}

impl ProviderEvent {
    /// Numbers the blocks from 0, as deltas need it. `None` for events without content, or of a block that did not begin.
    fn into_delta(self, blocks: &mut Vec<usize>) -> Option<Delta> {
        if self.kind == "start" {
            return Some(Delta::Start { response_id: None, response_model: None });
        }
        let known = blocks.iter().rposition(|block| *block == self.content_index);
        let block = match known {
            None if self.kind.ends_with("_start") => {
                blocks.push(self.content_index);
                blocks.len() - 1
            }
            // A block begins once.
            Some(_) if self.kind.ends_with("_start") => return None,
            known => known?,
        };
        let text = self.delta;
        Some(match self.kind.as_str() {
            "text_start" => Delta::TextStart { block },
            "text_delta" => Delta::Text { block, text },
            "text_end" => Delta::TextEnd { block, signature: None },
            "thinking_start" => Delta::ThinkingStart { block },
            "thinking_delta" => Delta::Thinking { block, text },
            "thinking_end" => Delta::ThinkingEnd { block, signature: None, redacted: false },
            "toolcall_start" => Delta::ToolCallStart { block, id: self.id, name: self.name },
            "toolcall_delta" => Delta::ToolCallArguments { block, json: text },
            "toolcall_end" => Delta::ToolCallEnd { block, signature: None },
            _ => return None,
        })
    }
}

impl SessionExtensions {
    /// Counts what a model call used as the usage of the reply that an extension streams. False if it streams none, or if another
    /// call was counted before.
    pub(super) fn count_as_reply(&self, extension: &Extension, token: u64, usage: TokenUsage) -> bool {
        let mut streams = self.provider_streams.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own =
            |stream: &&mut ProviderStream| stream.owner == extension.place() && stream.usage.is_none();
        let Some(stream) = streams.get_mut(&token).filter(is_own) else { return false };
        stream.usage = Some(usage);
        true
    }

    /// Passes events on to the reply that they belong to.
    pub(crate) fn receive_provider_events(
        &self,
        extension: &Extension,
        ProviderEvents { token, events }: ProviderEvents,
    ) {
        let mut streams = self.provider_streams.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(stream) = streams.get_mut(&token).filter(|stream| stream.owner == extension.place()) else {
            return;
        };
        for delta in events.into_iter().filter_map(|event| event.into_delta(&mut stream.blocks)) {
            // The reader may have canceled.
            let _ = stream.sender.send(delta);
        }
    }
}

/// Asks an extension for a reply.
pub(super) fn stream(
    session: &Arc<SessionExtensions>,
    extension: &Arc<Extension>,
    request: Request,
    key: Option<String>,
    cancel: CancellationToken,
) -> DeltaStream {
    let (sender, receiver) = mpsc::unbounded_channel();
    let token = session.next_token();
    let stream =
        ProviderStream { owner: extension.place(), sender: sender.clone(), blocks: Vec::new(), usage: None };
    session.provider_streams.lock().unwrap_or_else(PoisonError::into_inner).insert(token, stream);
    let extension = extension.clone();
    let params = stream_params(&request, key, token);
    let streams = session.clone();
    tokio::spawn(async move {
        let asked = extension.request("provider.stream", &params, TimeLimit::None, &cancel);
        let answer = tokio::select! {
            biased;
            answer = asked => answer.map(|raw| raw.get().to_owned()),
            // The extension learns it and may still answer; nobody waits for that.
            () = cancel.cancelled() => Err(Failure::new("cancelled")),
        };
        let ended = streams.provider_streams.lock().unwrap_or_else(PoisonError::into_inner).remove(&token);
        let usage = ended.and_then(|stream| stream.usage);
        let _ = sender.send(last_delta(&request, answer, usage, cancel.is_cancelled()));
    });
    let receiver = to_stream(receiver);
    // Nothing follows the last delta.
    Box::pin(receiver.scan(false, |ended, delta| {
        let next = (!*ended).then(|| delta.clone());
        *ended |= delta.is_end();
        futures_util::future::ready(next)
    }))
}

fn to_stream(receiver: mpsc::UnboundedReceiver<Delta>) -> DeltaStream {
    Box::pin(futures_util::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|delta| (delta, receiver))
    }))
}

fn stream_params(request: &Request, key: Option<String>, token: u64) -> Value {
    json!({
        "token": token,
        "provider": request.model.provider,
        "model": describe(&request.model),
        "context": {
            "systemPrompt": request.system,
            "messages": request.messages,
            "tools": request.tools,
        },
        "options": {
            "maxTokens": request.max_tokens,
            "reasoning": Some(request.thinking.name()).filter(|name| *name != "off"),
            "sessionId": request.session,
            "apiKey": key,
        },
    })
}

/// The end of a reply: the message of the extension, or why there is none.
fn last_delta(
    request: &Request,
    answer: Result<String, Failure>,
    usage: Option<TokenUsage>,
    is_canceled: bool,
) -> Delta {
    let provider = request.model.provider.clone();
    let failed = |error| ReplyDraft::new(&request.model, now()).finish(Err(error), None);
    if is_canceled {
        return failed(ModelError::Cancelled);
    }
    let message = match answer {
        Ok(json) => serde_json::from_str(&json).map_err(|error| error.to_string()).and_then(read_message),
        Err(failure) => Err(failure.message),
    };
    let mut message = match message {
        Ok(message) => message,
        // An extension that throws would throw again.
        Err(detail) => return failed(ModelError::Refused { detail }),
    };
    (message.provider, message.model) = (provider.clone(), request.model.id.clone());
    message.timestamp = if message.timestamp == 0 { now() } else { message.timestamp };
    message.usage = usage.unwrap_or(message.usage);
    fill_total(&mut message.usage);
    match message.stop_reason {
        StopReason::Error | StopReason::Aborted => {
            let detail = message.error_message.clone().unwrap_or_default();
            Delta::Failed(ModelError::Malformed { provider, detail }, Box::new(message))
        }
        _ => Delta::Done(Box::new(message)),
    }
}

fn read_message(value: Value) -> Result<AssistantMessage, String> {
    match Message::from_json(value).map_err(|error| error.to_string())? {
        Message::Assistant(message) => Ok(message),
        _ => Err("the message is not one of the assistant".to_owned()),
    }
}

fn fill_total(usage: &mut TokenUsage) {
    if usage.total_tokens == 0 {
        let parts = [usage.output, usage.cache_read, usage.cache_write];
        usage.total_tokens = parts.into_iter().fold(usage.input, u64::saturating_add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_numbered_in_their_order() {
        let mut blocks = Vec::new();
        let mut read = |kind: &str, index: usize| {
            let event = json!({ "type": kind, "contentIndex": index, "delta": "x" });
            serde_json::from_value::<ProviderEvent>(event).unwrap().into_delta(&mut blocks)
        };
        assert!(matches!(read("text_start", 5), Some(Delta::TextStart { block: 0 })));
        assert!(matches!(read("text_delta", 5), Some(Delta::Text { block: 0, .. })));
        assert!(read("text_delta", 7).is_none(), "it did not begin");
        assert!(read("text_start", 5).is_none(), "it began before");
        assert!(matches!(read("thinking_start", 2), Some(Delta::ThinkingStart { block: 1 })));
    }

    #[test]
    fn a_total_cannot_overflow() {
        let mut usage = TokenUsage { input: u64::MAX, output: 1, ..TokenUsage::default() };
        fill_total(&mut usage);
        assert_eq!(usage.total_tokens, u64::MAX);
    }
}
