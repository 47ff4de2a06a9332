//! Compaction: in the context, a summary replaces the older part of the path. Nothing is lost: the compaction
//! is one more entry, and moving before it restores the full context.

use std::sync::Arc;

use osier_model::{CancellationToken, ModelInfo};
use osier_session::{Commit, Outcome, State};
use osier_tree::cutting::{Cut, CutText, Limits};
use osier_tree::kind::flag;
use osier_tree::{Kind, Place, Role, SessionTree, Why, summary};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::gates::{BeforeCompact, CompactPreparation, OwnCompaction};
use crate::live::Live;
use crate::summarizing::{NoSummary, Summarizer, own_extra};
use crate::tail::last_reply;
use crate::workplace::Workplace;

/// Why a path is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Manual,
    /// The context is close to the model's limit.
    Threshold,
    /// The context exceeded the model's limit.
    Overflow,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Reason::Manual => "manual",
            Reason::Threshold => "threshold",
            Reason::Overflow => "overflow",
        }
    }
}

/// When to compact automatically and how much to keep, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacting {
    pub automatic: bool,
    pub reserve: Option<u64>,
    pub keep_recent: Option<u64>,
}

impl Default for Compacting {
    fn default() -> Compacting {
        Compacting { automatic: true, reserve: None, keep_recent: None }
    }
}

/// The result of a compaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Compacted {
    /// `None` if a gate refused the compaction.
    pub entry: Option<Arc<str>>,
    pub tokens_before: u64,
    pub first_kept_entry_id: String,
}

impl Workplace {
    pub(crate) fn limits(&self, model: &ModelInfo) -> Limits {
        let Compacting { reserve, keep_recent, .. } = self.parts.compacting;
        Limits { reserve, keep_recent, ..Limits::new(model.context_window, Some(model.max_output)) }
    }

    /// Whether to compact before the next model call. A path that was compacted recently cannot get much
    /// smaller, so compacting it again would only cost a summary per step.
    pub(crate) async fn is_full(&self) -> Result<bool, Error> {
        let (state, at) = self.here();
        let tree = &state.tree;
        let model = self.choice().await?.model;
        let limits = self.limits(&model);
        let replied = tree.heads().up(at).any(|seq| tree.head(seq).role == Role::Assistant);
        if !self.parts.compacting.automatic || !replied || is_fresh(tree, at, limits.keep_recent() / 2) {
            return Ok(false);
        }
        let mut weighing = tree.weighing(at);
        self.answer_all(&state, &mut weighing).await?;
        Ok(limits.should_compact(weighing.tokens()))
    }

    /// Compacts the path to `at`. If `at` is above the cursor, the entries below it stay on a branch.
    pub(crate) async fn compact(
        &self,
        state: &State,
        at: Place,
        reason: Reason,
        focus: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Compacted, Error> {
        let from = state.standing(self.cursor.id()).and_then(|standing| standing.place);
        let tree = &state.tree;
        let model = self.choice().await?.model;
        let mut cutting = tree.cutting(at, self.limits(&model).keep_recent());
        self.answer_all(state, &mut cutting).await?;
        let cut = cutting.finish(tree)?;
        let mut summarizer = self.summarizer(cancel).await?;
        let mut preparing = cut.preparing(tree, summarizer.budget());
        self.answer_all(state, &mut preparing).await?;
        let text = preparing.finish();
        let asked = preparation(tree, at, &cut, &text, reason, focus, &model);
        let answer = self.asked(self.parts.gates.before_compact(&asked, cancel), cancel).await;
        let refused = Compacted {
            entry: None,
            tokens_before: cut.tokens_before,
            first_kept_entry_id: asked.first_kept_entry_id.clone(),
        };
        let (made, mut extra) = match answer.ok_or(NoSummary::Stopped)? {
            BeforeCompact { cancel: true, .. } => return Ok(refused),
            BeforeCompact { compaction: Some(own), .. } => {
                let extra = own_extra(own.details.as_ref());
                (own, extra)
            }
            BeforeCompact { compaction: None, .. } => {
                self.teller.tell(Live::SummaryStarted { of: "compaction" });
                let summary = summarize(&mut summarizer, &text, focus).await?;
                let Compacted { tokens_before, first_kept_entry_id, .. } = refused.clone();
                let made = OwnCompaction { summary, first_kept_entry_id, tokens_before, details: None };
                (made, summarizer.extra(&text.files))
            }
        };
        if made.summary.trim().is_empty() {
            return Err(NoSummary::Blank.into());
        }
        let prompt = self.prompt_at(state, at).await?.whole(self.clock());
        extra.extend(prompt.map(|prompt| ("systemMessage".to_owned(), prompt)));
        self.store_compaction(state, from, at, made, extra).await.map(|made| made.unwrap_or(refused))
    }

    async fn store_compaction(
        &self,
        state: &State,
        from: Place,
        at: Place,
        made: OwnCompaction,
        extra: Map<String, Value>,
    ) -> Result<Option<Compacted>, Error> {
        let at = at.map(|seq| state.tree.id(seq).to_string());
        let compacted = Compacted {
            entry: None,
            tokens_before: made.tokens_before,
            first_kept_entry_id: made.first_kept_entry_id.clone(),
        };
        let commit = Commit::new(move |tree, _| {
            let at = at.as_deref().map(|id| tree.require(id)).transpose()?;
            tree.plan_compaction(at, &made.summary, &made.first_kept_entry_id, made.tokens_before, &extra)
        });
        match self.cursor.commit(commit.expecting(&state.tree, from)).await? {
            Outcome::Stored(stored) => Ok(Some(Compacted { entry: Some(stored.id), ..compacted })),
            Outcome::Nothing | Outcome::Cancelled => Ok(None),
        }
    }

    /// The position to compact: the cursor, or above the last reply if that reply failed without any content.
    /// The failed reply then stays on its own branch, and the model is called again below the compaction.
    pub(crate) fn worth_keeping(&self) -> (Arc<State>, Place) {
        let (state, at) = self.here();
        let Some(reply) = last_reply(&state.tree, at) else { return (state, at) };
        let head = state.tree.head(reply);
        let failed = matches!(head.why, Why::Error | Why::Aborted);
        let is_empty = !head.has(flag::HAS_TEXT) && head.calls == 0;
        let skip = failed && is_empty && state.tree.same_place(at, Some(reply));
        let place = if skip { head.parent } else { at };
        (state, place)
    }
}

/// The position before a compaction (`None` means the last one on the path), where the context includes
/// everything that the compaction hides.
pub(crate) fn before_compaction(tree: &SessionTree, at: Place, entry: Option<&str>) -> Result<Place, Error> {
    let compaction = match entry {
        Some(id) => tree.require_shown(id)?,
        None => at.and_then(|seq| tree.head(seq).compaction).ok_or(Error::NoCompaction)?,
    };
    let head = tree.head(compaction);
    match head.kind {
        Kind::Compaction => Ok(head.parent),
        _ => Err(Error::NotACompaction { id: tree.id(compaction).to_string() }),
    }
}

/// Whether fewer than `tokens` were added since the last compaction, estimated from line lengths.
fn is_fresh(tree: &SessionTree, at: Place, tokens: u64) -> bool {
    let Some(compaction) = at.and_then(|seq| tree.head(seq).compaction) else { return false };
    let since = tree.heads().up(at).take_while(|seq| *seq != compaction);
    let messages = since.filter(|seq| tree.head(*seq).kind == Kind::Message);
    messages.map(|seq| u64::from(tree.head(seq).len)).sum::<u64>() / 4 < tokens
}

async fn summarize(
    summarizer: &mut Summarizer<'_>,
    text: &CutText,
    focus: Option<&str>,
) -> Result<String, Error> {
    let ask = |part: &str, previous: Option<&str>| summary::ask_history(part, previous, focus);
    let history = summarizer.write_parts(&text.history, text.previous.clone(), ask).await?;
    let ask = |part: &str, previous: Option<&str>| summary::ask_prefix(part, previous, focus);
    let prefix = summarizer.write_parts(&text.prefix, None, ask).await?;
    Ok(summary::finish_compaction(history.as_deref(), prefix.as_deref(), &text.files))
}

fn preparation(
    tree: &SessionTree,
    at: Place,
    cut: &Cut,
    text: &CutText,
    reason: Reason,
    focus: Option<&str>,
    model: &ModelInfo,
) -> CompactPreparation {
    let id = |seq: osier_tree::Seq| tree.id(seq).to_string();
    let ids = |items: &[osier_tree::walk::Item]| items.iter().map(|item| id(item.seq)).collect::<Vec<_>>();
    let path = tree.path(at);
    let compactions = path.iter().rev().filter(|seq| tree.head(**seq).kind == Kind::Compaction);
    CompactPreparation {
        reason: reason.name(),
        first_kept_entry_id: id(cut.first_kept),
        entries_to_summarize: [ids(&cut.history), ids(&cut.prefix)].concat(),
        turn_prefix: ids(&cut.prefix),
        tokens_before: cut.tokens_before,
        previous_summary: text.previous.clone(),
        previous_compactions: compactions.map(|seq| id(*seq)).collect(),
        branch_entries: path.iter().map(|seq| id(*seq)).collect(),
        custom_instructions: focus.map(str::to_owned),
        model: model.full_name(),
    }
}
