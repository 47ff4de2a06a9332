//! One model call: sends the context of the path, streams the reply into a draft, and stores the finished
//! reply.

use std::sync::Arc;

use futures_util::StreamExt;
use osier_model::{AssistantMessage, Delta, Draft, Failure, Message, ModelInfo};
use osier_session::{Commit, DraftHandle};
use serde_json::{Value, json};

use crate::error::Error;
use crate::live::Live;
use crate::turn::{Overflow, Turn};
use crate::workplace::plan_message;

/// The last piece of a draft that broke off. The retry streams into a new draft.
const WITHDRAWN: &str = r#"{"type":"withdrawn"}"#;

impl Turn {
    pub(crate) async fn call_model(&mut self) -> Result<(), Error> {
        let work = self.work.clone();
        let request = work.request().await?;
        let model = request.model.clone();
        let mut draft = work.cursor.begin_draft().await?;
        let mut partial = Draft::new(&model, work.clock());
        let mut deltas = work.parts.model.stream(request, self.cancel.clone());
        loop {
            let delta = deltas.next().await;
            match delta.unwrap_or_else(|| partial.broken_off(self.cancel.is_cancelled())) {
                Delta::Done(message) => {
                    self.overflow = Overflow::None;
                    return self.reply(&draft, priced(*message, &model)).await;
                }
                Delta::Failed(failure, message) => {
                    self.failure = Some(failure.message());
                    if matches!(failure, Failure::Overflow { .. }) && self.overflow == Overflow::None {
                        self.overflow = Overflow::Now;
                    }
                    return self.reply(&draft, priced(*message, &model)).await;
                }
                Delta::Retrying { attempt, delay, why } => {
                    work.teller.tell(Live::Retrying {
                        attempt,
                        seconds: delay.as_secs_f64(),
                        kind: why.kind(),
                        message: why.message(),
                    });
                    if partial.has_content() {
                        partial = Draft::new(&model, work.clock());
                        draft.push(WITHDRAWN);
                        drop(draft);
                        draft = work.cursor.begin_draft().await?;
                    }
                }
                delta => {
                    partial.apply(&delta);
                    draft.push(shown(&delta).to_string());
                }
            }
        }
    }

    /// Stores the reply under the id of its draft. This turn may run the tool calls of the reply.
    async fn reply(&mut self, draft: &DraftHandle, message: AssistantMessage) -> Result<(), Error> {
        let mut message =
            serde_json::to_value(Message::Assistant(message)).expect("messages serialize to JSON");
        self.work.parts.context.keys.hide_in(&mut message);
        let message = message.to_string().into_bytes();
        let commit = Commit::new(move |tree, at| plan_message(tree, at, &message)).finishing(draft);
        let stored = self.work.store_or_wait(commit, &self.cancel).await?;
        self.reply = Some(Arc::clone(&stored.id));
        Ok(())
    }
}

/// Computes the cost from the price list if the provider did not report one.
fn priced(mut message: AssistantMessage, model: &ModelInfo) -> AssistantMessage {
    if message.usage.cost.total == 0.0 {
        message.usage.cost = model.price.cost(&message.usage);
    }
    message
}

/// The JSON form of a delta for clients.
fn shown(delta: &Delta) -> Value {
    match delta {
        Delta::TextStart { block } => json!({ "type": "text_start", "block": block }),
        Delta::Text { block, text } => json!({ "type": "text_delta", "block": block, "delta": text }),
        Delta::TextEnd { block, .. } => json!({ "type": "text_end", "block": block }),
        Delta::ThinkingStart { block } => json!({ "type": "thinking_start", "block": block }),
        Delta::Thinking { block, text } => json!({ "type": "thinking_delta", "block": block, "delta": text }),
        Delta::ThinkingEnd { block, .. } => json!({ "type": "thinking_end", "block": block }),
        Delta::ToolCallStart { block, id, name } => {
            json!({ "type": "toolcall_start", "block": block, "id": id, "name": name })
        }
        Delta::ToolCallArguments { block, json } => {
            json!({ "type": "toolcall_delta", "block": block, "delta": json })
        }
        Delta::ToolCallEnd { block, .. } => json!({ "type": "toolcall_end", "block": block }),
        Delta::Usage(usage) => json!({ "type": "usage", "usage": usage }),
        Delta::Start { .. } | Delta::Retrying { .. } | Delta::Done(_) | Delta::Failed(..) => {
            json!({ "type": "start" })
        }
    }
}
