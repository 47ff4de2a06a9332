//! Reading a log from its end by pages, and its lines in batches: what is asked for costs what it holds, not what the log
//! holds.

use osier_tree::{ContextPlan, ContextWalk, Head, Place, Seq};
use rustc_hash::FxHashMap;

use crate::batch::Batch;
use crate::error::StoreError;
use crate::port::{Store, Version};

/// Heads per page. A multiple of what fits into one block of an index file.
const PAGE: usize = 1008;

/// Pages kept at once. A path runs from page to page downwards and hardly ever returns.
const KEPT: usize = 2;

/// The heads of one state of a log, fetched when asked for.
#[derive(Debug)]
pub struct PagedHeads<'a> {
    store: &'a dyn Store,
    id: &'a str,
    version: Version,
    pages: FxHashMap<usize, Vec<Head>>,
    last: Option<(usize, Vec<Head>)>,
}

impl<'a> PagedHeads<'a> {
    pub fn new(store: &'a dyn Store, id: &'a str, version: Version) -> PagedHeads<'a> {
        PagedHeads { store, id, version, pages: FxHashMap::default(), last: None }
    }

    pub async fn get(&mut self, seq: Seq) -> Result<Head, StoreError> {
        let page = self.page(seq.index() / PAGE).await?;
        page.get(seq.index() % PAGE).copied().ok_or(StoreError::NoSuchEntry { seq: seq.index() })
    }

    async fn page(&mut self, number: usize) -> Result<&[Head], StoreError> {
        if self.last.as_ref().is_none_or(|(kept, _)| *kept != number) {
            self.turn_to(number).await?;
        }
        Ok(self.last.as_ref().map(|(_, page)| page.as_slice()).unwrap_or_default())
    }

    async fn turn_to(&mut self, number: usize) -> Result<(), StoreError> {
        let page = match self.pages.remove(&number) {
            Some(page) => page,
            None => {
                tokio::task::yield_now().await;
                self.store.heads(self.id, self.version.generation, number * PAGE, PAGE).await?
            }
        };
        if self.pages.len() >= KEPT {
            self.pages.clear();
        }
        if let Some((number, page)) = self.last.replace((number, page)) {
            self.pages.insert(number, page);
        }
        Ok(())
    }

    /// Where the log stands.
    pub async fn leaf(&mut self) -> Result<Place, StoreError> {
        let Some(last) = self.version.entries.checked_sub(1).map(Seq::new) else { return Ok(None) };
        let head = self.get(last).await?;
        Ok(if head.kind == osier_tree::Kind::Leaf { head.parent } else { Some(last) })
    }

    /// The entries from the root down to `at`.
    pub async fn path(&mut self, at: Place) -> Result<Vec<Seq>, StoreError> {
        let mut path: Vec<Seq> = Vec::new();
        let mut next = at;
        // Depth falls by one at each step; a cache that says otherwise would lead in circles.
        let mut depth = None;
        while let Some(seq) = next {
            let number = seq.index() / PAGE;
            let page = self.page(number).await?;
            while let Some(seq) = next.filter(|seq| seq.index() / PAGE == number) {
                let head =
                    page.get(seq.index() % PAGE).ok_or(StoreError::NoSuchEntry { seq: seq.index() })?;
                if depth.is_some_and(|depth| depth != head.depth) {
                    let child = path.last().copied().unwrap_or(seq);
                    return Err(self.doubt(child).await);
                }
                path.push(seq);
                (next, depth) = (head.parent, Some(head.depth.wrapping_sub(1)));
            }
        }
        path.reverse();
        Ok(path)
    }

    /// Makes the store look at an entry whose head cannot be right.
    async fn doubt(&mut self, seq: Seq) -> StoreError {
        let looked = self.store.lines(self.id, self.version.generation, &[seq], &mut Batch::default()).await;
        looked.err().unwrap_or(StoreError::Replaced)
    }

    /// The entries of the context at a place.
    pub async fn context(&mut self, at: Place) -> Result<ContextPlan, StoreError> {
        let mut walk = ContextWalk::new(at);
        let mut steps = self.version.entries + 2;
        while let Some(seq) = walk.wants() {
            steps = steps.checked_sub(1).ok_or(StoreError::Replaced)?;
            let head = self.get(seq).await?;
            walk.give(&head);
        }
        Ok(walk.finish())
    }
}

/// Fetches the lines of `wanted`, a batch at a time, and hands each to `each`. Between batches others have their turn, also
/// where a store never waits.
pub async fn each_line<E: From<StoreError>, S: Store + ?Sized>(
    store: &S,
    id: &str,
    generation: u64,
    wanted: &[Seq],
    mut each: impl FnMut(Seq, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut batch = Batch::default();
    let mut rest = wanted;
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
    async fn others_have_their_turn_between_batches_of_a_store_that_never_waits() {
        let store = MemoryStore::default();
        let text = "x".repeat(Batch::FULL);
        let line = |id: &str| {
            format!(r#"{{"type":"custom","id":"{id}","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","customType":"x","data":"{text}"}}"#)
                .into_bytes()
        };
        let opened =
            store.create(&Header::new("s", 0, "/"), &[line("00000001"), line("00000002")]).await.unwrap();
        let turn = Arc::new(AtomicBool::new(false));
        let had = turn.clone();
        tokio::spawn(async move { had.store(true, Ordering::Relaxed) });
        let mut seen = Vec::new();
        let wanted: Vec<Seq> = (0..opened.version.entries).map(Seq::new).collect();
        let read = each_line(&store, "s", opened.version.generation, &wanted, |_, _| {
            seen.push(turn.load(Ordering::Relaxed));
            Ok::<(), StoreError>(())
        });
        read.await.unwrap();
        assert_eq!(seen, [false, true]);
    }
}
