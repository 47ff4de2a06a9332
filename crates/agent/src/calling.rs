//! One model call: sends the context of the path, streams the reply into a draft, and stores the finished
//! reply.

use std::sync::Arc;

use futures_util::StreamExt;
use osier_model::{AssistantMessage, Delta, Draft, Failure, Message, ModelInfo};
use osier_session::{Commit, DraftHandle};

use crate::error::Error;
use crate::live::Live;
use crate::shown::ShownDeltas;
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
        let mut shown = ShownDeltas::new(&work.parts.context.keys);
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
                Delta::Retrying { attempt, delay, why, usage } => {
                    work.remember_usage(&model, usage, 1, "reply", "a reply that broke off");
                    work.teller.tell(Live::Retrying {
                        attempt,
                        seconds: delay.as_secs_f64(),
                        kind: why.kind(),
                        message: why.message(),
                    });
                    if partial.has_content() {
                        partial = Draft::new(&model, work.clock());
                        shown = ShownDeltas::new(&work.parts.context.keys);
                        draft.push(WITHDRAWN);
                        drop(draft);
                        draft = work.cursor.begin_draft().await?;
                    }
                }
                delta => {
                    partial.apply(&delta);
                    shown.next(&delta).iter().for_each(|piece| draft.push(piece.to_string()));
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
