//! The path: the entries from the root to a place. The cost depends on the length of the path, not of the log.

use osier_store::StoreError;
use osier_tree::entry::parse_entry;
use osier_tree::projection::json::entry_json;
use osier_tree::projection::transcript::TranscriptItem;
use osier_tree::{Entry, EntryKind, Seq};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::operations::reading::ReadError;
use crate::reading::resolve_place;
use crate::stored::StoredSession;

impl Engine {
    /// Calls `each` with the entries from the root to `at`, oldest first. `at` is an entry or `root`; the leaf by
    /// default.
    pub async fn for_each_path_entry<E: ReadError>(
        &self,
        stored: &StoredSession,
        at: Option<&str>,
        each: impl FnMut(&Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let path = self.path_entries(stored, at).await?;
        self.for_each_entry(stored, &path, each).await
    }

    /// Writes the same entries as a JSON array.
    pub async fn write_path_json<E: ReadError>(
        &self,
        stored: &StoredSession,
        at: Option<&str>,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        // An unknown entry is reported before anything is written.
        let path = self.path_entries(stored, at).await?;
        let mut first = true;
        write(b"[")?;
        let write_entry = |entry: &Entry<'_>| {
            if !std::mem::take(&mut first) {
                write(b",\n")?;
            }
            write(&entry_json(entry))
        };
        self.for_each_entry(stored, &path, write_entry).await?;
        write(b"]\n")
    }

    /// Calls `each` with the items of the conversation on the path, as a person reads it.
    pub async fn for_each_transcript_item<E: ReadError>(
        &self,
        stored: &StoredSession,
        at: Option<&str>,
        each: impl FnMut(TranscriptItem) -> Result<(), E>,
    ) -> Result<(), E> {
        let live = self.open_to_read::<E>(stored).await?;
        let at = resolve_place(&live.session().tree(), at)?;
        live.session().each_item(at, each).await
    }

    async fn for_each_entry<E: ReadError>(
        &self,
        stored: &StoredSession,
        path: &[Seq],
        mut each: impl FnMut(&Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let each_line = |_: Seq, line: &[u8]| match parse_entry(line) {
            Ok(entry) => each(&entry),
            Err(_) => Ok(()),
        };
        if !has_batch(stored, path).await? {
            return stored.for_each_line(path, each_line).await;
        }
        // The latest status of a batch may be anywhere in the log.
        let live = self.open_to_read::<E>(stored).await?;
        live.session().for_each_current_line(&live.session().state(), path, each_line).await
    }

    /// The leaf is known from the end of the log; finding an id needs the whole tree.
    async fn path_entries(&self, stored: &StoredSession, at: Option<&str>) -> Result<Vec<Seq>, EngineError> {
        if at.is_some() {
            let tree = self.open_briefly(stored).await?.session().tree();
            return Ok(tree.path(resolve_place(&tree, at)?));
        }
        let mut heads = stored.heads();
        let leaf = heads.leaf().await?;
        Ok(heads.path(leaf).await?)
    }
}

/// Whether the path has a batch of sub-agents.
async fn has_batch(stored: &StoredSession, path: &[Seq]) -> Result<bool, StoreError> {
    let mut heads = stored.heads();
    for seq in path {
        if heads.get(*seq).await?.kind == EntryKind::SubagentBatch {
            return Ok(true);
        }
    }
    Ok(false)
}
