//! A model for tests that plays a script of replies, calls, errors and pauses, one turn per request. It records the
//! requests.
//!
//! It produces every kind of delta that a real model does, in small pieces.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::error::ModelError;
use crate::message::StopReason;
use crate::model::{Delta, DeltaStream, Model};
use crate::reply_draft::ReplyDraft;
use crate::request::{Api, ModelInfo, Request};
use crate::usage::TokenUsage;

/// One reply of the script, built step by step.
#[derive(Debug, Clone, Default)]
pub struct ScriptedTurn {
    steps: Vec<ScriptStep>,
    usage: TokenUsage,
    stop: Option<StopReason>,
}

#[derive(Debug, Clone)]
enum ScriptStep {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Call {
        id: String,
        name: String,
        json: String,
    },
    Pause(Duration),
    /// Waits until the request is canceled.
    Hang,
    Retrying(ModelError),
    Fail(ModelError),
}

impl ScriptedTurn {
    pub fn new() -> ScriptedTurn {
        ScriptedTurn::default()
    }

    /// A reply with only text.
    pub fn reply(text: impl Into<String>) -> ScriptedTurn {
        ScriptedTurn::new().text(text)
    }

    pub fn text(self, text: impl Into<String>) -> ScriptedTurn {
        self.step(ScriptStep::Text(text.into()))
    }

    pub fn thinking(self, text: impl Into<String>, signature: impl Into<String>) -> ScriptedTurn {
        self.step(ScriptStep::Thinking { text: text.into(), signature: signature.into() })
    }

    pub fn call(self, id: impl Into<String>, name: impl Into<String>, arguments: &Value) -> ScriptedTurn {
        self.raw_call(id, name, arguments.to_string())
    }

    /// A call with arguments as raw text, which may be invalid or incomplete.
    pub fn raw_call(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        json: impl Into<String>,
    ) -> ScriptedTurn {
        self.step(ScriptStep::Call { id: id.into(), name: name.into(), json: json.into() })
    }

    pub fn pause(self, duration: Duration) -> ScriptedTurn {
        self.step(ScriptStep::Pause(duration))
    }

    /// Waits until the request is canceled.
    pub fn hang(self) -> ScriptedTurn {
        self.step(ScriptStep::Hang)
    }

    pub fn retrying(self, reason: ModelError) -> ScriptedTurn {
        self.step(ScriptStep::Retrying(reason))
    }

    /// Ends the reply with an error.
    pub fn fail(self, failure: ModelError) -> ScriptedTurn {
        self.step(ScriptStep::Fail(failure))
    }

    pub fn usage(mut self, input: u64, output: u64) -> ScriptedTurn {
        self.usage = TokenUsage { input, output, ..TokenUsage::default() }.with_total();
        self
    }

    /// Sets the stop reason. By default it follows from the content.
    pub fn stop(mut self, stop: StopReason) -> ScriptedTurn {
        self.stop = Some(stop);
        self
    }

    fn step(mut self, step: ScriptStep) -> ScriptedTurn {
        self.steps.push(step);
        self
    }
}

/// A model that plays a script.
#[derive(Debug, Clone, Default)]
pub struct ScriptedModel {
    inner: Arc<Mutex<ScriptState>>,
}

#[derive(Debug, Default)]
struct ScriptState {
    turns: VecDeque<ScriptedTurn>,
    requests: Vec<Request>,
}

impl ScriptedModel {
    pub fn new(turns: impl IntoIterator<Item = ScriptedTurn>) -> ScriptedModel {
        let inner = ScriptState { turns: turns.into_iter().collect(), requests: Vec::new() };
        ScriptedModel { inner: Arc::new(Mutex::new(inner)) }
    }

    /// The model to use in requests.
    pub fn info() -> ModelInfo {
        ModelInfo::new("scripted", "scripted", Api::Scripted)
    }

    /// Adds a turn to the end of the script.
    pub fn push(&self, turn: ScriptedTurn) {
        self.lock().turns.push_back(turn);
    }

    /// The requests received, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    /// The number of turns that were not played yet.
    pub fn remaining_turns(&self) -> usize {
        self.lock().turns.len()
    }

    fn lock(&self) -> MutexGuard<'_, ScriptState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for ScriptedModel {
    fn stream(&self, request: Request, cancel: CancellationToken) -> DeltaStream {
        let mut inner = self.lock();
        let over = || {
            ScriptedTurn::new().fail(ModelError::BadRequest {
                provider: "scripted".to_owned(),
                status: 400,
                detail: "The script has no more turns.".to_owned(),
            })
        };
        let turn = inner.turns.pop_front().unwrap_or_else(over);
        let play = ScriptPlayer::new(turn, &request.model, cancel);
        inner.requests.push(request);
        Box::pin(stream::unfold(play, |mut play| async move { play.next().await.map(|delta| (delta, play)) }))
    }
}

/// A turn that is being played.
struct ScriptPlayer {
    events: VecDeque<PlayerEvent>,
    draft: ReplyDraft,
    stop: StopReason,
    cancel: CancellationToken,
    ended: bool,
}

enum PlayerEvent {
    Delta(Delta),
    Pause(Duration),
    Hang,
    Fail(ModelError),
}

impl ScriptPlayer {
    fn new(turn: ScriptedTurn, model: &ModelInfo, cancel: CancellationToken) -> ScriptPlayer {
        let mut events =
            VecDeque::from([PlayerEvent::Delta(Delta::Start { response_id: None, response_model: None })]);
        let mut block = 0;
        for step in turn.steps {
            match step {
                ScriptStep::Pause(duration) => events.push_back(PlayerEvent::Pause(duration)),
                ScriptStep::Hang => events.push_back(PlayerEvent::Hang),
                ScriptStep::Fail(failure) => events.push_back(PlayerEvent::Fail(failure)),
                ScriptStep::Retrying(reason) => {
                    events.push_front(PlayerEvent::Delta(Delta::Retrying {
                        attempt: 1,
                        max_attempts: 4,
                        delay: Duration::ZERO,
                        error: reason,
                        usage: TokenUsage::default(),
                    }));
                }
                content => {
                    events.extend(step_deltas(content, block).into_iter().map(PlayerEvent::Delta));
                    block += 1;
                }
            }
        }
        events.push_back(PlayerEvent::Delta(Delta::Usage(turn.usage)));
        let stop = turn.stop.unwrap_or(StopReason::Stop);
        ScriptPlayer { events, draft: ReplyDraft::new(model, 0), stop, cancel, ended: false }
    }

    async fn next(&mut self) -> Option<Delta> {
        loop {
            if self.ended {
                return None;
            }
            if self.cancel.is_cancelled() {
                return Some(self.end(Err(ModelError::Cancelled)));
            }
            match self.events.pop_front() {
                Some(PlayerEvent::Delta(delta)) => {
                    self.draft.apply(&delta);
                    return Some(delta);
                }
                Some(PlayerEvent::Fail(failure)) => return Some(self.end(Err(failure))),
                Some(PlayerEvent::Pause(duration)) => {
                    tokio::select! {
                        () = self.cancel.cancelled() => {}
                        () = tokio::time::sleep(duration) => {}
                    }
                }
                Some(PlayerEvent::Hang) => self.cancel.cancelled().await,
                None => return Some(self.end(Ok(self.stop))),
            }
        }
    }

    fn end(&mut self, result: Result<StopReason, ModelError>) -> Delta {
        self.ended = true;
        self.draft.clone().finish(result, None)
    }
}

fn step_deltas(step: ScriptStep, block: usize) -> Vec<Delta> {
    let mut out = Vec::new();
    match step {
        ScriptStep::Text(text) => {
            out.push(Delta::TextStart { block });
            out.extend(split_pieces(&text).map(|text| Delta::Text { block, text }));
            out.push(Delta::TextEnd { block, signature: None });
        }
        ScriptStep::Thinking { text, signature } => {
            out.push(Delta::ThinkingStart { block });
            out.extend(split_pieces(&text).map(|text| Delta::Thinking { block, text }));
            out.push(Delta::ThinkingEnd { block, signature: Some(signature), redacted: false });
        }
        ScriptStep::Call { id, name, json } => {
            out.push(Delta::ToolCallStart { block, id, name });
            out.extend(split_pieces(&json).map(|json| Delta::ToolCallArguments { block, json }));
            out.push(Delta::ToolCallEnd { block, signature: None });
        }
        ScriptStep::Pause(_) | ScriptStep::Hang | ScriptStep::Retrying(_) | ScriptStep::Fail(_) => {}
    }
    out
}

/// Splits text after each space, similar to the tokens of a model.
pub(crate) fn split_pieces(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split_inclusive(' ').map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use futures_util::StreamExt;
    use serde_json::json;

    async fn play(turn: ScriptedTurn, cancel: CancellationToken) -> Vec<Delta> {
        let model = ScriptedModel::new([turn]);
        let request = Request::new(Arc::new(ScriptedModel::info()), vec![Message::user("hi")]);
        model.stream(request, cancel).collect().await
    }

    #[tokio::test]
    async fn turn_produces_every_kind_of_delta_and_one_end() {
        let turn = ScriptedTurn::new()
            .thinking("hm", "sig")
            .text("I will look.")
            .call("c1", "ls", &json!({ "path": "." }))
            .usage(10, 5);
        let deltas = play(turn, CancellationToken::new()).await;
        assert_eq!(deltas.iter().filter(|delta| delta.is_end()).count(), 1);
        let Some(Delta::Done(message)) = deltas.last() else { panic!("{deltas:?}") };
        assert_eq!(
            (message.stop_reason, message.text().as_str(), message.usage.total_tokens),
            (StopReason::ToolUse, "I will look.", 15)
        );
        assert_eq!(message.calls_to_run().next().unwrap().arguments["path"], ".");
    }

    #[tokio::test]
    async fn records_requests_and_fails_after_the_last_turn() {
        let model = ScriptedModel::new([ScriptedTurn::reply("one")]);
        for text in ["a", "b"] {
            let request = Request::new(Arc::new(ScriptedModel::info()), vec![Message::user(text)]);
            let deltas: Vec<Delta> = model.stream(request, CancellationToken::new()).collect().await;
            assert!(deltas.last().unwrap().is_end());
        }
        assert_eq!(model.requests()[1].messages, [Message::user("b")]);
        assert_eq!(model.remaining_turns(), 0);
    }

    #[tokio::test]
    async fn hanging_turn_can_be_canceled() {
        let cancel = CancellationToken::new();
        let turn = ScriptedTurn::reply("half").hang();
        let later = cancel.clone();
        tokio::spawn(async move { later.cancel() });
        let deltas = play(turn, cancel).await;
        assert!(
            matches!(deltas.last(), Some(Delta::Failed(ModelError::Cancelled, message)) if message.stop_reason == StopReason::Aborted)
        );
    }
}
