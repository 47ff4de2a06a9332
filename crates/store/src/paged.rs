//! Reads the heads of a log in pages and its lines in batches, so that the cost depends on what is read and not on
//! the size of the log.

use osier_tree::{ContextPlan, ContextWalk, Head, Place, Seq};
use rustc_hash::FxHashMap;

use crate::batch::LineBatch;
use crate::error::StoreError;
use crate::store::{LogVersion, Store};

/// Heads per page. A multiple of the number of heads in one block of an index file.
const HEADS_PER_PAGE: usize = 1008;

/// The number of cached pages. A path walks from page to page and rarely returns to one.
const MAX_CACHED_PAGES: usize = 2;

/// The heads of one version of a log, fetched on demand.
#[derive(Debug)]
pub struct PagedHeads<'a> {
    store: &'a dyn Store,
    id: &'a str,
    version: LogVersion,
    pages: FxHashMap<usize, Vec<Head>>,
    current: Option<(usize, Vec<Head>)>,
}

impl<'a> PagedHeads<'a> {
    pub fn new(store: &'a dyn Store, id: &'a str, version: LogVersion) -> PagedHeads<'a> {
        PagedHeads { store, id, version, pages: FxHashMap::default(), current: None }
    }

    pub async fn get(&mut self, seq: Seq) -> Result<Head, StoreError> {
        let page = self.page(seq.index() / HEADS_PER_PAGE).await?;
        page.get(seq.index() % HEADS_PER_PAGE).copied().ok_or(StoreError::NoSuchEntry { seq: seq.index() })
    }

    async fn page(&mut self, number: usize) -> Result<&[Head], StoreError> {
        if self.current.as_ref().is_none_or(|(kept, _)| *kept != number) {
            self.load_page(number).await?;
        }
        Ok(self.current.as_ref().map(|(_, page)| page.as_slice()).unwrap_or_default())
    }

    async fn load_page(&mut self, number: usize) -> Result<(), StoreError> {
        let page = match self.pages.remove(&number) {
            Some(page) => page,
            None => {
                tokio::task::yield_now().await;
                self.store
                    .heads(self.id, self.version.generation, number * HEADS_PER_PAGE, HEADS_PER_PAGE)
                    .await?
            }
        };
        if self.pages.len() >= MAX_CACHED_PAGES {
            self.pages.clear();
        }
        if let Some((number, page)) = self.current.replace((number, page)) {
            self.pages.insert(number, page);
        }
        Ok(())
    }

    /// The leaf of the log.
    pub async fn leaf(&mut self) -> Result<Place, StoreError> {
        let Some(last) = self.version.entries.checked_sub(1).map(Seq::new) else { return Ok(None) };
        let head = self.get(last).await?;
        Ok(if head.kind == osier_tree::EntryKind::Leaf { head.parent } else { Some(last) })
    }

    /// The entries from the root down to `at`.
    pub async fn path(&mut self, at: Place) -> Result<Vec<Seq>, StoreError> {
        let mut path: Vec<Seq> = Vec::new();
        let mut next = at;
        // The depth decreases by one at each step. If a damaged cache violates that, the walk might not end.
        let mut depth = None;
        while let Some(seq) = next {
            let number = seq.index() / HEADS_PER_PAGE;
            let page = self.page(number).await?;
            while let Some(seq) = next.filter(|seq| seq.index() / HEADS_PER_PAGE == number) {
                let head = page
                    .get(seq.index() % HEADS_PER_PAGE)
                    .ok_or(StoreError::NoSuchEntry { seq: seq.index() })?;
                if depth.is_some_and(|depth| depth != head.depth) {
                    let child = path.last().copied().unwrap_or(seq);
                    return Err(self.recheck_entry(child).await);
                }
                path.push(seq);
                (next, depth) = (head.parent, Some(head.depth.wrapping_sub(1)));
            }
        }
        path.reverse();
        Ok(path)
    }

    /// Makes the store check an entry whose head is wrong.
    async fn recheck_entry(&mut self, seq: Seq) -> StoreError {
        let looked =
            self.store.lines(self.id, self.version.generation, &[seq], &mut LineBatch::default()).await;
        looked.err().unwrap_or(StoreError::Replaced)
    }

    /// The entries of the context at a position.
    pub async fn context(&mut self, at: Place) -> Result<ContextPlan, StoreError> {
        let mut walk = ContextWalk::new(at);
        let mut steps = self.version.entries + 2;
        while let Some(seq) = walk.needed_head() {
            steps = steps.checked_sub(1).ok_or(StoreError::Replaced)?;
            let head = self.get(seq).await?;
            walk.feed(&head);
        }
        Ok(walk.finish())
    }
}

/// Reads the lines of `wanted` in batches and passes each to `each`. Yields to other tasks between batches, even if
/// the store never waits.
pub async fn for_each_line<E: From<StoreError>, S: Store + ?Sized>(
    store: &S,
    id: &str,
    generation: u64,
    seqs: &[Seq],
    mut each: impl FnMut(Seq, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut batch = LineBatch::default();
    let mut rest = seqs;
    while !rest.is_empty() {
        store.lines(id, generation, rest, &mut batch).await?;
        for (seq, line) in rest.iter().zip(batch.iter()) {
            each(*seq, line)?;
        }
        rest = &rest[batch.len().max(1)..];
        if !rest.is_empty() {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use osier_tree::Header;

    use super::*;
    use crate::memory::MemoryStore;

    #[tokio::test]
    async fn other_tasks_run_between_batches_of_a_store_that_never_waits() {
        let store = MemoryStore::default();
        let text = "x".repeat(LineBatch::FULL_BYTES);
        let line = |id: &str| {
            format!(r#"{{"type":"custom","id":"{id}","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","customType":"x","data":"{text}"}}"#)
                .into_bytes()
        };
        let opened =
            store.create(&Header::new("s", 0, "/"), &[line("00000001"), line("00000002")]).await.unwrap();
        let ran = Arc::new(AtomicBool::new(false));
        let other_task_ran = ran.clone();
        tokio::spawn(async move { other_task_ran.store(true, Ordering::Relaxed) });
        let mut seen = Vec::new();
        let seqs: Vec<Seq> = (0..opened.version.entries).map(Seq::new).collect();
        let read = for_each_line(&store, "s", opened.version.generation, &seqs, |_, _| {
            seen.push(ran.load(Ordering::Relaxed));
            Ok::<(), StoreError>(())
        });
        read.await.unwrap();
        assert_eq!(seen, [false, true]);
    }
}
