//! Updates of sub-agent batches: a batch is stored as running, and a later `entry_update` records how it ended.

use std::collections::{BTreeMap, BTreeSet};

use osier_store::{PreviewTexts, StoreError};
use osier_tree::entry::parse_entry;
use osier_tree::projection::json::with_status;
use osier_tree::projection::preview::{Previews, updated_preview};
use osier_tree::projection::subagents::{
    BatchLiveness, SubagentProjection, open_batches, subagent_entries, subagent_projections,
};
use osier_tree::scan::RawJson;
use osier_tree::{EntryKind, Seq, SessionTree};
use rustc_hash::FxHashMap;

use crate::attach::message_with_call;
use crate::error::SessionError;
use crate::handle::Session;
use crate::state::SessionState;

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
            if let Some(tasks) = texts.get(batch).strip_suffix("running]") {
                let text = format!("{tasks}interrupted]");
                texts.set_override(batch, text);
            }
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
        Ok(texts)
    }

    /// Like [`Session::for_each_line`], but a batch of sub-agents has the status of its latest update. One without an end
    /// that no turn works on is `interrupted`.
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
        let statuses = self.batch_statuses(state).await?;
        let interrupted = self.interrupted_batches(state).await?;
        let current = |seq: Seq, line: &[u8]| match statuses.get(&seq) {
            Some(status) => each(seq, &with_status(line, status)),
            None if interrupted.contains(&seq) => each(seq, &with_status(line, "interrupted")),
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
        let is_idle = !self.interrupted_batches(state).await?.is_empty();
        let liveness = if is_idle { BatchLiveness::Idle } else { BatchLiveness::TurnRuns };
        let mut lines: FxHashMap<Seq, Vec<u8>> = FxHashMap::default();
        self.for_each_line(state.version, &seqs, |seq, line| {
            lines.insert(seq, line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await?;
        Ok(subagent_projections(&state.tree, &lines, liveness))
    }

    /// The batches of calls without an end, if no turn runs in the session.
    async fn interrupted_batches(&self, state: &SessionState) -> Result<Vec<Seq>, StoreError> {
        let open = open_batches(&state.tree);
        if open.is_empty() || !self.store().leases(self.key()).await?.is_empty() {
            return Ok(Vec::new());
        }
        let mut interrupted = Vec::new();
        self.for_each_line(state.version, &open, |seq, line| {
            interrupted.extend(is_running_call(line).then_some(seq));
            Ok::<_, StoreError>(())
        })
        .await?;
        Ok(interrupted)
    }

    /// The status of each updated batch.
    async fn batch_statuses(&self, state: &SessionState) -> Result<FxHashMap<Seq, String>, StoreError> {
        let updated: FxHashMap<Seq, Seq> =
            updated_batches(&state.tree).into_iter().map(|(batch, update)| (update, batch)).collect();
        let seqs: Vec<Seq> = updated.keys().copied().collect();
        let mut statuses = FxHashMap::default();
        self.for_each_line(state.version, &seqs, |update, line| {
            let entry = parse_entry(line).ok();
            let data = entry.as_ref().and_then(|entry| entry.object().get("data"));
            if let Some(status) = data.and_then(|data| data.get("status")).and_then(RawJson::text) {
                statuses.insert(updated[&update], status.into_owned());
            }
            Ok::<_, StoreError>(())
        })
        .await?;
        Ok(statuses)
    }
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
