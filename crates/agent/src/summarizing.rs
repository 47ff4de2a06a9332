//! Summaries written by a model: one request without tools. The result is a complete summary or an error with
//! the reason.

use std::sync::Arc;

use futures_util::StreamExt;
use osier_model::{
    AssistantMessage, Cache, CancellationToken, Delta, Draft, Message, ModelInfo, Request, StopReason, Usage,
};
use osier_session::{Commit, State};
use osier_tools::Redactor;
use osier_tree::asking::Asks;
use osier_tree::cutting::Limits;
use osier_tree::files::Files;
use osier_tree::scan::Raw;
use osier_tree::{PlanError, summary};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::live::Live;
use crate::workplace::Workplace;

/// Why a summary failed. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSummary {
    #[error("the summary was canceled")]
    Stopped,
    #[error("the summary reached the output limit; choose a model for summaries with a higher limit")]
    CutOff,
    #[error(
        "the model called a tool instead of writing a summary; try again, or choose another model for summaries"
    )]
    CalledTools,
    #[error("the model returned an empty summary; try again, or choose another model for summaries")]
    Blank,
    #[error("cannot write the summary: {0}")]
    Failed(String),
}

/// A summary and the extra fields of its entry.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) extra: Map<String, Value>,
}

/// Writes summaries and adds up their cost.
#[derive(Debug)]
pub(crate) struct Summarizer<'a> {
    work: &'a Workplace,
    model: Arc<ModelInfo>,
    cancel: &'a CancellationToken,
    usage: Usage,
    requests: u64,
}

/// Never request a shorter answer than this. If the window has less room, the server reports it.
const LEAST_ANSWER: u64 = 256;

impl Workplace {
    pub(crate) async fn summarizer<'a>(
        &'a self,
        cancel: &'a CancellationToken,
    ) -> Result<Summarizer<'a>, Error> {
        let model = match &self.parts.summary_model {
            Some(model) => model.clone(),
            None => self.choice().await?.model,
        };
        Ok(Summarizer { work: self, model, cancel, usage: Usage::default(), requests: 0 })
    }

    /// Keeps the cost of a failed request until [`Workplace::record_usage`] stores it.
    pub(crate) fn remember_usage(
        &self,
        model: &ModelInfo,
        usage: Usage,
        requests: u64,
        kind: &str,
        note: &str,
    ) {
        let mut entry = spent(model, usage, requests);
        if entry.is_empty() {
            return;
        }
        for (key, value) in [("type", "usage"), ("kind", kind), ("note", note)] {
            entry.insert(key.to_owned(), json!(value));
        }
        self.now().unrecorded_usage.push(Value::Object(entry));
    }

    /// Stores the cost of failed summaries and replies. Call this only when the session changes anyway, or nothing
    /// follows: a failure alone changes nothing, not even the leaf.
    pub(crate) async fn record_usage(&self) -> Result<(), Error> {
        loop {
            let Some(entry) = self.now().unrecorded_usage.first().map(Value::to_string) else {
                return Ok(());
            };
            let commit = Commit::new(move |tree, _| {
                let entry = Raw::parse(entry.as_bytes())
                    .map_err(|_| PlanError::NotAnEntry { why: "it is not JSON" })?;
                tree.plan_entry(None, entry)
            });
            self.cursor.commit(commit).await?;
            self.now().unrecorded_usage.remove(0);
        }
    }

    /// Supplies a computation with the lines it needs, until it needs no more.
    pub(crate) async fn answer_all(&self, state: &State, asks: &mut (dyn Asks + Send)) -> Result<(), Error> {
        loop {
            let wanted = asks.wants();
            if wanted.is_empty() {
                return Ok(());
            }
            let lines = self.lines(state, &wanted).await?;
            asks.give(&lines);
        }
    }
}

impl Summarizer<'_> {
    /// How much conversation fits into one request, in tokens.
    pub(crate) fn budget(&self) -> u64 {
        self.limits().summary_budget(None)
    }

    fn limits(&self) -> Limits {
        Limits::new(self.model.context_window, Some(self.model.max_output))
    }

    pub(crate) async fn write(&mut self, prompt: String) -> Result<String, Error> {
        self.try_to(prompt, false).await
    }

    /// Summarizes a long conversation part by part. Each request includes the summary so far.
    pub(crate) async fn write_parts(
        &mut self,
        parts: &[String],
        mut previous: Option<String>,
        ask: impl Fn(&str, Option<&str>) -> String,
    ) -> Result<Option<String>, Error> {
        for (at, part) in parts.iter().enumerate() {
            let is_intermediate = at + 1 < parts.len();
            previous = Some(self.try_to(ask(part, previous.as_deref()), is_intermediate).await?);
        }
        Ok(previous)
    }

    /// Sends one request. If it fails, the session does not change; the cost is kept until the next entry is
    /// stored.
    async fn try_to(&mut self, prompt: String, is_intermediate: bool) -> Result<String, Error> {
        let answer = self.ask(prompt, is_intermediate).await;
        if answer.is_err() {
            self.remember_cost();
        }
        answer
    }

    fn remember_cost(&mut self) {
        let (usage, requests) = (std::mem::take(&mut self.usage), std::mem::take(&mut self.requests));
        self.work.remember_usage(&self.model, usage, requests, "summary", "a summary that was not finished");
    }

    /// Sends one request. An answer that goes into the next request may use half of the room.
    async fn ask(&mut self, prompt: String, is_intermediate: bool) -> Result<String, Error> {
        if self.requests > 0 {
            // Separate the parts on screen.
            self.work.teller.tell(Live::SummaryText { text: "\n\n".to_owned() });
        }
        let max_tokens = self.limit(&prompt, is_intermediate);
        let mut request = Request::new(self.model.clone(), vec![Message::user(prompt)]);
        request.system = summary::SYSTEM.to_owned();
        request.cache = Cache::Off;
        request.max_tokens = max_tokens;
        let mut deltas = self.work.parts.model.stream(request, self.cancel.clone());
        let mut partial = Draft::new(&self.model, self.work.clock());
        let keys = self.work.parts.context.keys.clone();
        let mut redactor = Redactor::new(&keys);
        loop {
            let delta = deltas.next().await;
            let delta = delta.unwrap_or_else(|| partial.broken_off(self.cancel.is_cancelled()));
            if matches!(delta, Delta::Retrying { .. }) && partial.has_content() {
                // The retry starts from scratch.
                self.work.teller.tell(Live::SummaryText { text: "\n\n".to_owned() });
                redactor = Redactor::new(&keys);
            }
            partial.apply(&delta);
            match delta {
                Delta::Retrying { usage, .. } => {
                    self.usage += usage;
                    self.requests += u64::from(usage.total_tokens > 0);
                }
                Delta::Text { text, .. } => {
                    self.work.teller.tell(Live::SummaryText { text: redactor.pass_text(&text) });
                }
                Delta::Done(message) => {
                    self.usage += message.usage;
                    self.requests += 1;
                    self.work.teller.tell(Live::SummaryText { text: redactor.rest_text() });
                    return whole(&message).map(|text| keys.redact(text));
                }
                Delta::Failed(failure, message) => {
                    self.usage += message.usage;
                    self.requests += u64::from(message.usage.total_tokens > 0);
                    let stopped = self.cancel.is_cancelled();
                    let error =
                        if stopped { NoSummary::Stopped } else { NoSummary::Failed(failure.message()) };
                    return Err(error.into());
                }
                _ => {}
            }
        }
    }

    /// The answer limit, if the context window has less room than the model's output limit.
    fn limit(&self, prompt: &str, is_intermediate: bool) -> Option<u64> {
        let window = self.model.context_window;
        // Token estimates are inexact, so keep a margin.
        let room = window.saturating_sub(guess(prompt) + guess(summary::SYSTEM) + window / 32);
        let room = if is_intermediate { room / 2 } else { room };
        (room < self.model.max_output).then_some(room.max(LEAST_ANSWER))
    }

    /// The extra fields of a summary entry: files, cost and model.
    pub(crate) fn extra(self, files: &Files) -> Map<String, Value> {
        let mut extra = self.spent();
        extra.insert("details".to_owned(), files.details());
        extra
    }

    fn spent(&self) -> Map<String, Value> {
        spent(&self.model, self.usage, self.requests)
    }
}

/// Usage and model as entry fields; empty if the provider reported no usage.
fn spent(model: &ModelInfo, mut usage: Usage, requests: u64) -> Map<String, Value> {
    if usage.total_tokens == 0 {
        return Map::new();
    }
    if usage.cost.total == 0.0 {
        usage.cost = model.price.cost(&usage);
    }
    let mut usage = json!(usage);
    if requests > 1 {
        usage["requests"] = json!(requests);
    }
    let fields = [("usage", usage), ("provider", json!(model.provider)), ("model", json!(model.id))];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The text of a complete summary, or the reason it is unusable.
fn whole(message: &AssistantMessage) -> Result<String, Error> {
    let text = message.text();
    match message.stop_reason {
        StopReason::Length => Err(NoSummary::CutOff.into()),
        StopReason::ToolUse => Err(NoSummary::CalledTools.into()),
        _ if text.trim().is_empty() => Err(NoSummary::Blank.into()),
        _ => Ok(text),
    }
}

/// Estimates the token count of a text. Non-ASCII characters count as one token each.
fn guess(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count() - ascii;
    (ascii.div_ceil(4) + others) as u64
}

/// The extra fields of a summary that an extension wrote.
pub(crate) fn own_extra(details: Option<&Value>) -> Map<String, Value> {
    let mut extra = Map::from_iter([("fromHook".to_owned(), json!(true))]);
    if let Some(details) = details {
        extra.insert("details".to_owned(), details.clone());
    }
    extra
}
