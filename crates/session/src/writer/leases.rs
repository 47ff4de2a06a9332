//! Leases: a turn belongs to one process. Other processes cannot start a turn at its position, move there, or delete
//! its branch.

use std::collections::BTreeMap;

use osier_store::{Lease, StoreError};
use osier_tree::entry::Entry;
use osier_tree::{EntryKind, Place, PlanError, Seq, SessionTree};

use super::SessionWriter;
use crate::cursor_state::CursorId;
use crate::error::SessionError;
use crate::writer_message::AppendJob;

/// The leases of the turns in this process, by cursor.
pub(super) type OwnLeases = BTreeMap<CursorId, Lease>;

impl SessionWriter {
    pub(super) async fn begin_turn(&mut self, cursor: CursorId) -> Result<(), SessionError> {
        let cursor_state = self.cursors.get_mut(cursor).ok_or(SessionError::Closed)?;
        let (position, busy) = (cursor_state.position, std::mem::replace(&mut cursor_state.busy, true));
        if busy {
            return Err(SessionError::Busy { at: self.id_at(position) });
        }
        self.publish();
        let acquired = self.acquire_turn_lease(cursor).await;
        if acquired.is_err() {
            self.cursors.get_mut(cursor).ok_or(SessionError::Closed)?.busy = false;
            self.publish();
            self.settle_cursors();
        }
        acquired
    }

    /// Acquires the lease of a turn. Reads the changes of other processes before and after, so that of a concurrent
    /// turn and deletion one detects the other.
    async fn acquire_turn_lease(&mut self, cursor: CursorId) -> Result<(), SessionError> {
        // The first append reports errors of the store.
        self.try_read_appended().await;
        let position = self.visible_place(cursor)?;
        let lease = self.new_lease(self.id_at(position), None);
        self.store.acquire_lease(&lease, &self.conflicts_with(position)).await?;
        self.leases.insert(cursor, lease);
        tracing::debug!("acquired the lease of a turn");
        let before = self.version;
        self.try_read_appended().await;
        let checked = match self.version == before {
            true => Ok(()),
            false => match self.visible_place(cursor) {
                Ok(position) => self.check_no_foreign_turn(position).await,
                Err(error) => Err(error),
            },
        };
        if checked.is_err() {
            self.release_lease(cursor).await;
        }
        checked
    }

    async fn try_read_appended(&mut self) {
        if let Err(error) = self.read_appended().await {
            tracing::debug!(%error, "cannot read what other processes appended");
        }
    }

    pub(super) async fn release_lease(&mut self, cursor: CursorId) {
        if let Some(lease) = self.leases.remove(&cursor) {
            // A database that does not answer may keep the lease for a while. It must not block this process.
            self.ended_leases.push(lease.cursor);
            self.store.release_lease(&lease).await;
            tracing::debug!("released the lease of a turn");
        }
    }

    pub(super) async fn release_all_leases(&mut self) {
        for lease in std::mem::take(&mut self.leases).into_values() {
            self.store.release_lease(&lease).await;
        }
    }

    /// Fails if another process runs a turn at a position.
    pub(super) async fn check_no_foreign_turn(&self, position: Place) -> Result<(), SessionError> {
        let is_conflict = self.conflicts_with(position);
        let leases = self.store.leases(&self.key).await?;
        match leases.into_iter().find(|lease| is_conflict(lease)) {
            Some(lease) => Err(StoreError::Leased { lease: Box::new(lease) }.into()),
            None => Ok(()),
        }
    }

    /// Fails if a position is inside the branch of another process's turn. A message next to that branch starts a new
    /// branch.
    async fn check_outside_foreign_turns(&self, position: Place) -> Result<(), SessionError> {
        let leases = self.store.leases(&self.key).await?;
        let own: Vec<u64> = self.own_lease_cursors();
        let inside = |lease: &Lease| !own.contains(&lease.cursor) && is_inside(&self.tree, lease, position);
        match leases.into_iter().find(inside) {
            Some(lease) => Err(StoreError::Leased { lease: Box::new(lease) }.into()),
            None => Ok(()),
        }
    }

    pub(super) async fn check_no_foreign_turn_at(&self, at: Option<String>) -> Result<(), SessionError> {
        let position = at.as_deref().map(|id| self.tree.require(id)).transpose()?;
        self.check_no_foreign_turn(position).await
    }

    /// Checks and updates leases before an entry is appended.
    pub(super) async fn check_leases(
        &mut self,
        job: &AppendJob,
        entry: &Entry<'_>,
    ) -> Result<(), SessionError> {
        let parent = entry.parent.as_deref().and_then(|id| self.tree.find(id));
        if let Some((cursor, lease)) = job.cursor.and_then(|cursor| Some((cursor, self.leases.get(&cursor)?)))
        {
            if self.store.may_have_expired(lease) {
                // Another process may have acquired a lease here in the meantime. Then this turn ends here.
                self.store.acquire_lease(lease, &self.conflicts_with(parent)).await?;
            }
            return self.update_turn_lease(cursor, parent, entry).await;
        }
        match entry.kind {
            EntryKind::Leaf
            | EntryKind::BranchSummary
            | EntryKind::Compaction
            | EntryKind::Backtrack
            | EntryKind::ContextEdit => self.check_no_foreign_turn(parent).await,
            kind if kind.reaches_context() => self.check_outside_foreign_turns(parent).await,
            _ => Ok(()),
        }
    }

    /// Records the branch of a turn in its lease, at its first entry and when it moves to another branch.
    async fn update_turn_lease(
        &mut self,
        cursor: CursorId,
        parent: Place,
        entry: &Entry<'_>,
    ) -> Result<(), SessionError> {
        let position = self.cursors.get(cursor).and_then(|cursor_state| cursor_state.position);
        let Some(lease) = self.leases.get_mut(&cursor) else { return Ok(()) };
        let has_branch = lease.branch.as_deref().is_some_and(|id| self.tree.find(id).is_some());
        if entry.kind.is_mark() || (has_branch && parent == position) {
            return Ok(());
        }
        lease.entry = entry.parent.as_deref().map(str::to_owned);
        lease.branch = Some(entry.id.to_string());
        Ok(self.store.acquire_lease(lease, &|_| false).await?)
    }

    /// Acquires a lease of a branch before its deletion, so that no turn can start there. Fails if one is running
    /// there.
    pub(super) async fn acquire_deletion_lease(
        &mut self,
        entry: &Entry<'_>,
    ) -> Result<Option<Lease>, SessionError> {
        let target = entry.target.as_deref().filter(|_| entry.kind == EntryKind::DeleteBranch);
        let Some((id, first)) = target.and_then(|id| Some((id, self.tree.find(id)?))) else {
            return Ok(None);
        };
        let lease = self.new_lease(Some(id.to_owned()), Some(id.to_owned()));
        let tree = self.tree.clone();
        let is_inside = |id: &Option<String>| {
            let seq = id.as_deref().and_then(|id| tree.find(id));
            seq.is_some() && tree.heads().is_ancestor(first, seq)
        };
        let conflicts = self.conflicts_with(Some(first));
        let is_conflict =
            |other: &Lease| is_inside(&other.entry) || is_inside(&other.branch) || conflicts(other);
        self.store.acquire_lease(&lease, &is_conflict).await?;
        Ok(Some(lease))
    }

    fn new_lease(&self, entry: Option<String>, branch: Option<String>) -> Lease {
        Lease {
            session: self.key.clone(),
            cursor: crate::env::random_number(),
            entry,
            branch,
            process: std::process::id(),
            host: self.env.host.to_string(),
            expires: None,
        }
    }

    /// Returns a predicate: whether a lease of another process covers a position.
    fn conflicts_with(&self, position: Place) -> impl Fn(&Lease) -> bool + Send + Sync + 'static {
        let own = self.own_lease_cursors();
        let tree = self.tree.clone();
        move |lease| !own.contains(&lease.cursor) && covers(&tree, lease, position)
    }

    /// The leases of this process, including released ones.
    fn own_lease_cursors(&self) -> Vec<u64> {
        let held = self.leases.values().map(|lease| lease.cursor);
        held.chain(self.ended_leases.iter().copied()).collect()
    }

    /// The position of a cursor. Fails if it was deleted.
    fn visible_place(&self, cursor: CursorId) -> Result<Place, SessionError> {
        let position = self.cursors.get(cursor).ok_or(SessionError::Closed)?.position;
        match position.filter(|seq| self.tree.is_hidden(*seq)) {
            Some(hidden) => Err(PlanError::Hidden { id: self.tree.id(hidden).to_string() }.into()),
            None => Ok(position),
        }
    }
}

/// Whether a turn started at this position, or works in a branch that contains it.
fn covers(tree: &SessionTree, lease: &Lease, position: Place) -> bool {
    let entry = lease.entry.as_deref().and_then(|id| tree.find(id));
    is_inside(tree, lease, position)
        || (entry.is_some() == lease.entry.is_some()
            && tree.same_place(entry, position)
            && starting_try(tree, entry) == starting_try(tree, position))
}

/// The try whose start this place is. It is the same place as that of all other tries, and of the conversation before them.
fn starting_try(tree: &SessionTree, place: Place) -> Option<Seq> {
    let mut above = tree.heads().ancestors(place).take_while(|seq| !tree.head(*seq).kind.reaches_context());
    above.find(|seq| tree.head(*seq).kind == EntryKind::ExploreTry)
}

/// Whether a position is in the branch of a turn.
fn is_inside(tree: &SessionTree, lease: &Lease, position: Place) -> bool {
    let first = lease.branch.as_deref().and_then(|id| tree.find(id));
    first.is_some_and(|first| tree.heads().is_ancestor(first, position))
}
