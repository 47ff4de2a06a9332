//! Compaction: in the context, a summary replaces the older part of the path. Nothing is lost: the compaction
//! is one more entry, and moving before it restores the full context.

use std::sync::Arc;

use osier_model::{CancellationToken, ModelInfo};
use osier_protocol::{ClientEvent, CompactionReply, SummarySubject};
use osier_session::{Commit, CommitOutcome, SessionState};
use osier_tree::compaction_cut::{ContextLimits, Cut, CutText};
use osier_tree::kind::flag;
use osier_tree::{EntryKind, EntryReason, MessageRole, Place, SessionTree, summary};
use serde_json::{Map, Value};

use crate::context::AgentContext;
use crate::error::AgentError;
use crate::hooks::{CompactionDecision, CompactionPreparation, ExtensionCompaction, HookEvent};
use crate::summarizer::{Summarizer, SummaryError, extension_fields};
use crate::tail::last_reply;
use crate::turn::error_chain;

/// Why a path is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionReason {
    Manual,
    /// The context is close to the model's limit.
    Threshold,
    /// The context exceeded the model's limit.
    Overflow,
}

impl CompactionReason {
    pub fn name(self) -> &'static str {
        match self {
            CompactionReason::Manual => "manual",
            CompactionReason::Threshold => "threshold",
            CompactionReason::Overflow => "overflow",
        }
    }

    /// Whether a failed model call is repeated afterward.
    fn will_retry(self) -> bool {
        self == CompactionReason::Overflow
    }
}

/// When to compact automatically and how much to keep, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionConfig {
    pub automatic: bool,
    pub reserve: Option<u64>,
    pub keep_recent: Option<u64>,
}

impl Default for CompactionConfig {
    fn default() -> CompactionConfig {
        CompactionConfig { automatic: true, reserve: None, keep_recent: None }
    }
}

impl AgentContext {
    pub(crate) fn context_limits(&self, model: &ModelInfo) -> ContextLimits {
        let CompactionConfig { reserve, keep_recent, .. } = self.config.compaction;
        ContextLimits {
            reserve,
            keep_recent,
            ..ContextLimits::new(model.context_window, Some(model.max_output))
        }
    }

    /// Whether to compact before the next model call. A path that was compacted recently cannot get much
    /// smaller, so compacting it again would only cost a summary per step.
    pub(crate) async fn needs_compaction(&self) -> Result<bool, AgentError> {
        let (state, at) = self.position();
        let tree = &state.tree;
        let model = self.model_choice().await?.model;
        let limits = self.context_limits(&model);
        let replied = tree.heads().ancestors(at).any(|seq| tree.head(seq).role == MessageRole::Assistant);
        if !self.config.compaction.automatic
            || !replied
            || was_compacted_recently(tree, at, limits.keep_recent() / 2)
        {
            return Ok(false);
        }
        let mut weighing = tree.token_counter(at);
        self.supply_lines(&state, &mut weighing).await?;
        Ok(limits.should_compact(weighing.tokens()))
    }

    /// Compacts the path to `at`. If `at` is above the cursor, the entries below it stay on a branch.
    pub(crate) async fn compact(
        &self,
        state: &SessionState,
        at: Place,
        reason: CompactionReason,
        focus: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<CompactionReply, AgentError> {
        let mut from_hook = false;
        let compacted = self.run_compaction(state, at, reason, focus, cancel, &mut from_hook).await;
        match &compacted {
            // Nobody asked for it.
            Err(AgentError::NothingToCompact(_)) if reason == CompactionReason::Threshold => {}
            Err(error) => {
                let aborted = matches!(error, AgentError::Summary(SummaryError::Canceled));
                let (reason, will_retry) = (reason.name(), reason.will_retry());
                let error = error_chain(error);
                self.observe(|| HookEvent::CompactionFailed {
                    error,
                    aborted,
                    from_hook,
                    reason,
                    will_retry,
                })
                .await;
            }
            Ok(_) => {}
        }
        compacted
    }

    async fn run_compaction(
        &self,
        state: &SessionState,
        at: Place,
        reason: CompactionReason,
        focus: Option<&str>,
        cancel: &CancellationToken,
        from_hook: &mut bool,
    ) -> Result<CompactionReply, AgentError> {
        let from = state.cursor_state(self.cursor.id()).and_then(|cursor_state| cursor_state.position);
        let tree = &state.tree;
        let model = self.model_choice().await?.model;
        let mut cutting = tree.cut_finder(at, self.context_limits(&model).keep_recent());
        self.supply_lines(state, &mut cutting).await?;
        let cut = cutting.finish(tree)?;
        let mut summarizer = self.summarizer(cancel).await?;
        let mut preparing = cut.text_collector(tree, summarizer.input_budget());
        self.supply_lines(state, &mut preparing).await?;
        let text = preparing.finish();
        let preparation = prepare_gate_input(tree, at, &cut, &text, reason, focus, &model);
        let answer = self.ask_before_compaction(&preparation, cancel).await;
        let refused = CompactionReply {
            compressed: false,
            summary: String::new(),
            first_kept_entry_id: preparation.first_kept_entry_id.as_str().into(),
            tokens_before: cut.tokens_before,
            details: None,
            entry: None,
        };
        *from_hook = answer.as_ref().is_some_and(|answer| answer.compaction.is_some());
        let from_hook = *from_hook;
        let (compaction, mut extra) = match answer.ok_or(SummaryError::Canceled)? {
            CompactionDecision { cancel: true, .. } => return Ok(refused),
            CompactionDecision { compaction: Some(own), .. } => {
                let extra = extension_fields(own.details.as_ref());
                (own, extra)
            }
            CompactionDecision { compaction: None, .. } => {
                let _summary = self.live.end_summary_on_drop();
                self.live.send(ClientEvent::SummaryStarted { of: SummarySubject::Compaction });
                let summary = write_summary(&mut summarizer, &text, focus).await?;
                let (first_kept_entry_id, tokens_before) =
                    (preparation.first_kept_entry_id, cut.tokens_before);
                let compaction =
                    ExtensionCompaction { summary, first_kept_entry_id, tokens_before, details: None };
                (compaction, summarizer.entry_fields(&text.files))
            }
        };
        if compaction.summary.trim().is_empty() {
            return Err(SummaryError::Empty.into());
        }
        let prompt = self.system_prompt_at(state, at).await?.full_message(self.timestamp());
        extra.extend(prompt.map(|prompt| ("systemMessage".to_owned(), prompt)));
        let compaction = self.store_compaction(state, from, at, compaction, extra).await?.unwrap_or(refused);
        if let Some(entry) = compaction.entry.clone() {
            tracing::info!(
                reason = reason.name(),
                tokens_before = compaction.tokens_before,
                from_hook,
                "compacted"
            );
            let (reason, will_retry) = (reason.name(), reason.will_retry());
            self.observe(|| HookEvent::Compacted { compaction_entry: entry, from_hook, reason, will_retry })
                .await;
        }
        Ok(compaction)
    }

    async fn store_compaction(
        &self,
        state: &SessionState,
        from: Place,
        at: Place,
        compaction: ExtensionCompaction,
        extra: Map<String, Value>,
    ) -> Result<Option<CompactionReply>, AgentError> {
        let at = at.map(|seq| state.tree.id(seq).to_string());
        let compacted = CompactionReply {
            compressed: true,
            summary: compaction.summary.clone(),
            first_kept_entry_id: compaction.first_kept_entry_id.as_str().into(),
            tokens_before: compaction.tokens_before,
            details: extra.get("details").cloned(),
            entry: None,
        };
        let commit = Commit::new(move |tree, _| {
            let at = at.as_deref().map(|id| tree.require(id)).transpose()?;
            tree.plan_compaction(
                at,
                &compaction.summary,
                &compaction.first_kept_entry_id,
                compaction.tokens_before,
                &extra,
            )
        });
        match self.cursor.commit(commit.expect_at(&state.tree, from)).await? {
            CommitOutcome::Stored(stored) => {
                Ok(Some(CompactionReply { entry: Some(stored.id), ..compacted }))
            }
            CommitOutcome::Nothing | CommitOutcome::Cancelled => Ok(None),
        }
    }

    /// The position to compact: the cursor, or above the last reply if that reply failed without any content.
    /// The failed reply then stays on its own branch, and the model is called again below the compaction.
    pub(crate) fn compaction_position(&self) -> (Arc<SessionState>, Place) {
        let (state, at) = self.position();
        let Some(reply) = last_reply(&state.tree, at) else { return (state, at) };
        let head = state.tree.head(reply);
        let failed = matches!(head.reason, EntryReason::Error | EntryReason::Aborted);
        let is_empty = !head.has_flag(flag::HAS_TEXT) && head.calls == 0;
        let skip = failed && is_empty && state.tree.same_place(at, Some(reply));
        let position = if skip { head.parent } else { at };
        (state, position)
    }
}

/// The position before a compaction (`None` means the last one on the path), where the context includes
/// everything that the compaction hides.
pub(crate) fn before_compaction(
    tree: &SessionTree,
    at: Place,
    entry: Option<&str>,
) -> Result<Place, AgentError> {
    let compaction = match entry {
        Some(id) => tree.require_visible(id)?,
        None => at.and_then(|seq| tree.head(seq).compaction).ok_or(AgentError::NoCompaction)?,
    };
    let head = tree.head(compaction);
    match head.kind {
        EntryKind::Compaction => Ok(head.parent),
        _ => Err(AgentError::NotACompaction { id: tree.id(compaction).to_string() }),
    }
}

/// Whether fewer than `tokens` were added since the last compaction, estimated from line lengths.
fn was_compacted_recently(tree: &SessionTree, at: Place, tokens: u64) -> bool {
    let Some(compaction) = at.and_then(|seq| tree.head(seq).compaction) else { return false };
    let since = tree.heads().ancestors(at).take_while(|seq| *seq != compaction);
    let messages = since.filter(|seq| tree.head(*seq).kind == EntryKind::Message);
    messages.map(|seq| u64::from(tree.head(seq).len)).sum::<u64>() / 4 < tokens
}

async fn write_summary(
    summarizer: &mut Summarizer<'_>,
    text: &CutText,
    focus: Option<&str>,
) -> Result<String, AgentError> {
    let ask = |part: &str, previous: Option<&str>| summary::history_prompt(part, previous, focus);
    let history = summarizer.summarize_parts(&text.history, text.previous_summary.clone(), ask).await?;
    let ask = |part: &str, previous: Option<&str>| summary::turn_prefix_prompt(part, previous, focus);
    let prefix = summarizer.summarize_parts(&text.turn_prefix, None, ask).await?;
    Ok(summary::stored_compaction_summary(history.as_deref(), prefix.as_deref(), &text.files))
}

fn prepare_gate_input(
    tree: &SessionTree,
    at: Place,
    cut: &Cut,
    text: &CutText,
    reason: CompactionReason,
    focus: Option<&str>,
    model: &ModelInfo,
) -> CompactionPreparation {
    let id = |seq: osier_tree::Seq| tree.id(seq).to_string();
    let ids =
        |items: &[osier_tree::walk::ContextItem]| items.iter().map(|item| id(item.seq)).collect::<Vec<_>>();
    let path = tree.path(at);
    let compactions = path.iter().rev().filter(|seq| tree.head(**seq).kind == EntryKind::Compaction);
    CompactionPreparation {
        reason: reason.name(),
        will_retry: reason.will_retry(),
        first_kept_entry_id: id(cut.first_kept),
        entries_to_summarize: [ids(&cut.history), ids(&cut.turn_prefix)].concat(),
        turn_prefix: ids(&cut.turn_prefix),
        tokens_before: cut.tokens_before,
        previous_summary: text.previous_summary.clone(),
        previous_compactions: compactions.map(|seq| id(*seq)).collect(),
        branch_entries: path.iter().map(|seq| id(*seq)).collect(),
        custom_instructions: focus.map(str::to_owned),
        model: model.full_name(),
    }
}
