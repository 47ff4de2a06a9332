//! Updates of sub-agent batches: a batch is stored as running, and later `entry_update`s record which of its tasks ended, and how
//! it ended.

use std::collections::{BTreeMap, BTreeSet};

use osier_store::{Lease, PreviewTexts, StoreError};
use osier_tree::entry::parse_entry;
use osier_tree::projection::preview::{Previews, updated_preview};
use osier_tree::projection::subagents::{
    BatchLiveness, SubagentProjection, open_batches, subagent_entries, subagent_projections, with_update,
};
use osier_tree::scan::RawJson;
use osier_tree::{EntryKind, Seq, SessionTree};
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::attach::message_with_call;
use crate::error::SessionError;
use crate::handle::Session;
use crate::state::SessionState;

/// What the latest update of a batch says.
#[derive(Debug, Default)]
struct BatchUpdate {
    status: String,
    /// The tasks that have ended.
    results: Vec<Value>,
}

impl Session {
    /// The one-line previews of all entries, from the store's cache if possible. Finished batches are shown as
    /// finished.
    pub async fn previews(&self, state: &SessionState) -> Result<PreviewTexts, SessionError> {
        let mut texts = self.store().previews(self.key(), state.version).await?;
        for (batch, update) in updated_batches(&state.tree) {
            let text = updated_preview(&texts.get(batch), &texts.get(update));
            texts.set_override(batch, text);
        }
        for batch in self.interrupted_batches(state).await? {
            let text = interrupted_preview(&texts.get(batch));
            texts.set_override(batch, text);
        }
        Ok(texts)
    }

    /// The previews of some entries. Reads their lines, and those of the calls and updates that they show.
    pub async fn previews_of(
        &self,
        state: &SessionState,
        seqs: &[Seq],
    ) -> Result<FxHashMap<Seq, String>, SessionError> {
        let tree = &state.tree;
        let mut updates = updated_batches(tree);
        updates.retain(|(batch, _)| seqs.contains(batch));
        let calls = seqs.iter().filter_map(|seq| message_with_call(tree, *seq));
        let shown = updates.iter().map(|(_, update)| *update).chain(calls);
        let needed: BTreeSet<Seq> = seqs.iter().copied().chain(shown).collect();
        let needed: Vec<Seq> = needed.into_iter().collect();
        let (mut previews, mut texts) = (Previews::new(None), FxHashMap::default());
        let add = |seq: Seq, line: &[u8]| -> Result<(), SessionError> {
            texts.insert(seq, parse_entry(line).map(|entry| previews.preview(&entry)).unwrap_or_default());
            Ok(())
        };
        self.for_each_line(state.version, &needed, add).await?;
        for (batch, update) in updates {
            if let (Some(text), Some(change)) = (texts.get(&batch), texts.get(&update)) {
                let text = updated_preview(text, change);
                texts.insert(batch, text);
            }
        }
        for batch in self.interrupted_batches(state).await? {
            if let Some(text) = texts.get_mut(&batch) {
                *text = interrupted_preview(text);
            }
        }
        Ok(texts)
    }

    /// Like [`Session::for_each_line`], but a batch of sub-agents has the status of its latest update, and its tasks that have
    /// ended have their results. One without an end that no turn works on is `interrupted`.
    pub async fn for_each_current_line<E: From<StoreError>>(
        &self,
        state: &SessionState,
        seqs: &[Seq],
        mut each: impl FnMut(Seq, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        // All heads are read to find the batches without an end.
        if seqs.iter().all(|seq| state.tree.head(*seq).kind != EntryKind::SubagentBatch) {
            return self.for_each_line(state.version, seqs, each).await;
        }
        let mut updates = self.batch_updates(state).await?;
        for batch in self.interrupted_batches(state).await? {
            updates.entry(batch).or_default().status = "interrupted".to_owned();
        }
        let current = |seq: Seq, line: &[u8]| match updates.get(&seq) {
            Some(update) => each(seq, &with_update(line, &update.status, &update.results)),
            None => each(seq, line),
        };
        self.for_each_line(state.version, seqs, current).await
    }

    /// The projections of all batches, by the entry that carries each.
    pub async fn subagent_projections(
        &self,
        state: &SessionState,
    ) -> Result<BTreeMap<Seq, SubagentProjection>, StoreError> {
        let seqs = subagent_entries(&state.tree);
        if seqs.is_empty() {
            return Ok(BTreeMap::new());
        }
        let interrupted = self.interrupted_batches(state).await?;
        let liveness = |batch: Seq| match interrupted.contains(&batch) {
            true => BatchLiveness::Idle,
            false => BatchLiveness::TurnRuns,
        };
        let mut lines: FxHashMap<Seq, Vec<u8>> = FxHashMap::default();
        self.for_each_line(state.version, &seqs, |seq, line| {
            lines.insert(seq, line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await?;
        Ok(subagent_projections(&state.tree, &lines, liveness))
    }

    /// The batches of calls without an end that no turn works on.
    async fn interrupted_batches(&self, state: &SessionState) -> Result<Vec<Seq>, StoreError> {
        let mut open = open_batches(&state.tree);
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let leases = self.store().leases(self.key()).await?;
        open.retain(|batch| !leases.iter().any(|lease| may_work_on(&state.tree, lease, *batch)));
        let mut interrupted = Vec::new();
        self.for_each_line(state.version, &open, |seq, line| {
            interrupted.extend(is_running_call(line).then_some(seq));
            Ok::<_, StoreError>(())
        })
        .await?;
        Ok(interrupted)
    }

    /// The latest update of each batch.
    async fn batch_updates(&self, state: &SessionState) -> Result<FxHashMap<Seq, BatchUpdate>, StoreError> {
        let updated: FxHashMap<Seq, Seq> =
            updated_batches(&state.tree).into_iter().map(|(batch, update)| (update, batch)).collect();
        let seqs: Vec<Seq> = updated.keys().copied().collect();
        let mut updates = FxHashMap::default();
        self.for_each_line(state.version, &seqs, |update, line| {
            updates.extend(batch_update(line).map(|read| (updated[&update], read)));
            Ok::<_, StoreError>(())
        })
        .await?;
        Ok(updates)
    }
}

/// Whether a turn may work on a batch: it started the batch, or it continues a path with it.
fn may_work_on(tree: &SessionTree, lease: &Lease, batch: Seq) -> bool {
    let Some(id) = lease.branch.as_ref().or(lease.entry.as_ref()) else { return false };
    // An entry that was not read yet may be anywhere.
    let Some(at) = tree.find(id) else { return true };
    let starts_above = lease.branch.is_some() && tree.heads().is_ancestor(at, Some(batch));
    starts_above || tree.heads().is_ancestor(batch, Some(at))
}

fn batch_update(line: &[u8]) -> Option<BatchUpdate> {
    let entry = parse_entry(line).ok()?;
    let data = entry.object().get("data")?;
    let results = data.get("payload").and_then(|payload| payload.get("results"));
    let results = results.and_then(|results| serde_json::from_slice(results.bytes()).ok());
    Some(BatchUpdate {
        status: data.get("status")?.text()?.into_owned(),
        results: results.unwrap_or_default(),
    })
}

fn interrupted_preview(text: &str) -> String {
    text.strip_suffix("running]").map_or_else(|| text.to_owned(), |tasks| format!("{tasks}interrupted]"))
}

/// Whether a batch is stored as running and belongs to a call. Another program's batch has no turn that could be idle.
fn is_running_call(batch: &[u8]) -> bool {
    let entry = parse_entry(batch).ok();
    let content = entry.as_ref().and_then(|entry| entry.object().get("content"));
    let text = |key| content.and_then(|content| content.get(key)).and_then(RawJson::text);
    text("status").as_deref() == Some("running") && text("toolCallId").is_some()
}

/// The updated batches, each with its latest update.
fn updated_batches(tree: &SessionTree) -> Vec<(Seq, Seq)> {
    let updates = tree.marks().updates();
    let batches = updates.into_iter().filter_map(|(id, update)| Some((tree.find(id)?, update)));
    batches.filter(|(batch, _)| tree.head(*batch).kind == EntryKind::SubagentBatch).collect()
}
