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

use crate::draft::Draft;
use crate::failure::Failure;
use crate::message::StopReason;
use crate::port::{Delta, Deltas, Model};
use crate::request::{Api, ModelInfo, Request};
use crate::usage::Usage;

/// One reply of the script, built step by step.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    steps: Vec<Step>,
    usage: Usage,
    stop: Option<StopReason>,
}

#[derive(Debug, Clone)]
enum Step {
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
    Retrying(Failure),
    Fault(Failure),
}

impl Turn {
    pub fn new() -> Turn {
        Turn::default()
    }

    /// A reply with only text.
    pub fn reply(text: impl Into<String>) -> Turn {
        Turn::new().text(text)
    }

    pub fn text(self, text: impl Into<String>) -> Turn {
        self.step(Step::Text(text.into()))
    }

    pub fn thinking(self, text: impl Into<String>, signature: impl Into<String>) -> Turn {
        self.step(Step::Thinking { text: text.into(), signature: signature.into() })
    }

    pub fn call(self, id: impl Into<String>, name: impl Into<String>, arguments: &Value) -> Turn {
        self.raw_call(id, name, arguments.to_string())
    }

    /// A call with arguments as raw text, which may be invalid or incomplete.
    pub fn raw_call(self, id: impl Into<String>, name: impl Into<String>, json: impl Into<String>) -> Turn {
        self.step(Step::Call { id: id.into(), name: name.into(), json: json.into() })
    }

    pub fn pause(self, duration: Duration) -> Turn {
        self.step(Step::Pause(duration))
    }

    /// Waits until the request is canceled.
    pub fn hang(self) -> Turn {
        self.step(Step::Hang)
    }

    pub fn retrying(self, why: Failure) -> Turn {
        self.step(Step::Retrying(why))
    }

    /// Ends the reply with an error.
    pub fn fail(self, failure: Failure) -> Turn {
        self.step(Step::Fault(failure))
    }

    pub fn usage(mut self, input: u64, output: u64) -> Turn {
        self.usage = Usage { input, output, ..Usage::default() }.totalled();
        self
    }

    /// Sets the stop reason. By default it follows from the content.
    pub fn stop(mut self, stop: StopReason) -> Turn {
        self.stop = Some(stop);
        self
    }

    fn step(mut self, step: Step) -> Turn {
        self.steps.push(step);
        self
    }
}

/// A model that plays a script.
#[derive(Debug, Clone, Default)]
pub struct Scripted {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    turns: VecDeque<Turn>,
    requests: Vec<Request>,
}

impl Scripted {
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Scripted {
        let inner = Inner { turns: turns.into_iter().collect(), requests: Vec::new() };
        Scripted { inner: Arc::new(Mutex::new(inner)) }
    }

    /// The model to use in requests.
    pub fn info() -> ModelInfo {
        ModelInfo::new("scripted", "scripted", Api::Scripted)
    }

    /// Adds a turn to the end of the script.
    pub fn push(&self, turn: Turn) {
        self.lock().turns.push_back(turn);
    }

    /// The requests received, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    /// The number of turns that were not played yet.
    pub fn left(&self) -> usize {
        self.lock().turns.len()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for Scripted {
    fn stream(&self, request: Request, cancel: CancellationToken) -> Deltas {
        let mut inner = self.lock();
        let over = || {
            Turn::new().fail(Failure::BadRequest {
                provider: "scripted".to_owned(),
                status: 400,
                said: "The script has no more turns.".to_owned(),
            })
        };
        let turn = inner.turns.pop_front().unwrap_or_else(over);
        let play = Play::new(turn, &request.model, cancel);
        inner.requests.push(request);
        Box::pin(stream::unfold(play, |mut play| async move { play.next().await.map(|delta| (delta, play)) }))
    }
}

/// A turn that is being played.
struct Play {
    beats: VecDeque<Beat>,
    draft: Draft,
    stop: StopReason,
    cancel: CancellationToken,
    ended: bool,
}

enum Beat {
    Delta(Delta),
    Pause(Duration),
    Hang,
    Fault(Failure),
}

impl Play {
    fn new(turn: Turn, model: &ModelInfo, cancel: CancellationToken) -> Play {
        let mut beats =
            VecDeque::from([Beat::Delta(Delta::Start { response_id: None, response_model: None })]);
        let mut block = 0;
        for step in turn.steps {
            match step {
                Step::Pause(duration) => beats.push_back(Beat::Pause(duration)),
                Step::Hang => beats.push_back(Beat::Hang),
                Step::Fault(failure) => beats.push_back(Beat::Fault(failure)),
                Step::Retrying(why) => {
                    beats.push_front(Beat::Delta(Delta::Retrying {
                        attempt: 1,
                        delay: Duration::ZERO,
                        why,
                        usage: Usage::default(),
                    }));
                }
                content => {
                    beats.extend(deltas(content, block).into_iter().map(Beat::Delta));
                    block += 1;
                }
            }
        }
        beats.push_back(Beat::Delta(Delta::Usage(turn.usage)));
        let stop = turn.stop.unwrap_or(StopReason::Stop);
        Play { beats, draft: Draft::new(model, 0), stop, cancel, ended: false }
    }

    async fn next(&mut self) -> Option<Delta> {
        loop {
            if self.ended {
                return None;
            }
            if self.cancel.is_cancelled() {
                return Some(self.end(Err(Failure::Cancelled)));
            }
            match self.beats.pop_front() {
                Some(Beat::Delta(delta)) => {
                    self.draft.apply(&delta);
                    return Some(delta);
                }
                Some(Beat::Fault(failure)) => return Some(self.end(Err(failure))),
                Some(Beat::Pause(duration)) => {
                    tokio::select! {
                        () = self.cancel.cancelled() => {}
                        () = tokio::time::sleep(duration) => {}
                    }
                }
                Some(Beat::Hang) => self.cancel.cancelled().await,
                None => return Some(self.end(Ok(self.stop))),
            }
        }
    }

    fn end(&mut self, ending: Result<StopReason, Failure>) -> Delta {
        self.ended = true;
        self.draft.clone().end(ending, None)
    }
}

fn deltas(step: Step, block: usize) -> Vec<Delta> {
    let mut out = Vec::new();
    match step {
        Step::Text(text) => {
            out.push(Delta::TextStart { block });
            out.extend(pieces(&text).map(|text| Delta::Text { block, text }));
            out.push(Delta::TextEnd { block, signature: None });
        }
        Step::Thinking { text, signature } => {
            out.push(Delta::ThinkingStart { block });
            out.extend(pieces(&text).map(|text| Delta::Thinking { block, text }));
            out.push(Delta::ThinkingEnd { block, signature: Some(signature), redacted: false });
        }
        Step::Call { id, name, json } => {
            out.push(Delta::ToolCallStart { block, id, name });
            out.extend(pieces(&json).map(|json| Delta::ToolCallArguments { block, json }));
            out.push(Delta::ToolCallEnd { block, signature: None });
        }
        Step::Pause(_) | Step::Hang | Step::Retrying(_) | Step::Fault(_) => {}
    }
    out
}

/// Splits text after each space, similar to the tokens of a model.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split_inclusive(' ').map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use futures_util::StreamExt;
    use serde_json::json;

    async fn play(turn: Turn, cancel: CancellationToken) -> Vec<Delta> {
        let model = Scripted::new([turn]);
        let request = Request::new(Arc::new(Scripted::info()), vec![Message::user("hi")]);
        model.stream(request, cancel).collect().await
    }

    #[tokio::test]
    async fn turn_produces_every_kind_of_delta_and_one_end() {
        let turn = Turn::new()
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
        let model = Scripted::new([Turn::reply("one")]);
        for text in ["a", "b"] {
            let request = Request::new(Arc::new(Scripted::info()), vec![Message::user(text)]);
            let deltas: Vec<Delta> = model.stream(request, CancellationToken::new()).collect().await;
            assert!(deltas.last().unwrap().is_end());
        }
        assert_eq!(model.requests()[1].messages, [Message::user("b")]);
        assert_eq!(model.left(), 0);
    }

    #[tokio::test]
    async fn hanging_turn_can_be_canceled() {
        let cancel = CancellationToken::new();
        let turn = Turn::reply("half").hang();
        let later = cancel.clone();
        tokio::spawn(async move { later.cancel() });
        let deltas = play(turn, cancel).await;
        assert!(
            matches!(deltas.last(), Some(Delta::Failed(Failure::Cancelled, message)) if message.stop_reason == StopReason::Aborted)
        );
    }
}
