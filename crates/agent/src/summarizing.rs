//! Asking a model for a summary: one question, no tools, an answer that is whole or an error that says why not.

use std::sync::Arc;

use futures_util::StreamExt;
use osier_model::{Cache, CancellationToken, Delta, Message, ModelInfo, Request, StopReason, Usage};
use osier_session::State;
use osier_tree::asking::Asks;
use osier_tree::cutting::Limits;
use osier_tree::files::Files;
use osier_tree::summary;
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

/// Who writes summaries, and what they cost so far.
#[derive(Debug)]
pub(crate) struct Summarizer<'a> {
    work: &'a Workplace,
    pub(crate) model: Arc<ModelInfo>,
    cancel: &'a CancellationToken,
    usage: Usage,
}

impl Workplace {
    pub(crate) async fn summarizer<'a>(
        &'a self,
        cancel: &'a CancellationToken,
    ) -> Result<Summarizer<'a>, Error> {
        let model = match &self.parts.summary_model {
            Some(model) => model.clone(),
            None => self.choice().await?.model,
        };
        Ok(Summarizer { work: self, model, cancel, usage: Usage::default() })
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
        let mut request = Request::new(self.model.clone(), vec![Message::user(asked)]);
        request.system = summary::SYSTEM.to_owned();
        request.cache = Cache::Off;
        let mut deltas = self.work.parts.model.stream(request, self.cancel.clone());
        while let Some(delta) = deltas.next().await {
            match delta {
                Delta::Text { text, .. } => self.work.teller.tell(Live::SummaryText { text }),
                Delta::Done(message) => {
                    self.usage += message.usage;
                    let text = message.text();
                    return match message.stop_reason {
                        StopReason::Length => Err(NoSummary::CutOff.into()),
                        StopReason::ToolUse => Err(NoSummary::CalledTools.into()),
                        _ if text.trim().is_empty() => Err(NoSummary::Blank.into()),
                        _ => Ok(text),
                    };
                }
                Delta::Failed(..) if self.cancel.is_cancelled() => return Err(NoSummary::Stopped.into()),
                Delta::Failed(failure, _) => return Err(NoSummary::Failed(failure.message()).into()),
                _ => {}
            }
        }
        Err(NoSummary::Stopped.into())
    }

    /// The parts of a long conversation one after the other, each brought into the summary of those before it.
    pub(crate) async fn write_parts(
        &mut self,
        parts: &[String],
        mut previous: Option<String>,
        ask: impl Fn(&str, Option<&str>) -> String,
    ) -> Result<Option<String>, Error> {
        for part in parts {
            previous = Some(self.write(ask(part, previous.as_deref())).await?);
        }
        Ok(previous)
    }

    /// What is stored beside a summary: the files, what it cost, and which model wrote it.
    pub(crate) fn extra(self, files: &Files) -> Map<String, Value> {
        let mut extra = Map::from_iter([("details".to_owned(), files.details())]);
        let mut usage = self.usage;
        if usage.cost.total == 0.0 {
            usage.cost = self.model.price.cost(&usage);
        }
        if usage.total_tokens > 0 {
            extra.insert("usage".to_owned(), json!(usage));
            extra.insert("provider".to_owned(), json!(self.model.provider));
            extra.insert("model".to_owned(), json!(self.model.id));
        }
        extra
    }
}

/// What is stored beside a summary that an extension wrote.
pub(crate) fn own_extra(details: Option<&Value>) -> Map<String, Value> {
    let mut extra = Map::from_iter([("fromHook".to_owned(), json!(true))]);
    if let Some(details) = details {
        extra.insert("details".to_owned(), details.clone());
    }
    extra
}
