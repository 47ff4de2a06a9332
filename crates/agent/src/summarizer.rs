//! Summaries written by a model: one request without tools. The result is a complete summary or an error with
//! the reason.

use std::sync::Arc;

use futures_util::StreamExt;
use osier_model::{
    Api, AssistantMessage, CacheRetention, CancellationToken, Delta, Message, ModelInfo, ReplyDraft, Request,
    StopReason, TokenUsage,
};
use osier_protocol::ClientEvent;
use osier_session::{Commit, SessionState};
use osier_tools::Redactor;
use osier_tree::compaction_cut::ContextLimits;
use osier_tree::files::TouchedFiles;
use osier_tree::line_consumer::LineConsumer;
use osier_tree::scan::RawJson;
use osier_tree::{PlanError, summary};
use serde_json::{Map, Value, json};

use crate::context::AgentContext;
use crate::error::AgentError;
use crate::hooks::RequestPurpose;
use crate::worker::Worker;

/// Why a summary failed. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    #[error("the summary was canceled")]
    Canceled,
    #[error("the summary reached the output limit; choose a model for summaries with a higher limit")]
    OutputLimit,
    #[error(
        "the model called a tool instead of writing a summary; try again, or choose another model for summaries"
    )]
    CalledTools,
    #[error("the model returned an empty summary; try again, or choose another model for summaries")]
    Empty,
    #[error("cannot write the summary: {0}")]
    Failed(String),
}

/// A summary and the extra fields of its entry.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct WrittenSummary {
    pub(crate) text: String,
    pub(crate) extra: Map<String, Value>,
}

/// Writes summaries and adds up their cost.
#[derive(Debug)]
pub(crate) struct Summarizer<'a> {
    agent: &'a AgentContext,
    model: Arc<ModelInfo>,
    cancel: &'a CancellationToken,
    system: &'a str,
    usage: TokenUsage,
    requests: u64,
}

/// Never request a shorter answer than this. If the window has less room, the server reports it.
const MIN_ANSWER_TOKENS: u64 = 256;

impl AgentContext {
    pub(crate) async fn summarizer<'a>(
        &'a self,
        cancel: &'a CancellationToken,
    ) -> Result<Summarizer<'a>, AgentError> {
        let model = match &self.config.summary_model {
            Some(model) => model.clone(),
            None => self.model_choice().await?.model,
        };
        let (system, usage) = (summary::SYSTEM_PROMPT, TokenUsage::default());
        Ok(Summarizer { agent: self, model, cancel, system, usage, requests: 0 })
    }

    /// Asks the model that writes summaries something else. Returns its answer and its full name; the cost is stored as usage
    /// of this kind.
    pub(crate) async fn ask_model(
        &self,
        system: &str,
        prompt: String,
        kind: &str,
        cancel: &CancellationToken,
    ) -> Result<(String, String), AgentError> {
        let mut summarizer = self.summarizer(cancel).await?;
        summarizer.system = system;
        let answer = summarizer.request_summary(prompt, false).await;
        let Summarizer { model, usage, requests, .. } = summarizer;
        self.remember_usage(&model, usage, requests, kind, "");
        self.store_unrecorded_usage().await?;
        Ok((answer?, model.full_name()))
    }

    /// Keeps the cost of a failed request until [`AgentContext::store_unrecorded_usage`] stores it.
    pub(crate) fn remember_usage(
        &self,
        model: &ModelInfo,
        usage: TokenUsage,
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
        self.state().unrecorded_usage.push(Value::Object(entry));
    }

    /// Stores the cost of failed summaries and replies. Call this only when the session changes anyway, or nothing
    /// follows: a failure alone changes nothing, not even the leaf.
    pub(crate) async fn store_unrecorded_usage(&self) -> Result<(), AgentError> {
        loop {
            let Some(entry) = self.state().unrecorded_usage.first().map(Value::to_string) else {
                return Ok(());
            };
            let commit = Commit::new(move |tree, _| {
                let entry = RawJson::parse(entry.as_bytes())
                    .map_err(|_| PlanError::NotAnEntry { reason: "it is not JSON" })?;
                tree.plan_entry(None, entry)
            });
            self.cursor.commit(commit).await?;
            self.state().unrecorded_usage.remove(0);
        }
    }

    /// Supplies a computation with the lines it needs, until it needs no more.
    pub(crate) async fn supply_lines(
        &self,
        state: &SessionState,
        asks: &mut (dyn LineConsumer + Send),
    ) -> Result<(), AgentError> {
        loop {
            let wanted = asks.needed_lines();
            if wanted.is_empty() {
                return Ok(());
            }
            let lines = self.read_lines(state, &wanted).await?;
            asks.feed(&lines);
        }
    }
}

impl Worker {
    /// How the model that writes summaries is reached.
    pub async fn summary_api(&self) -> Result<Api, AgentError> {
        Ok(self.agent.summarizer(&CancellationToken::new()).await?.model.api)
    }

    /// Asks the model that writes summaries something else, without the conversation. Returns its answer and its full name.
    pub async fn ask_model(
        &self,
        system: &str,
        prompt: String,
        kind: &str,
    ) -> Result<(String, String), AgentError> {
        self.agent.ask_model(system, prompt, kind, &CancellationToken::new()).await
    }
}

impl Summarizer<'_> {
    /// How much conversation fits into one request, in tokens.
    pub(crate) fn input_budget(&self) -> u64 {
        self.limits().summary_budget(None)
    }

    fn limits(&self) -> ContextLimits {
        ContextLimits::new(self.model.context_window, Some(self.model.max_output))
    }

    pub(crate) async fn summarize(&mut self, prompt: String) -> Result<String, AgentError> {
        self.request_or_keep_cost(prompt, false).await
    }

    /// Summarizes a long conversation part by part. Each request includes the summary so far.
    pub(crate) async fn summarize_parts(
        &mut self,
        parts: &[String],
        mut previous: Option<String>,
        ask: impl Fn(&str, Option<&str>) -> String,
    ) -> Result<Option<String>, AgentError> {
        for (at, part) in parts.iter().enumerate() {
            let is_intermediate = at + 1 < parts.len();
            previous =
                Some(self.request_or_keep_cost(ask(part, previous.as_deref()), is_intermediate).await?);
        }
        Ok(previous)
    }

    /// Sends one request. If it fails, the session does not change; the cost is kept until the next entry is
    /// stored.
    async fn request_or_keep_cost(
        &mut self,
        prompt: String,
        is_intermediate: bool,
    ) -> Result<String, AgentError> {
        let answer = self.request_summary(prompt, is_intermediate).await;
        if answer.is_err() {
            self.keep_cost();
        }
        answer
    }

    fn keep_cost(&mut self) {
        let (usage, requests) = (std::mem::take(&mut self.usage), std::mem::take(&mut self.requests));
        self.agent.remember_usage(&self.model, usage, requests, "summary", "a summary that was not finished");
    }

    /// Sends one request. An answer that goes into the next request may use half of the room.
    async fn request_summary(&mut self, prompt: String, is_intermediate: bool) -> Result<String, AgentError> {
        if self.requests > 0 {
            // Separate the parts on screen.
            self.agent.live.send(ClientEvent::SummaryText { text: "\n\n".to_owned() });
        }
        let max_tokens = self.max_answer_tokens(&prompt, is_intermediate);
        let mut request = Request::new(self.model.clone(), vec![Message::user(prompt)]);
        request.system = self.system.to_owned();
        request.cache = CacheRetention::Off;
        request.max_tokens = max_tokens;
        let purpose = RequestPurpose::Summary;
        let request = self.agent.ask_before_request(request, purpose, self.cancel).await;
        let request = request.ok_or(SummaryError::Canceled)?;
        let mut deltas = self.agent.config.model.stream(request, self.cancel.clone());
        let mut reply = ReplyDraft::new(&self.model, self.agent.timestamp());
        let keys = self.agent.config.tool_context.secrets.clone();
        let mut redactor = Redactor::new(&keys);
        loop {
            let delta = deltas.next().await;
            let delta = delta.unwrap_or_else(|| reply.end_without_final_delta(self.cancel.is_cancelled()));
            if matches!(delta, Delta::Retrying { .. }) && reply.has_content() {
                // The retry starts from scratch.
                self.agent.live.send(ClientEvent::SummaryText { text: "\n\n".to_owned() });
                redactor = Redactor::new(&keys);
            }
            reply.apply(&delta);
            match delta {
                Delta::Retrying { usage, .. } => {
                    self.usage += usage;
                    self.requests += u64::from(usage.total_tokens > 0);
                }
                Delta::Text { text, .. } => {
                    self.agent.live.send(ClientEvent::SummaryText { text: redactor.push_text(&text) });
                }
                Delta::Done(message) => {
                    self.usage += message.usage;
                    self.requests += 1;
                    self.agent.live.send(ClientEvent::SummaryText { text: redactor.finish_text() });
                    self.agent.observe_response(&self.model.full_name(), purpose, message.usage, None).await;
                    return summary_text(&message).map(|text| keys.redact(text));
                }
                Delta::Failed(failure, message) => {
                    self.usage += message.usage;
                    self.requests += u64::from(message.usage.total_tokens > 0);
                    let (name, reason) = (self.model.full_name(), Some(failure.message()));
                    self.agent.observe_response(&name, purpose, message.usage, reason).await;
                    let stopped = self.cancel.is_cancelled();
                    let error = if stopped {
                        SummaryError::Canceled
                    } else {
                        SummaryError::Failed(failure.message())
                    };
                    return Err(error.into());
                }
                _ => {}
            }
        }
    }

    /// The answer limit, if the context window has less room than the model's output limit.
    fn max_answer_tokens(&self, prompt: &str, is_intermediate: bool) -> Option<u64> {
        let window = self.model.context_window;
        // Token estimates are inexact, so keep a margin.
        let available =
            window.saturating_sub(estimate_tokens(prompt) + estimate_tokens(self.system) + window / 32);
        let available = if is_intermediate { available / 2 } else { available };
        (available < self.model.max_output).then_some(available.max(MIN_ANSWER_TOKENS))
    }

    /// The extra fields of a summary entry: files, cost and model.
    pub(crate) fn entry_fields(self, files: &TouchedFiles) -> Map<String, Value> {
        let mut extra = self.usage_fields();
        extra.insert("details".to_owned(), files.details());
        extra
    }

    fn usage_fields(&self) -> Map<String, Value> {
        spent(&self.model, self.usage, self.requests)
    }
}

/// Usage and model as entry fields; empty if the provider reported no usage.
fn spent(model: &ModelInfo, mut usage: TokenUsage, requests: u64) -> Map<String, Value> {
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
fn summary_text(message: &AssistantMessage) -> Result<String, AgentError> {
    let text = message.text();
    match message.stop_reason {
        StopReason::Length => Err(SummaryError::OutputLimit.into()),
        StopReason::ToolUse => Err(SummaryError::CalledTools.into()),
        _ if text.trim().is_empty() => Err(SummaryError::Empty.into()),
        _ => Ok(text),
    }
}

/// Estimates the token count of a text. Non-ASCII characters count as one token each.
fn estimate_tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count() - ascii;
    (ascii.div_ceil(4) + others) as u64
}

/// The extra fields of a summary that an extension wrote.
pub(crate) fn extension_fields(details: Option<&Value>) -> Map<String, Value> {
    let mut extra = Map::from_iter([("fromHook".to_owned(), json!(true))]);
    if let Some(details) = details {
        extra.insert("details".to_owned(), details.clone());
    }
    extra
}
