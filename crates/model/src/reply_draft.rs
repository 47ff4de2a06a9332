//! Folds the deltas of a reply into its message. Models use it to build the final message; a client can use it to show
//! a reply while it is streamed.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::arguments;
use crate::block::{ContentBlock, TextBlock, ThinkingBlock, ToolCall};
use crate::error::ModelError;
use crate::message::{AssistantMessage, StopReason};
use crate::model::Delta;
use crate::request::ModelInfo;
use crate::usage::TokenUsage;

/// An assistant message that is still being received.
#[derive(Debug, Clone)]
pub struct ReplyDraft {
    message: AssistantMessage,
    /// The JSON of call arguments received so far, by block.
    arguments: BTreeMap<usize, String>,
}

impl ReplyDraft {
    /// An empty draft. `timestamp` is the time of the request, in milliseconds since 1970.
    pub fn new(model: &ModelInfo, timestamp: i64) -> ReplyDraft {
        let message = AssistantMessage {
            api: model.api.name().to_owned(),
            provider: model.provider.clone(),
            model: model.id.clone(),
            timestamp,
            ..AssistantMessage::default()
        };
        ReplyDraft { message, arguments: BTreeMap::new() }
    }

    /// Applies the next delta. Ignores deltas for a block that was not started.
    pub fn apply(&mut self, delta: &Delta) {
        match delta {
            Delta::Start { response_id, response_model } => {
                self.set_extra("responseId", response_id.as_deref());
                let other = response_model.as_deref().filter(|model| *model != self.message.model);
                self.set_extra("responseModel", other.map(str::to_owned).as_deref());
            }
            Delta::TextStart { block } => self.start_block(*block, ContentBlock::Text(TextBlock::default())),
            Delta::ThinkingStart { block } => {
                self.start_block(*block, ContentBlock::Thinking(ThinkingBlock::default()));
            }
            Delta::ToolCallStart { block, id, name } => {
                self.start_block(
                    *block,
                    ContentBlock::call(id.clone(), name.clone(), serde_json::Map::new()),
                );
            }
            Delta::Text { block, text } => {
                if let Some(ContentBlock::Text(text_block)) = self.message.content.get_mut(*block) {
                    text_block.text.push_str(text);
                }
            }
            Delta::Thinking { block, text } => {
                if let Some(ContentBlock::Thinking(thinking)) = self.message.content.get_mut(*block) {
                    thinking.thinking.push_str(text);
                }
            }
            Delta::ToolCallArguments { block, json } => {
                self.arguments.entry(*block).or_default().push_str(json);
            }
            Delta::TextEnd { block, signature } => {
                if let Some(ContentBlock::Text(text_block)) = self.message.content.get_mut(*block) {
                    text_block.signature.clone_from(signature);
                }
            }
            Delta::ThinkingEnd { block, signature, redacted } => {
                if let Some(ContentBlock::Thinking(thinking)) = self.message.content.get_mut(*block) {
                    thinking.signature.clone_from(signature);
                    thinking.redacted = *redacted;
                }
            }
            Delta::ToolCallEnd { block, signature } => {
                if let Some(call) = self.call_mut(*block) {
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
        self.arguments.clear();
        self.message.content.clear();
        self.message.extra.clear();
        self.message.usage = TokenUsage::default();
    }

    /// What the reply cost so far.
    pub fn usage(&self) -> TokenUsage {
        self.message.usage
    }

    /// Whether any block was started.
    pub fn has_content(&self) -> bool {
        !self.message.content.is_empty()
    }

    /// The message as received so far. Incomplete calls are repaired for display and must not be run.
    pub fn partial_message(&self) -> AssistantMessage {
        self.clone().into_message()
    }

    /// The final delta for a stream that ended without one, which should not happen.
    pub fn end_without_final_delta(&self, cancelled: bool) -> Delta {
        let provider = self.message.provider.clone();
        failed_delta(
            self.partial_message(),
            match cancelled {
                true => ModelError::Cancelled,
                false => ModelError::CutOff {
                    provider,
                    detail: "the stream ended without a final event".to_owned(),
                },
            },
        )
    }

    /// The final delta of the reply. Calls with invalid arguments are marked. If the reply reached its output limit, `most`,
    /// those calls were cut off.
    pub fn finish(self, result: Result<StopReason, ModelError>, most: Option<u64>) -> Delta {
        let mut message = self.into_message();
        let stop = match result {
            Ok(stop) => stop,
            Err(failure) => return failed_delta(message, failure),
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
    fn into_message(mut self) -> AssistantMessage {
        for (block, json) in std::mem::take(&mut self.arguments) {
            if let Some(call) = self.call_mut(block) {
                call.arguments = arguments::parse(&json).unwrap_or_else(|error| {
                    call.invalid_arguments = Some(error);
                    arguments::parse_partial(&json)
                });
            }
        }
        self.message.content.retain(|block| match block {
            ContentBlock::Text(text) => !text.text.is_empty() || text.signature.is_some(),
            ContentBlock::Thinking(thinking) => !thinking.thinking.is_empty() || thinking.signature.is_some(),
            ContentBlock::Image(_) | ContentBlock::ToolCall(_) | ContentBlock::Unknown(_) => true,
        });
        self.message
    }

    fn start_block(&mut self, at: usize, block: ContentBlock) {
        debug_assert_eq!(at, self.message.content.len(), "blocks start in order");
        self.message.content.push(block);
    }

    fn call_mut(&mut self, block: usize) -> Option<&mut ToolCall> {
        match self.message.content.get_mut(block) {
            Some(ContentBlock::ToolCall(call)) => Some(call),
            _ => None,
        }
    }

    fn set_extra(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.message.extra.insert(key.to_owned(), Value::from(value));
        }
    }
}

fn failed_delta(mut message: AssistantMessage, failure: ModelError) -> Delta {
    message.stop_reason =
        if failure == ModelError::Cancelled { StopReason::Aborted } else { StopReason::Error };
    message.error_message = Some(failure.message());
    Delta::Failed(failure, Box::new(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Api;
    use serde_json::json;

    fn draft(deltas: &[Delta]) -> ReplyDraft {
        let mut draft = ReplyDraft::new(&ModelInfo::new("p", "m", Api::Scripted), 7);
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
        let message = done(draft(&pieces).finish(Ok(StopReason::Length), None));
        let arguments = Value::Object(message.calls().next().unwrap().arguments.clone());
        assert_eq!(arguments, json!({ "path": "a.rs", "text": "fn" }));
        assert_eq!(message.calls_to_run().count(), 0);
    }

    #[test]
    fn call_with_invalid_arguments_is_marked() {
        let message =
            done(draft(&call(&["{\"command\": \"rm -rf /tmp"])).finish(Ok(StopReason::ToolUse), None));
        let marked = message.calls().next().unwrap();
        assert_eq!(
            marked.invalid_arguments.as_deref(),
            Some(
                "not valid JSON: EOF while parsing a string at line 1 column 24. Received: {\"command\": \"rm -rf /tmp"
            )
        );
        let stored = serde_json::to_value(&message).unwrap();
        let read: AssistantMessage = match crate::message::Message::from_json({
            let mut stored = stored.clone();
            stored["role"] = json!("assistant");
            stored
        }) {
            Ok(crate::message::Message::Assistant(read)) => read,
            other => panic!("{other:?}"),
        };
        assert_eq!(read.calls().next(), Some(marked), "the mark is stored");
        assert_eq!(message.stop_reason, StopReason::ToolUse);
        let whole = done(draft(&call(&["{\"command\": ", "\"ls\"}"])).finish(Ok(StopReason::Stop), None));
        assert_eq!((whole.stop_reason, whole.calls_to_run().count()), (StopReason::ToolUse, 1));
    }

    #[test]
    fn cut_off_call_at_the_limit_has_stop_reason_length() {
        let mut deltas = call(&["{\"path\": \"a"]);
        deltas.push(Delta::Usage(TokenUsage { output: 12, ..TokenUsage::default() }));
        assert_eq!(
            done(draft(&deltas).finish(Ok(StopReason::Stop), Some(12))).stop_reason,
            StopReason::Length
        );
        assert_eq!(
            done(draft(&deltas).finish(Ok(StopReason::Stop), Some(13))).stop_reason,
            StopReason::ToolUse
        );
    }

    #[test]
    fn retry_discards_everything_received_before() {
        let mut deltas = vec![Delta::Start { response_id: Some("first".to_owned()), response_model: None }];
        deltas.extend(call(&["{\"path\": \"a"]));
        let reason = ModelError::CutOff { provider: "p".to_owned(), detail: String::new() };
        deltas.push(Delta::Retrying {
            attempt: 1,
            max_attempts: 4,
            delay: std::time::Duration::ZERO,
            error: reason,
            usage: TokenUsage::default(),
        });
        deltas.extend([Delta::TextStart { block: 0 }, Delta::Text { block: 0, text: "whole".to_owned() }]);
        let mut expected = draft(&[]).message;
        expected.content.push(ContentBlock::text("whole"));
        assert_eq!(done(draft(&deltas).finish(Ok(StopReason::Stop), None)), expected);
    }

    #[test]
    fn empty_blocks_are_dropped_when_the_reply_is_cut_off() {
        let ended = draft(&[
            Delta::ThinkingStart { block: 0 },
            Delta::ThinkingEnd { block: 0, signature: Some("s".to_owned()), redacted: false },
            Delta::TextStart { block: 1 },
        ])
        .finish(Err(ModelError::Cancelled), None);
        let Delta::Failed(_, message) = ended else { panic!("{ended:?}") };
        assert_eq!((message.content.len(), message.stop_reason), (1, StopReason::Aborted));
        assert_eq!(message.error_message.as_deref(), Some("cancelled"));
    }
}
