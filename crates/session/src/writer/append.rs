//! The last three steps of a change: append, apply, announce.

use std::time::{Duration, Instant};

use osier_store::{Lease, StoreError};
use osier_tree::entry::{Entry, parse_entry};
use osier_tree::{DraftParent, EntryKind, EntryLine, Place, PlanError, Seq};

use super::SessionWriter;
use crate::commit::{PlanView, StoredEntry};
use crate::cursor_state::CursorId;
use crate::env::Durability;
use crate::error::SessionError;
use crate::event::SessionEvent;
use crate::writer_message::{AppendJob, AppendResult};

/// The maximum number of consecutive conflicts without new entries. A store that reports more is broken.
const EMPTY_CONFLICTS: usize = 3;

/// How long an append is retried while other processes append first.
const MAX_CONTENTION: Duration = Duration::from_secs(30);

impl SessionWriter {
    /// Appends the entry of a job. If another process appended first, reads its entries and tries again. So each
    /// retry means that another process made progress.
    pub(super) async fn append(&mut self, job: AppendJob) -> Result<AppendResult, SessionError> {
        let mut deletion = None;
        let answer = self.append_leased(job, &mut deletion).await;
        if let Some(lease) = deletion {
            self.store.release_lease(&lease).await;
        }
        answer
    }

    /// `deletion` is the lease of a branch to delete. It is held until the last attempt ends.
    async fn append_leased(
        &mut self,
        mut job: AppendJob,
        deletion: &mut Option<Lease>,
    ) -> Result<AppendResult, SessionError> {
        let (mut empty_conflicts, begin) = (0, Instant::now());
        loop {
            if let Some(seq) = self.already_stored(&job).await? {
                return Ok(AppendResult::Stored(self.claim(&job, seq).await?));
            }
            if let Some(answer) = self.revalidate_plan(&mut job)? {
                return Ok(answer);
            }
            let line = self.render_line(&mut job)?;
            let entry = parse_entry(&line)
                .map_err(|_| PlanError::NotAnEntry { reason: "it has no `type` or no `id`" })?;
            self.check_own_turns(&job, &entry)?;
            self.check_leases(&job, &entry).await?;
            let before = self.version;
            if deletion.is_none() {
                *deletion = self.acquire_deletion_lease(&entry).await?;
            }
            match self.store.append(&self.key, before, std::slice::from_ref(&line)).await {
                Ok(version) => {
                    // A file of an old version is replaced before the first append, but keeps its entries.
                    if version.generation != self.version.generation {
                        self.earlier_generation = Some(self.version.generation);
                    }
                    self.version.generation = version.generation;
                    if version.entries == self.tree.len() + 1 {
                        return self.apply(&job, &line, &entry).await.map(AppendResult::Stored);
                    }
                    // A program without locks wrote at the same time, and its lines may be before this one.
                    return self.find_stored(&job).await;
                }
                Err(StoreError::Conflict { .. }) => {
                    tracing::debug!("another process appended first; trying again");
                    self.read_appended().await?;
                }
                Err(StoreError::Replaced) => self.reload().await?,
                Err(error) => return self.recover_from_failure(&job, error).await,
            }
            empty_conflicts = if self.version == before { empty_conflicts + 1 } else { 0 };
            if empty_conflicts == EMPTY_CONFLICTS || begin.elapsed() > MAX_CONTENTION {
                tracing::warn!(empty_conflicts, "giving up an append: others are always first");
                return Err(SessionError::Contended);
            }
        }
    }

    /// The entry was written among others. Reads all of them.
    async fn find_stored(&mut self, job: &AppendJob) -> Result<AppendResult, SessionError> {
        self.read_appended().await?;
        let seq = self.already_stored(job).await?.ok_or(SessionError::Store(StoreError::Replaced))?;
        let stored = self.claim(job, seq).await?;
        self.mark_unsynced(stored).await.map(AppendResult::Stored)
    }

    /// The stored entry of the job, if its id exists with the same content.
    async fn already_stored(&self, job: &AppendJob) -> Result<Option<Seq>, SessionError> {
        let Some(id) = job.id.as_ref().or(job.provided.id.as_ref()) else { return Ok(None) };
        let Some(seq) = self.tree.find(id) else { return Ok(None) };
        let stored = self.read_line(seq).await?;
        let same = parse_entry(&stored).is_ok_and(|entry| {
            let time = entry.time.unwrap_or_default();
            let under_it = match job.draft().parent {
                DraftParent::At(position) if job.provided.parent.is_some() => {
                    self.tree.head(seq).parent == position
                }
                _ => true,
            };
            under_it
                && job.provided.line(
                    job.draft(),
                    job.altered_draft.is_some(),
                    id,
                    entry.parent.as_deref(),
                    time,
                ) == stored
        });
        match same {
            true => Ok(Some(seq)),
            false if job.provided.id_required => Err(SessionError::EntryConflict { id: id.to_string() }),
            false => Ok(None),
        }
    }

    /// Checks that the plan is still valid, and plans again if necessary. `Some` ends the job.
    fn revalidate_plan(&self, job: &mut AppendJob) -> Result<Option<AppendResult>, SessionError> {
        let (at, cursor) = match job.cursor {
            None => (self.tree.opening_place(), None),
            Some(cursor) => {
                let cursor_state = self.cursors.get(cursor).ok_or(SessionError::Closed)?;
                (cursor_state.position, Some(cursor_state))
            }
        };
        self.check_expected(job, at)?;
        if job.planned_for == (self.version, at) {
            return Ok(None);
        }
        let Some(planned) = (job.plan)(PlanView { tree: &self.tree, at, cursor })? else {
            return Ok(Some(AppendResult::Nothing));
        };
        let same = planned == job.planned && job.planned_for.0.generation == self.version.generation;
        if !same && job.has_gate {
            return Ok(Some(AppendResult::PlanAgain));
        }
        job.planned = planned;
        job.planned_for = (self.version, at);
        Ok(None)
    }

    fn check_expected(&self, job: &AppendJob, at: Place) -> Result<(), SessionError> {
        let Some(expected) = &job.expected_place else { return Ok(()) };
        let position = expected.as_deref().and_then(|id| self.tree.find(id));
        let known = position.is_some() == expected.is_some();
        match known && self.tree.same_place(position, at) {
            true => Ok(()),
            false => Err(SessionError::LeafChanged { now: self.id_at(at) }),
        }
    }

    /// Refuses to move a busy cursor or to delete the branch of a running turn.
    fn check_own_turns(&self, job: &AppendJob, entry: &Entry<'_>) -> Result<(), SessionError> {
        let deleted = match entry.kind {
            EntryKind::DeleteBranch => entry.target.as_deref().and_then(|target| self.tree.find(target)),
            _ => None,
        };
        for (id, cursor_state) in self.cursors.all().iter().filter(|(_, cursor_state)| cursor_state.busy) {
            let moved = entry.kind == EntryKind::Leaf && job.cursor == Some(*id);
            if moved
                || deleted.is_some_and(|first| self.tree.heads().is_ancestor(first, cursor_state.position))
            {
                return Err(SessionError::Busy { at: self.id_at(cursor_state.position) });
            }
        }
        Ok(())
    }

    fn render_line(&self, job: &mut AppendJob) -> Result<Vec<u8>, SessionError> {
        let wanted = job.id.take().or_else(|| job.provided.id.clone());
        // If the id is used by another entry, this one gets a new id.
        let id = wanted.filter(|id| self.tree.find(id).is_none()).unwrap_or_else(|| self.new_entry_id());
        let time = *job.time.get_or_insert_with(|| self.env.clock.now());
        let parent = match job.draft().parent {
            DraftParent::CurrentLeaf => self.tree.leaf(),
            DraftParent::At(position) => position,
        };
        if let Some(unknown) = parent.filter(|seq| seq.index() >= self.tree.len()) {
            return Err(SessionError::ParentNotFound { id: format!("{unknown:?}") });
        }
        let parent = self.id_at(parent);
        let line = job.provided.line(job.draft(), job.altered_draft.is_some(), &id, parent.as_deref(), time);
        job.id = Some(id);
        Ok(line)
    }

    /// Applies a stored line: folds, publishes and announces it.
    async fn apply(
        &mut self,
        job: &AppendJob,
        line: &[u8],
        entry: &Entry<'_>,
    ) -> Result<StoredEntry, SessionError> {
        let cursor = self.advancing_cursor(job, entry.kind);
        let seq = self.fold(entry, cursor);
        tracing::debug!(seq = seq.index(), kind = entry.kind.name(), bytes = line.len(), "appended");
        let draft_id = job.provided.id.clone().filter(|id| self.drafts.end(id));
        let stored = self.stored_entry(seq, line.into(), false);
        let moved = self.cursors.settle(&self.tree);
        self.publish();
        self.announce([SessionEvent::Committed {
            seq,
            generation: self.version.generation,
            id: stored.id.clone(),
            draft_id,
            foreign: false,
            cursor,
            line: stored.line.clone(),
        }]);
        self.announce(moved);
        self.mark_unsynced(stored).await
    }

    /// Marks the new entry as unsynced, and syncs it if configured.
    async fn mark_unsynced(&mut self, stored: StoredEntry) -> Result<StoredEntry, SessionError> {
        self.unsynced = true;
        if self.env.durability == Durability::Always {
            let not_durable = |source| SessionError::NotDurable { id: stored.id.to_string(), source };
            self.sync(true).await.map_err(not_durable)?;
        }
        Ok(stored)
    }

    /// The cursor that advances to the entry. Without an explicit cursor it is the main one, unless that is busy.
    /// Marks move no cursor.
    fn advancing_cursor(&self, job: &AppendJob, kind: EntryKind) -> Option<CursorId> {
        let idle = |id: &CursorId| self.cursors.get(*id).is_some_and(|cursor_state| !cursor_state.busy);
        let main = Some(CursorId::MAIN).filter(|id| !kind.is_mark() && idle(id));
        job.cursor.or(main)
    }

    /// Adds a stored entry to the tree and updates the cursors.
    pub(super) fn fold(&mut self, entry: &Entry<'_>, cursor: Option<CursorId>) -> Seq {
        // The offset is not needed: lines are read from the store by sequence number.
        let seq = self.tree.append(entry, 0, u32::try_from(entry.line.len()).unwrap_or(u32::MAX));
        self.version.entries = self.tree.len();
        self.cursors.apply_entry(&self.tree, seq, cursor);
        seq
    }

    /// A write can fail after it reached the disk. If the entry is in the log, the append succeeded.
    async fn recover_from_failure(
        &mut self,
        job: &AppendJob,
        error: StoreError,
    ) -> Result<AppendResult, SessionError> {
        tracing::warn!(%error, "an append failed; checking whether it was stored");
        self.find_stored(job).await.map_err(|_| error.into())
    }

    /// Assigns an entry to the job that was stored before and read as foreign.
    async fn claim(&mut self, job: &AppendJob, seq: Seq) -> Result<StoredEntry, SessionError> {
        let line = self.read_line(seq).await?;
        if let Some(cursor) = job.cursor {
            self.cursors.claim(&self.tree, seq, cursor);
            self.publish();
        }
        if let Some(id) = &job.provided.id {
            self.drop_draft(id);
        }
        Ok(self.stored_entry(seq, line.into(), true))
    }

    fn stored_entry(&self, seq: Seq, line: EntryLine, existed: bool) -> StoredEntry {
        StoredEntry { seq, id: self.tree.id(seq).as_str().into(), line, existed, version: self.version }
    }
}
