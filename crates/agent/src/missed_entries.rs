//! The entries that a client missed while it was not attached, read in batches.

use std::collections::VecDeque;
use std::sync::Arc;

use osier_protocol::EntryEvent;
use osier_session::{Session, SessionState};
use osier_store::StoreError;
use osier_tree::{Place, Seq};
use rustc_hash::FxHashSet;

/// How many entries are read at a time.
const BATCH: usize = 256;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct MissedEntries {
    session: Session,
    state: Arc<SessionState>,
    /// The entries of the client's path among them.
    on_path: FxHashSet<Seq>,
    /// The first entry that is not read yet.
    next: usize,
    read: VecDeque<EntryEvent>,
}

impl MissedEntries {
    /// The entries from log position `from` up to `state`, for a client whose position is `at`. `None` if there are none.
    pub(crate) fn new(
        session: &Session,
        state: &Arc<SessionState>,
        at: Place,
        from: usize,
    ) -> Option<MissedEntries> {
        let path = state.tree.heads().ancestors(at);
        let missed = MissedEntries {
            session: session.clone(),
            state: state.clone(),
            on_path: path.take_while(|seq| seq.index() >= from).collect(),
            next: from,
            read: VecDeque::new(),
        };
        Some(missed).filter(|missed| missed.remaining() > 0)
    }

    pub(crate) fn remaining(&self) -> usize {
        self.read.len() + self.state.version.entries.saturating_sub(self.next)
    }

    pub(crate) async fn next(&mut self) -> Result<Option<EntryEvent>, StoreError> {
        if self.read.is_empty() {
            self.read = self.read_batch().await?;
            self.next += self.read.len();
        }
        Ok(self.read.pop_front())
    }

    async fn read_batch(&self) -> Result<VecDeque<EntryEvent>, StoreError> {
        let end = self.state.version.entries.min(self.next + BATCH);
        let wanted: Vec<Seq> = (self.next..end).map(Seq::new).collect();
        let tree = &self.state.tree;
        let mut batch = VecDeque::with_capacity(wanted.len());
        let take = |seq: Seq, line: &[u8]| -> Result<(), StoreError> {
            batch.push_back(EntryEvent {
                seq: seq.index(),
                generation: Some(self.state.version.generation),
                id: tree.id(seq).to_entry_id(),
                draft_id: None,
                foreign: false,
                off_path: !self.on_path.contains(&seq),
                is_hook_message: tree.head(seq).is_hook_message(),
                entry: line.into(),
            });
            Ok(())
        };
        self.session.for_each_line(self.state.version, &wanted, take).await?;
        Ok(batch)
    }
}
