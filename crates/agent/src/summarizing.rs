//! Asking a model for a summary: one question, no tools, an answer that is whole or an error that says why not.

use std::sync::Arc;

use futures_util::StreamExt;
use osier_model::{
    AssistantMessage, Cache, CancellationToken, Delta, Draft, Message, ModelInfo, Request, StopReason, Usage,
};
use osier_session::{Commit, State};
use osier_tree::asking::Asks;
use osier_tree::cutting::Limits;
use osier_tree::files::Files;
use osier_tree::scan::Raw;
use osier_tree::{PlanError, summary};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::live::Live;
use crate::workplace::Workplace;

/// Why there is no summary. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSummary {
    #[error("the summary was stopped")]
    Stopped,
    #[error(
        "the summary was cut off at the limit of output; choose a model for summaries that may write more"
    )]
    CutOff,
    #[error(
        "the model called a tool instead of writing a summary; try again, or choose another model for summaries"
    )]
    CalledTools,
    #[error("the model wrote nothing; try again, or choose another model for summaries")]
    Blank,
    #[error("the model could not write the summary: {0}")]
    Failed(String),
}

/// A summary, and what is stored beside it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) extra: Map<String, Value>,
}

/// Who writes summaries, and what they cost so far.
#[derive(Debug)]
pub(crate) struct Summarizer<'a> {
    work: &'a Workplace,
    model: Arc<ModelInfo>,
    cancel: &'a CancellationToken,
    usage: Usage,
    requests: u64,
}

/// An answer shorter than this is no summary. A server that has not even so much room says so.
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

    /// Stores what failed summaries cost. Called where the session changes anyway, so that a failure by itself changes
    /// nothing, not even the leaf.
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

    /// Gives work that wants to see lines what it wants.
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
    /// How much conversation can be told at once, in tokens.
    pub(crate) fn budget(&self) -> u64 {
        self.limits().summary_budget(None)
    }

    fn limits(&self) -> Limits {
        Limits::new(self.model.context_window, Some(self.model.max_output))
    }

    pub(crate) async fn write(&mut self, asked: String) -> Result<String, Error> {
        self.try_to(asked, false).await
    }

    /// The parts of a long conversation one after the other, each brought into the summary of those before it.
    pub(crate) async fn write_parts(
        &mut self,
        parts: &[String],
        mut previous: Option<String>,
        ask: impl Fn(&str, Option<&str>) -> String,
    ) -> Result<Option<String>, Error> {
        for (at, part) in parts.iter().enumerate() {
            let is_carried_on = at + 1 < parts.len();
            previous = Some(self.try_to(ask(part, previous.as_deref()), is_carried_on).await?);
        }
        Ok(previous)
    }

    /// One question. If it fails, the session is not changed: what it cost is remembered until the next entry.
    async fn try_to(&mut self, asked: String, is_carried_on: bool) -> Result<String, Error> {
        let answered = self.ask(asked, is_carried_on).await;
        if answered.is_err() {
            self.remember_cost();
        }
        answered
    }

    fn remember_cost(&mut self) {
        let mut entry = self.spent();
        if entry.is_empty() {
            return;
        }
        entry.insert("type".to_owned(), json!("usage"));
        entry.insert("kind".to_owned(), json!("summary"));
        entry.insert("note".to_owned(), json!("a summary that was not finished"));
        (self.usage, self.requests) = (Usage::default(), 0);
        self.work.now().unrecorded_usage.push(Value::Object(entry));
    }

    /// One question. An answer that will be part of the next one gets half of the room.
    async fn ask(&mut self, asked: String, is_carried_on: bool) -> Result<String, Error> {
        if self.requests > 0 {
            // Whoever watches sees where the next part begins.
            self.work.teller.tell(Live::SummaryText { text: "\n\n".to_owned() });
        }
        let max_tokens = self.limit(&asked, is_carried_on);
        let mut request = Request::new(self.model.clone(), vec![Message::user(asked)]);
        request.system = summary::SYSTEM.to_owned();
        request.cache = Cache::Off;
        request.max_tokens = max_tokens;
        let mut deltas = self.work.parts.model.stream(request, self.cancel.clone());
        let mut said = Draft::new(&self.model, self.work.clock());
        loop {
            let delta = deltas.next().await;
            let delta = delta.unwrap_or_else(|| said.broken_off(self.cancel.is_cancelled()));
            if matches!(delta, Delta::Retrying { .. }) && said.has_content() {
                // It starts again from nothing.
                self.work.teller.tell(Live::SummaryText { text: "\n\n".to_owned() });
            }
            said.apply(&delta);
            match delta {
                Delta::Text { text, .. } => self.work.teller.tell(Live::SummaryText { text }),
                Delta::Done(message) => {
                    self.usage += message.usage;
                    self.requests += 1;
                    return whole(&message);
                }
                Delta::Failed(failure, message) => {
                    self.usage += message.usage;
                    self.requests += u64::from(message.usage.total_tokens > 0);
                    let stopped = self.cancel.is_cancelled();
                    let why = if stopped { NoSummary::Stopped } else { NoSummary::Failed(failure.message()) };
                    return Err(why.into());
                }
                _ => {}
            }
        }
    }

    /// How long the answer may be, where the window has less room than the model may fill.
    fn limit(&self, asked: &str, is_carried_on: bool) -> Option<u64> {
        let window = self.model.context_window;
        // Guesses are not exact, so a little stays free.
        let room = window.saturating_sub(guess(asked) + guess(summary::SYSTEM) + window / 32);
        let room = if is_carried_on { room / 2 } else { room };
        (room < self.model.max_output).then_some(room.max(LEAST_ANSWER))
    }

    /// What is stored beside a summary: the files, what it cost, and which model wrote it.
    pub(crate) fn extra(self, files: &Files) -> Map<String, Value> {
        let mut extra = self.spent();
        extra.insert("details".to_owned(), files.details());
        extra
    }

    /// What was spent and by whom, in the fields of an entry; nothing if the model told nothing.
    fn spent(&self) -> Map<String, Value> {
        let mut usage = self.usage;
        if usage.total_tokens == 0 {
            return Map::new();
        }
        if usage.cost.total == 0.0 {
            usage.cost = self.model.price.cost(&usage);
        }
        let mut usage = json!(usage);
        if self.requests > 1 {
            usage["requests"] = json!(self.requests);
        }
        let fields =
            [("usage", usage), ("provider", json!(self.model.provider)), ("model", json!(self.model.id))];
        fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// An answer that is a summary, or why it is none.
fn whole(message: &AssistantMessage) -> Result<String, Error> {
    let text = message.text();
    match message.stop_reason {
        StopReason::Length => Err(NoSummary::CutOff.into()),
        StopReason::ToolUse => Err(NoSummary::CalledTools.into()),
        _ if text.trim().is_empty() => Err(NoSummary::Blank.into()),
        _ => Ok(text),
    }
}

/// About how many tokens a text takes. Scripts other than Latin take more of them.
fn guess(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count() - ascii;
    (ascii.div_ceil(4) + others) as u64
}

/// What is stored beside a summary that an extension wrote.
pub(crate) fn own_extra(details: Option<&Value>) -> Map<String, Value> {
    let mut extra = Map::from_iter([("fromHook".to_owned(), json!(true))]);
    if let Some(details) = details {
        extra.insert("details".to_owned(), details.clone());
    }
    extra
}
