//! Compaction: a summary takes the place of the older part of the path in the context. Nothing is lost: it is one more entry,
//! and a move before it brings everything back.

use std::sync::Arc;

use osier_model::{CancellationToken, ModelInfo};
use osier_session::{Commit, Outcome, State};
use osier_tree::cutting::{Cut, CutText, Limits};
use osier_tree::{Kind, Place, SessionTree, summary};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::gates::{CompactPreparation, OwnCompaction};
use crate::live::Live;
use crate::summarizing::own_extra;
use crate::workplace::Workplace;

/// Why a path is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Manual,
    /// The context is nearly too long for the model.
    Threshold,
    /// It was too long.
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

/// When paths are compacted by themselves, and how much is kept. In tokens.
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

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Compacted {
    /// None if a gate refused.
    pub entry: Option<Arc<str>>,
    pub tokens_before: u64,
    pub first_kept_entry_id: String,
}

impl Workplace {
    pub(crate) fn limits(&self, model: &ModelInfo) -> Limits {
        let Compacting { reserve, keep_recent, .. } = self.parts.compacting;
        Limits { reserve, keep_recent, ..Limits::new(model.context_window, Some(model.max_output)) }
    }

    /// Whether the context must be compacted before the model is asked again. A path that was compacted since the last reply is
    /// as small as it gets.
    pub(crate) async fn is_full(&self) -> Result<bool, Error> {
        let (state, at) = self.here();
        let spoke = |seq: &osier_tree::Seq| state.tree.head(*seq).role == osier_tree::Role::Assistant;
        let reply = state.tree.heads().up(at).find(spoke);
        let compaction = at.and_then(|seq| state.tree.head(seq).compaction);
        if !self.parts.compacting.automatic || compaction > reply || reply.is_none() {
            return Ok(false);
        }
        let mut weighing = state.tree.weighing(at);
        self.answer_all(&state, &mut weighing).await?;
        let model = self.choice().await?.model;
        Ok(self.limits(&model).should_compact(weighing.tokens()))
    }

    /// Compacts the path to `at`, which need not be where the cursor stands: what hangs below stays on a branch.
    pub(crate) async fn compact(
        &self,
        at: Place,
        reason: Reason,
        focus: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Compacted, Error> {
        let (state, from) = self.here();
        let tree = &state.tree;
        let mut summarizer = self.summarizer(cancel).await?;
        let model = self.choice().await?.model;
        let mut cutting = tree.cutting(at, self.limits(&model).keep_recent())?;
        self.answer_all(&state, &mut cutting).await?;
        let cut = cutting.finish(tree)?;
        let mut preparing = cut.preparing(tree, summarizer.budget());
        self.answer_all(&state, &mut preparing).await?;
        let text = preparing.finish();
        let asked = preparation(tree, at, &cut, &text, reason, focus, &model);
        let answer = self.parts.gates.before_compact(&asked, cancel).await;
        let refused = Compacted {
            entry: None,
            tokens_before: cut.tokens_before,
            first_kept_entry_id: asked.first_kept_entry_id.clone(),
        };
        if answer.cancel {
            return Ok(refused);
        }
        let (made, extra) = match answer.compaction {
            Some(own) => {
                let extra = own_extra(own.details.as_ref());
                (own, extra)
            }
            None => {
                self.teller.tell(Live::SummaryStarted { of: "compaction" });
                let ask = |part: &str, previous: Option<&str>| summary::ask_history(part, previous, focus);
                let history = summarizer.write_parts(&text.history, text.previous.clone(), ask).await?;
                let ask = |part: &str, previous: Option<&str>| summary::ask_prefix(part, previous, focus);
                let prefix = summarizer.write_parts(&text.prefix, None, ask).await?;
                let summary = summary::finish_compaction(history.as_deref(), prefix.as_deref(), &text.files);
                let made = OwnCompaction {
                    summary,
                    first_kept_entry_id: asked.first_kept_entry_id,
                    tokens_before: cut.tokens_before,
                    details: None,
                };
                (made, summarizer.extra(&text.files))
            }
        };
        self.store_compaction(&state, from, at, made, extra).await.map(|made| made.unwrap_or(refused))
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
        match self.cursor.commit(commit.expecting(from)).await? {
            Outcome::Stored(stored) => Ok(Some(Compacted { entry: Some(stored.id), ..compacted })),
            Outcome::Nothing | Outcome::Cancelled => Ok(None),
        }
    }
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
