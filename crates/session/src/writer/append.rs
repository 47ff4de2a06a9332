//! The last three beats: append, apply, announce.

use std::sync::Arc;

use osier_store::StoreError;
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

/// Conflicts in a row that bring nothing new. A store that gives more is broken.
const EMPTY_CONFLICTS: usize = 3;

impl Writer {
    /// Appends the entry of a job. Each time another process is faster its entries are read first, so every round but the
    /// last means that somebody got on.
    pub(super) async fn append(&mut self, mut job: Job) -> Result<Answer, Error> {
        let mut empty = 0;
        loop {
            if let Some(seq) = self.already_stored(&job).await? {
                return Ok(Answer::Stored(self.claim(&job, seq).await?));
            }
            if let Some(answer) = self.look_again(&mut job)? {
                return Ok(answer);
            }
            let line = self.render(&mut job)?;
            let entry =
                read_entry(&line).map_err(|_| PlanError::NotAnEntry { why: "it has no `type` and `id`" })?;
            self.check_turns(&job, &entry)?;
            self.before_append(&job, &entry).await?;
            let before = self.version;
            let deletion = self.lease_deletion(&entry).await?;
            let appended = self.store.append(&self.key, before, std::slice::from_ref(&line)).await;
            if let Some(lease) = deletion {
                self.store.release(&lease).await;
            }
            match appended {
                Ok(version) => {
                    // A file of an old version is replaced before its first append, and keeps its entries.
                    self.version.generation = version.generation;
                    if version.entries == self.tree.len() + 1 {
                        return self.apply(&job, &line, &entry).await.map(Answer::Stored);
                    }
                    // A program that takes no lock slipped in, and its lines may lie before this one.
                    return self.find_again(&job).await;
                }
                Err(StoreError::Conflict { .. }) => self.read_on().await?,
                Err(StoreError::Replaced) => self.read_anew().await?,
                Err(error) => return self.after_failure(&job, error).await,
            }
            empty = if self.version == before { empty + 1 } else { 0 };
            if empty == EMPTY_CONFLICTS {
                return Err(Error::Contended);
            }
        }
    }

    /// The entry was written among others: it is read back with them.
    async fn find_again(&mut self, job: &Job) -> Result<Answer, Error> {
        self.read_on().await?;
        let seq = self.already_stored(job).await?.ok_or(Error::Store(StoreError::Replaced))?;
        let stored = self.claim(job, seq).await?;
        self.written(stored).await.map(Answer::Stored)
    }

    /// The entry with the id that the job asks for or was given, if it is this very one.
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

    /// Checks what the plan relied on. `Some` ends the job.
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

    /// Nobody pulls away the ground below a running turn.
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
        // Still taken here means taken by another entry: this one gets an id of its own.
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

    /// The store has the line: fold it, publish, announce.
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

    /// There is a new entry that a power cut could take.
    async fn written(&mut self, stored: Stored) -> Result<Stored, Error> {
        self.unsynced = true;
        if self.env.durability == Durability::Always {
            let failed = |source| Error::NotDurable { id: stored.id.to_string(), source };
            self.sync(true).await.map_err(failed)?;
        }
        Ok(stored)
    }

    /// A change that names no cursor is the process's own: the main one goes on with it unless it is at work. Marks move
    /// nobody.
    fn moving_cursor(&self, job: &Job, kind: Kind) -> Option<CursorId> {
        let idle = |id: &CursorId| self.cursors.get(*id).is_some_and(|standing| !standing.busy);
        let main = Some(CursorId::MAIN).filter(|id| !kind.is_mark() && idle(id));
        job.cursor.or(main)
    }

    /// Takes one stored entry into memory.
    pub(super) fn fold(&mut self, entry: &Entry<'_>, by: Option<CursorId>) -> Seq {
        // Only the store knows where its lines lie, and it is asked for them by seq.
        let seq = self.tree.append(entry, 0, u32::try_from(entry.line.len()).unwrap_or(u32::MAX));
        self.version.entries = self.tree.len();
        self.cursors.take_in(&self.tree, seq, by);
        seq
    }

    /// A write may fail after it reached the disk. Then it is read back here, and was a success after all.
    async fn after_failure(&mut self, job: &Job, error: StoreError) -> Result<Answer, Error> {
        self.find_again(job).await.map_err(|_| error.into())
    }

    /// The entry was stored before, and taken in as somebody else's.
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
