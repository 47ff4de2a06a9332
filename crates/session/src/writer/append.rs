//! The last three steps of a change: append, apply, announce.

use std::sync::Arc;
use std::time::{Duration, Instant};

use osier_store::{Lease, StoreError};
use osier_tree::entry::{Entry, read_entry};
use osier_tree::history::History;
use osier_tree::{Kind, Place, PlanError, Seq, Under};

use super::Writer;
use crate::commit::{Stored, View};
use crate::env::Durability;
use crate::error::Error;
use crate::event::Event;
use crate::mail::{Answer, Job};
use crate::standing::CursorId;

/// The maximum number of consecutive conflicts without new entries. A store that reports more is broken.
const EMPTY_CONFLICTS: usize = 3;

/// How long an append is retried while other processes append first.
const MAX_CONTENTION: Duration = Duration::from_secs(30);

impl Writer {
    /// Appends the entry of a job. If another process appended first, reads its entries and tries again. So each
    /// retry means that another process made progress.
    pub(super) async fn append(&mut self, job: Job) -> Result<Answer, Error> {
        let mut deletion = None;
        let answer = self.append_leased(job, &mut deletion).await;
        if let Some(lease) = deletion {
            self.store.release(&lease).await;
        }
        answer
    }

    /// `deletion` is the lease of a branch to delete. It is held until the last attempt ends.
    async fn append_leased(&mut self, mut job: Job, deletion: &mut Option<Lease>) -> Result<Answer, Error> {
        let (mut empty_conflicts, begin) = (0, Instant::now());
        loop {
            if let Some(seq) = self.already_stored(&job).await? {
                return Ok(Answer::Stored(self.claim(&job, seq).await?));
            }
            if let Some(answer) = self.look_again(&mut job)? {
                return Ok(answer);
            }
            let line = self.render(&mut job)?;
            let entry = read_entry(&line)
                .map_err(|_| PlanError::NotAnEntry { why: "it has no `type` or no `id`" })?;
            self.check_turns(&job, &entry)?;
            self.before_append(&job, &entry).await?;
            let before = self.version;
            if deletion.is_none() {
                *deletion = self.lease_deletion(&entry).await?;
            }
            match self.store.append(&self.key, before, std::slice::from_ref(&line)).await {
                Ok(version) => {
                    // A file of an old version is replaced before the first append, but keeps its entries.
                    self.version.generation = version.generation;
                    if version.entries == self.tree.len() + 1 {
                        return self.apply(&job, &line, &entry).await.map(Answer::Stored);
                    }
                    // A program without locks wrote at the same time, and its lines may be before this one.
                    return self.find_again(&job).await;
                }
                Err(StoreError::Conflict { .. }) => self.read_on().await?,
                Err(StoreError::Replaced) => self.read_anew().await?,
                Err(error) => return self.after_failure(&job, error).await,
            }
            empty_conflicts = if self.version == before { empty_conflicts + 1 } else { 0 };
            if empty_conflicts == EMPTY_CONFLICTS || begin.elapsed() > MAX_CONTENTION {
                return Err(Error::Contended);
            }
        }
    }

    /// The entry was written among others. Reads all of them.
    async fn find_again(&mut self, job: &Job) -> Result<Answer, Error> {
        self.read_on().await?;
        let seq = self.already_stored(job).await?.ok_or(Error::Store(StoreError::Replaced))?;
        let stored = self.claim(job, seq).await?;
        self.written(stored).await.map(Answer::Stored)
    }

    /// The stored entry of the job, if its id exists with the same content.
    async fn already_stored(&self, job: &Job) -> Result<Option<Seq>, Error> {
        let Some(id) = job.id.as_ref().or(job.given.id.as_ref()) else { return Ok(None) };
        let Some(seq) = self.tree.find(id) else { return Ok(None) };
        let stored = self.line_of(seq).await?;
        let same = read_entry(&stored).is_ok_and(|entry| {
            let time = entry.time.unwrap_or_default();
            let under_it = match job.draft().under {
                Under::Place(place) if job.given.parent.is_some() => self.tree.head(seq).parent == place,
                _ => true,
            };
            under_it
                && job.given.line(job.draft(), job.gated.is_some(), id, entry.parent.as_deref(), time)
                    == stored
        });
        match same {
            true => Ok(Some(seq)),
            false if job.given.insists => Err(Error::EntryConflict { id: id.to_string() }),
            false => Ok(None),
        }
    }

    /// Checks that the plan is still valid, and plans again if necessary. `Some` ends the job.
    fn look_again(&self, job: &mut Job) -> Result<Option<Answer>, Error> {
        let none = History::default();
        let (at, history) = match job.cursor {
            None => (self.tree.leaf(), &none),
            Some(cursor) => {
                let standing = self.cursors.get(cursor).ok_or(Error::Closed)?;
                (standing.place, &standing.history)
            }
        };
        self.check_expected(job, at)?;
        if job.relied_on == (self.version, at) {
            return Ok(None);
        }
        let Some(planned) = (job.plan)(View { tree: &self.tree, at, history })? else {
            return Ok(Some(Answer::Nothing));
        };
        let same = planned == job.planned && job.relied_on.0.generation == self.version.generation;
        if !same && job.must_ask_again {
            return Ok(Some(Answer::PlanAgain));
        }
        job.planned = planned;
        job.relied_on = (self.version, at);
        Ok(None)
    }

    fn check_expected(&self, job: &Job, at: Place) -> Result<(), Error> {
        let Some(expected) = &job.expect else { return Ok(()) };
        let place = expected.as_deref().and_then(|id| self.tree.find(id));
        let known = place.is_some() == expected.is_some();
        match known && self.tree.same_place(place, at) {
            true => Ok(()),
            false => Err(Error::LeafChanged { now: self.name(at) }),
        }
    }

    /// Refuses to move a busy cursor or to delete the branch of a running turn.
    fn check_turns(&self, job: &Job, entry: &Entry<'_>) -> Result<(), Error> {
        let deleted = match entry.kind {
            Kind::DeleteBranch => entry.target.as_deref().and_then(|target| self.tree.find(target)),
            _ => None,
        };
        for (id, standing) in self.cursors.all().iter().filter(|(_, standing)| standing.busy) {
            let moved = entry.kind == Kind::Leaf && job.cursor == Some(*id);
            if moved || deleted.is_some_and(|first| self.tree.heads().is_ancestor(first, standing.place)) {
                return Err(Error::Busy { at: self.name(standing.place) });
            }
        }
        Ok(())
    }

    fn render(&self, job: &mut Job) -> Result<Vec<u8>, Error> {
        let wanted = job.id.take().or_else(|| job.given.id.clone());
        // If the id is used by another entry, this one gets a new id.
        let id = wanted.filter(|id| self.tree.find(id).is_none()).unwrap_or_else(|| self.mint());
        let time = *job.time.get_or_insert_with(|| self.env.clock.now());
        let parent = match job.draft().under {
            Under::Log => self.tree.leaf(),
            Under::Place(place) => place,
        };
        if let Some(unknown) = parent.filter(|seq| seq.index() >= self.tree.len()) {
            return Err(Error::ParentNotFound { id: format!("{unknown:?}") });
        }
        let parent = self.name(parent);
        let line = job.given.line(job.draft(), job.gated.is_some(), &id, parent.as_deref(), time);
        job.id = Some(id);
        Ok(line)
    }

    /// Applies a stored line: folds, publishes and announces it.
    async fn apply(&mut self, job: &Job, line: &[u8], entry: &Entry<'_>) -> Result<Stored, Error> {
        let cursor = self.moving_cursor(job, entry.kind);
        let seq = self.fold(entry, cursor);
        let draft_id = job.given.id.clone().filter(|id| self.drafts.end(id));
        let stored = self.stored(seq, line.into(), false);
        let moved = self.cursors.settle(&self.tree);
        self.publish();
        self.announce([Event::Committed {
            seq,
            id: stored.id.clone(),
            draft_id,
            foreign: false,
            cursor,
            line: stored.line.clone(),
        }]);
        self.announce(moved);
        self.written(stored).await
    }

    /// Marks the new entry as unsynced, and syncs it if configured.
    async fn written(&mut self, stored: Stored) -> Result<Stored, Error> {
        self.unsynced = true;
        if self.env.durability == Durability::Always {
            let not_durable = |source| Error::NotDurable { id: stored.id.to_string(), source };
            self.sync(true).await.map_err(not_durable)?;
        }
        Ok(stored)
    }

    /// The cursor that advances to the entry. Without an explicit cursor it is the main one, unless that is busy.
    /// Marks move no cursor.
    fn moving_cursor(&self, job: &Job, kind: Kind) -> Option<CursorId> {
        let idle = |id: &CursorId| self.cursors.get(*id).is_some_and(|standing| !standing.busy);
        let main = Some(CursorId::MAIN).filter(|id| !kind.is_mark() && idle(id));
        job.cursor.or(main)
    }

    /// Adds a stored entry to the tree and updates the cursors.
    pub(super) fn fold(&mut self, entry: &Entry<'_>, by: Option<CursorId>) -> Seq {
        // The offset is not needed: lines are read from the store by sequence number.
        let seq = self.tree.append(entry, 0, u32::try_from(entry.line.len()).unwrap_or(u32::MAX));
        self.version.entries = self.tree.len();
        self.cursors.take_in(&self.tree, seq, by);
        seq
    }

    /// A write can fail after it reached the disk. If the entry is in the log, the append succeeded.
    async fn after_failure(&mut self, job: &Job, error: StoreError) -> Result<Answer, Error> {
        self.find_again(job).await.map_err(|_| error.into())
    }

    /// Assigns an entry to the job that was stored before and read as foreign.
    async fn claim(&mut self, job: &Job, seq: Seq) -> Result<Stored, Error> {
        let line = self.line_of(seq).await?;
        if let Some(cursor) = job.cursor {
            self.cursors.claim(&self.tree, seq, cursor);
            self.publish();
        }
        if let Some(id) = &job.given.id {
            self.drop_draft(id);
        }
        Ok(self.stored(seq, line.into(), true))
    }

    fn stored(&self, seq: Seq, line: Arc<[u8]>, existed: bool) -> Stored {
        Stored { seq, id: self.tree.id(seq).as_str().into(), line, existed, version: self.version }
    }
}
