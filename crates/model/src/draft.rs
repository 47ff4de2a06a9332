//! Folds the deltas of a reply into its message. Models use it to build the final message; a client can use it to show
//! a reply while it is streamed.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::arguments;
use crate::block::{Block, Text, Thinking, ToolCall};
use crate::failure::Failure;
use crate::message::{AssistantMessage, StopReason};
use crate::port::Delta;
use crate::request::ModelInfo;
use crate::usage::Usage;

/// An assistant message that is still being received.
#[derive(Debug, Clone)]
pub struct Draft {
    message: AssistantMessage,
    /// The JSON of call arguments received so far, by block.
    json: BTreeMap<usize, String>,
}

impl Draft {
    /// An empty draft. `timestamp` is the time of the request, in milliseconds since 1970.
    pub fn new(model: &ModelInfo, timestamp: i64) -> Draft {
        let message = AssistantMessage {
            api: model.api.name().to_owned(),
            provider: model.provider.clone(),
            model: model.id.clone(),
            timestamp,
            ..AssistantMessage::default()
        };
        Draft { message, json: BTreeMap::new() }
    }

    /// Applies the next delta. Ignores deltas for a block that was not started.
    pub fn apply(&mut self, delta: &Delta) {
        match delta {
            Delta::Start { response_id, response_model } => {
                self.note("responseId", response_id.as_deref());
                let other = response_model.as_deref().filter(|model| *model != self.message.model);
                self.note("responseModel", other.map(str::to_owned).as_deref());
            }
            Delta::TextStart { block } => self.start(*block, Block::Text(Text::default())),
            Delta::ThinkingStart { block } => self.start(*block, Block::Thinking(Thinking::default())),
            Delta::ToolCallStart { block, id, name } => {
                self.start(*block, Block::call(id.clone(), name.clone(), serde_json::Map::new()));
            }
            Delta::Text { block, text } => {
                if let Some(Block::Text(text_block)) = self.message.content.get_mut(*block) {
                    text_block.text.push_str(text);
                }
            }
            Delta::Thinking { block, text } => {
                if let Some(Block::Thinking(thinking)) = self.message.content.get_mut(*block) {
                    thinking.thinking.push_str(text);
                }
            }
            Delta::ToolCallArguments { block, json } => self.json.entry(*block).or_default().push_str(json),
            Delta::TextEnd { block, signature } => {
                if let Some(Block::Text(text_block)) = self.message.content.get_mut(*block) {
                    text_block.signature.clone_from(signature);
                }
            }
            Delta::ThinkingEnd { block, signature, redacted } => {
                if let Some(Block::Thinking(thinking)) = self.message.content.get_mut(*block) {
                    thinking.signature.clone_from(signature);
                    thinking.redacted = *redacted;
                }
            }
            Delta::ToolCallEnd { block, signature } => {
                if let Some(call) = self.call(*block) {
                    call.thought_signature.clone_from(signature);
                }
            }
            Delta::Usage(usage) => self.message.usage = *usage,
            Delta::Retrying { .. } => self.clear(),
            Delta::Done(_) | Delta::Failed(..) => {}
        }
    }

    /// Discards everything received so far, because the request is retried.
    fn clear(&mut self) {
        self.json.clear();
        self.message.content.clear();
        self.message.extra.clear();
        self.message.usage = Usage::default();
    }

    /// What the reply cost so far.
    pub fn usage(&self) -> Usage {
        self.message.usage
    }

    /// Whether any block was started.
    pub fn has_content(&self) -> bool {
        !self.message.content.is_empty()
    }

    /// The message as received so far. Incomplete calls are repaired for display and must not be run.
    pub fn so_far(&self) -> AssistantMessage {
        self.clone().close()
    }

    /// The final delta for a stream that ended without one, which should not happen.
    pub fn broken_off(&self, cancelled: bool) -> Delta {
        let provider = self.message.provider.clone();
        failed(
            self.so_far(),
            match cancelled {
                true => Failure::Cancelled,
                false => Failure::Cut { provider, said: "the stream ended without a final event".to_owned() },
            },
        )
    }

    /// The final delta of the reply. Calls with invalid arguments are marked. If the reply reached its output limit, `most`,
    /// those calls were cut off.
    pub(crate) fn end(self, ending: Result<StopReason, Failure>, most: Option<u64>) -> Delta {
        let mut message = self.close();
        let stop = match ending {
            Ok(stop) => stop,
            Err(failure) => return failed(message, failure),
        };
        let has_calls = message.calls().next().is_some();
        let is_invalid = message.calls().any(|call| call.invalid_arguments.is_some());
        // Some servers report a normal end when the output limit cut off a call.
        let at_limit = most.is_some_and(|most| message.usage.output >= most);
        message.stop_reason = match stop {
            StopReason::Stop | StopReason::ToolUse if is_invalid && at_limit => StopReason::Length,
            StopReason::Stop if has_calls => StopReason::ToolUse,
            StopReason::ToolUse if !has_calls => StopReason::Stop,
            other => other,
        };
        Delta::Done(Box::new(message))
    }

    /// Parses the arguments, marks invalid ones, and removes empty blocks.
    fn close(mut self) -> AssistantMessage {
        for (block, json) in std::mem::take(&mut self.json) {
            if let Some(call) = self.call(block) {
                call.arguments = arguments::parse(&json).unwrap_or_else(|error| {
                    call.invalid_arguments = Some(error);
                    arguments::mended(&json)
                });
            }
        }
        self.message.content.retain(|block| match block {
            Block::Text(text) => !text.text.is_empty() || text.signature.is_some(),
            Block::Thinking(thinking) => !thinking.thinking.is_empty() || thinking.signature.is_some(),
            Block::Image(_) | Block::ToolCall(_) | Block::Unknown(_) => true,
        });
        self.message
    }

    fn start(&mut self, at: usize, block: Block) {
        debug_assert_eq!(at, self.message.content.len(), "blocks start in order");
        self.message.content.push(block);
    }

    fn call(&mut self, block: usize) -> Option<&mut ToolCall> {
        match self.message.content.get_mut(block) {
            Some(Block::ToolCall(call)) => Some(call),
            _ => None,
        }
    }

    fn note(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.message.extra.insert(key.to_owned(), Value::from(value));
        }
    }
}

fn failed(mut message: AssistantMessage, failure: Failure) -> Delta {
    message.stop_reason = if failure == Failure::Cancelled { StopReason::Aborted } else { StopReason::Error };
    message.error_message = Some(failure.message());
    Delta::Failed(failure, Box::new(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Api;
    use serde_json::json;

    fn draft(deltas: &[Delta]) -> Draft {
        let mut draft = Draft::new(&ModelInfo::new("p", "m", Api::Scripted), 7);
        deltas.iter().for_each(|delta| draft.apply(delta));
        draft
    }

    fn call(json: &[&str]) -> Vec<Delta> {
        let start = Delta::ToolCallStart { block: 0, id: "c".to_owned(), name: "write".to_owned() };
        let pieces = json.iter().map(|json| Delta::ToolCallArguments { block: 0, json: (*json).to_owned() });
        std::iter::once(start).chain(pieces).collect()
    }

    fn done(delta: Delta) -> AssistantMessage {
        match delta {
            Delta::Done(message) => *message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn call_cut_off_by_the_limit_is_stored_as_an_object_and_not_runnable() {
        let pieces = call(&["{\"path\": \"a", ".rs\", \"text\": \"fn"]);
        let message = done(draft(&pieces).end(Ok(StopReason::Length), None));
        let arguments = Value::Object(message.calls().next().unwrap().arguments.clone());
        assert_eq!(arguments, json!({ "path": "a.rs", "text": "fn" }));
        assert_eq!(message.calls_to_run().count(), 0);
    }

    #[test]
    fn call_with_invalid_arguments_is_marked() {
        let message = done(draft(&call(&["{\"command\": \"rm -rf /tmp"])).end(Ok(StopReason::ToolUse), None));
        let marked = message.calls().next().unwrap();
        assert_eq!(
            marked.invalid_arguments.as_deref(),
            Some(
                "not valid JSON: EOF while parsing a string at line 1 column 24. Received: {\"command\": \"rm -rf /tmp"
            )
        );
        let stored = serde_json::to_value(&message).unwrap();
        let read: AssistantMessage = match crate::message::Message::read({
            let mut stored = stored.clone();
            stored["role"] = json!("assistant");
            stored
        }) {
            Ok(crate::message::Message::Assistant(read)) => read,
            other => panic!("{other:?}"),
        };
        assert_eq!(read.calls().next(), Some(marked), "the mark is stored");
        assert_eq!(message.stop_reason, StopReason::ToolUse);
        let whole = done(draft(&call(&["{\"command\": ", "\"ls\"}"])).end(Ok(StopReason::Stop), None));
        assert_eq!((whole.stop_reason, whole.calls_to_run().count()), (StopReason::ToolUse, 1));
    }

    #[test]
    fn cut_off_call_at_the_limit_has_stop_reason_length() {
        let mut deltas = call(&["{\"path\": \"a"]);
        deltas.push(Delta::Usage(Usage { output: 12, ..Usage::default() }));
        assert_eq!(done(draft(&deltas).end(Ok(StopReason::Stop), Some(12))).stop_reason, StopReason::Length);
        assert_eq!(done(draft(&deltas).end(Ok(StopReason::Stop), Some(13))).stop_reason, StopReason::ToolUse);
    }

    #[test]
    fn retry_discards_everything_received_before() {
        let mut deltas = vec![Delta::Start { response_id: Some("first".to_owned()), response_model: None }];
        deltas.extend(call(&["{\"path\": \"a"]));
        let why = Failure::Cut { provider: "p".to_owned(), said: String::new() };
        deltas.push(Delta::Retrying {
            attempt: 1,
            delay: std::time::Duration::ZERO,
            why,
            usage: Usage::default(),
        });
        deltas.extend([Delta::TextStart { block: 0 }, Delta::Text { block: 0, text: "whole".to_owned() }]);
        let mut expected = draft(&[]).message;
        expected.content.push(Block::text("whole"));
        assert_eq!(done(draft(&deltas).end(Ok(StopReason::Stop), None)), expected);
    }

    #[test]
    fn empty_blocks_are_dropped_when_the_reply_is_cut_off() {
        let ended = draft(&[
            Delta::ThinkingStart { block: 0 },
            Delta::ThinkingEnd { block: 0, signature: Some("s".to_owned()), redacted: false },
            Delta::TextStart { block: 1 },
        ])
        .end(Err(Failure::Cancelled), None);
        let Delta::Failed(_, message) = ended else { panic!("{ended:?}") };
        assert_eq!((message.content.len(), message.stop_reason), (1, StopReason::Aborted));
        assert_eq!(message.error_message.as_deref(), Some("cancelled"));
    }
}
