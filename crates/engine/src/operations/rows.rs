//! Some entries with their rows of a tree view. The cost depends on the number of entries, not on the length of the log.

use std::borrow::Cow;
use std::sync::Arc;

use osier_protocol::{EntryId, EntryLine, TreeRow, TreeSnapshot};
use osier_tree::Seq;
use osier_tree::projection::preview::EntryPreviews;
use rustc_hash::FxHashMap;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::queries::entries::end_of_path;
use crate::stored::StoredSession;

/// Which entries to show.
#[derive(Debug, Clone, Copy)]
pub enum ShownEntries<'a> {
    /// Those with these ids, in this order. Unknown ids are left out.
    Ids(&'a [&'a str]),
    /// The last entries of the path, at most this many.
    LastOfPath(usize),
}

/// Entries of one state of a session.
#[derive(Debug)]
pub struct EntryRows {
    pub entries: Vec<EntryRow>,
    pub leaf_id: Option<EntryId>,
    /// The number of entries of the path before the first one; 0 if people read none of those, or if the entries were named.
    pub hidden_entries: usize,
}

/// An entry and its row.
#[derive(Debug)]
pub struct EntryRow {
    pub row: TreeRow,
    pub line: EntryLine,
}

impl Engine {
    pub async fn entry_rows(
        &self,
        stored: &StoredSession,
        shown: ShownEntries<'_>,
    ) -> Result<EntryRows, EngineError> {
        let live = self.open_briefly(stored).await?;
        let (session, (state, leaf)) = (live.session(), live.session().main_cursor().state_and_place());
        let tree = &state.tree;
        let (seqs, hidden_entries) = match shown {
            ShownEntries::Ids(ids) => (ids.iter().filter_map(|id| tree.find(id)).collect(), 0),
            ShownEntries::LastOfPath(count) => end_of_path(tree, leaf, Some(count)),
        };
        let previews = Arc::new(SomePreviews(session.previews_of(&state, &seqs).await?));
        let snapshot = TreeSnapshot::new(tree.clone(), leaf, previews).partial(true);
        let mut lines: FxHashMap<Seq, EntryLine> = FxHashMap::default();
        let read = |seq: Seq, line: &[u8]| -> Result<(), EngineError> {
            lines.insert(seq, EntryLine::from(line));
            Ok(())
        };
        session.for_each_current_line(&state, &seqs, read).await?;
        let row = |seq: &Seq| Some(EntryRow { row: snapshot.row(*seq), line: lines.get(seq)?.clone() });
        let entries = seqs.iter().filter_map(row).collect();
        Ok(EntryRows { entries, leaf_id: leaf.map(|seq| snapshot.id(seq)), hidden_entries })
    }
}

/// The previews of some entries.
#[derive(Debug)]
pub(crate) struct SomePreviews(pub(crate) FxHashMap<Seq, String>);

impl EntryPreviews for SomePreviews {
    fn get(&self, seq: Seq) -> Cow<'_, str> {
        Cow::Borrowed(self.0.get(&seq).map_or("", String::as_str))
    }
}
