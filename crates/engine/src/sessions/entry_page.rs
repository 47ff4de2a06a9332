//! `listEntries`: the entries of a session, page by page.

use osier_store::StoreError;
use osier_tree::Seq;
use osier_tree::entry::parse_entry;
use osier_tree::projection::json::entry_json;

use super::SessionOperations;
use crate::error::EngineError;
use crate::stored::StoredSession;

/// The size of a page that has a limit, in bytes. It has at least one entry, however large.
const PAGE_BYTES: usize = 16 << 20;

/// Some entries of a session, from one state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPage {
    pub entries: Vec<Vec<u8>>,
    /// The number of entries in the log.
    pub revision: usize,
    /// Where the next page starts.
    pub next: Option<usize>,
}

/// Why a page ends before its limit.
enum PageEnd {
    Full,
    Failed(StoreError),
}

impl From<StoreError> for PageEnd {
    fn from(error: StoreError) -> PageEnd {
        PageEnd::Failed(error)
    }
}

impl SessionOperations {
    /// Entries in log order, starting at index `after`, as JSON output shows them. With a limit, large entries make a page
    /// shorter.
    pub async fn list_entries(&self, after: usize, limit: Option<usize>) -> Result<EntryPage, EngineError> {
        let StoredSession { store, key, .. } = &self.stored;
        let stored = StoredSession::read(store.clone(), key.clone()).await?;
        let revision = stored.opened.version.entries;
        let max_bytes = limit.map_or(usize::MAX, |_| PAGE_BYTES);
        let end = revision.min(after.saturating_add(limit.unwrap_or(usize::MAX)));
        let seqs: Vec<Seq> = (after..end).map(Seq::new).collect();
        let (mut entries, mut bytes) = (Vec::new(), 0);
        let mut next = (end < revision).then_some(end);
        let read = |seq: Seq, line: &[u8]| {
            bytes += line.len();
            if bytes > max_bytes && seq.index() > after {
                next = Some(seq.index());
                return Err(PageEnd::Full);
            }
            entries.extend(parse_entry(line).map(|entry| entry_json(&entry).into_owned()));
            Ok(())
        };
        match stored.for_each_line(&seqs, read).await {
            Ok(()) | Err(PageEnd::Full) => Ok(EntryPage { entries, revision, next }),
            Err(PageEnd::Failed(error)) => Err(error.into()),
        }
    }
}
