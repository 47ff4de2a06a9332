//! One model call: sends the context of the path, streams the reply into a draft, and stores the finished
//! reply.

use std::time::Duration;

use futures_util::StreamExt;
use osier_model::{AssistantMessage, CancellationToken, Delta, Message, ModelError, ModelInfo, ReplyDraft};
use osier_protocol::ClientEvent;
use osier_session::DraftHandle;
use osier_tree::ReplyDelta;
use serde_json::Value;

use crate::error::AgentError;
use crate::hooks::{HookEvent, RequestPurpose};
use crate::redacted_deltas::RedactedDeltas;
use crate::turn::{OverflowState, Turn};

/// How long a canceled model call may take to end, for example to report what it used.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);

/// Returns when a canceled model call has used up its time to end.
async fn wait_for_stop_timeout(cancel: CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(STOP_TIMEOUT).await;
}

impl Turn {
    pub(crate) async fn call_model(&mut self) -> Result<(), AgentError> {
        let agent = self.agent.clone();
        self.unanswered_custom = false;
        // If the user cancels, the next step ends the turn.
        let Some(mut request) = agent.request(&self.cancel).await? else { return Ok(()) };
        if let Some(system) = &self.system_prompt {
            request.system.clone_from(system);
        }
        let purpose = RequestPurpose::Reply;
        let Some(request) = agent.ask_before_request(request, purpose, &self.cancel).await else {
            return Ok(());
        };
        let model = request.model.clone();
        let (messages, tools) = (request.messages.len(), request.tools.len());
        tracing::debug!(model = %model.full_name(), messages, tools, "calling the model");
        let mut draft = agent.cursor.begin_draft().await?;
        let mut reply = ReplyDraft::new(&model, agent.timestamp());
        let mut redacted = RedactedDeltas::new(&agent.config.tool_context.secrets);
        let mut deltas = agent.config.model.stream(request, self.cancel.clone());
        let stop_timeout = wait_for_stop_timeout(self.cancel.clone());
        tokio::pin!(stop_timeout);
        let started = || HookEvent::MessageStarted { message: to_json(reply.partial_message()) };
        agent.observe_if_wanted("message_start", started).await;
        let mut retry = None;
        loop {
            let delta = tokio::select! {
                delta = deltas.next() => delta,
                () = &mut stop_timeout => None,
            };
            match delta.unwrap_or_else(|| reply.end_without_final_delta(self.cancel.is_cancelled())) {
                Delta::Done(message) => {
                    self.overflow = OverflowState::None;
                    agent.observe_response(&model.full_name(), purpose, message.usage, None).await;
                    return self.store_reply(&draft, with_cost(*message, &model)).await;
                }
                Delta::Failed(failure, message) => {
                    self.failure = Some(failure.message());
                    if matches!(failure, ModelError::ContextOverflow { .. })
                        && self.overflow == OverflowState::None
                    {
                        self.overflow = OverflowState::Detected;
                    }
                    let error = Some(failure.message());
                    agent.observe_response(&model.full_name(), purpose, message.usage, error).await;
                    return self.store_reply(&draft, with_cost(*message, &model)).await;
                }
                Delta::Retrying { attempt, max_attempts, delay, error: reason, usage } => {
                    agent.remember_usage(&model, usage, 1, "reply", "a reply that broke off");
                    retry = Some(agent.live.end_retry_on_drop());
                    agent.live.send(ClientEvent::Retrying {
                        attempt,
                        max_attempts: Some(max_attempts),
                        seconds: delay.as_secs_f64(),
                        kind: reason.code().into(),
                        message: reason.message(),
                    });
                    if reply.has_content() {
                        reply = ReplyDraft::new(&model, agent.timestamp());
                        redacted = RedactedDeltas::new(&agent.config.tool_context.secrets);
                        draft.push(ReplyDelta::Withdrawn);
                        drop(draft);
                        draft = agent.cursor.begin_draft().await?;
                    }
                }
                delta => {
                    drop(retry.take());
                    reply.apply(&delta);
                    for piece in redacted.next(&delta) {
                        let assistant_message_event = || serde_json::to_value(&piece).unwrap_or_default();
                        let updated = || HookEvent::MessageUpdated {
                            message: self.redacted_message(reply.partial_message()),
                            assistant_message_event: assistant_message_event(),
                        };
                        agent.observe_if_wanted("message_update", updated).await;
                        draft.push(piece);
                    }
                }
            }
        }
    }

    fn redacted_message(&self, message: AssistantMessage) -> Value {
        let mut message = to_json(message);
        self.agent.config.tool_context.secrets.redact_json(&mut message);
        message
    }

    /// Stores the reply under the id of its draft. This turn may run the tool calls of the reply.
    async fn store_reply(
        &mut self,
        draft: &DraftHandle,
        message: AssistantMessage,
    ) -> Result<(), AgentError> {
        let message = self.redacted_message(message);
        let message = self.agent.edit_message(message, &self.cancel).await;
        let message = message.to_string().into_bytes();
        let stored = self.agent.store_or_keep(message, draft.id(), &self.cancel).await?;
        self.reply_id = Some(stored.id);
        Ok(())
    }
}

fn to_json(message: AssistantMessage) -> Value {
    serde_json::to_value(Message::Assistant(message)).expect("messages serialize to JSON")
}

/// Computes the cost from the price list if the provider did not report one.
fn with_cost(mut message: AssistantMessage, model: &ModelInfo) -> AssistantMessage {
    if message.usage.cost.total == 0.0 {
        message.usage.cost = model.price.cost(&message.usage);
    }
    message
}
