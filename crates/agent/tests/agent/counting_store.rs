//! A store that counts calls, can block `sync`, and can become unavailable.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use osier_store::{
    DeleteResult, LineBatch, LogVersion, MemoryStore, OpenedLog, SessionFilter, SessionPage, Store,
    StoreError, Watch,
};
use osier_tree::projection::card::Card;
use osier_tree::{Head, Header, Seq};
use tokio::sync::Semaphore;

#[derive(Debug)]
pub(crate) struct CountingStore {
    inner: MemoryStore,
    calls: AtomicUsize,
    lines: AtomicUsize,
    /// The first append of a line with this text makes the store unavailable.
    fails_at: Mutex<Option<&'static str>>,
    is_unavailable: AtomicBool,
    /// Each `sync` takes one permit, and waits if there is none.
    pub(crate) syncs: Semaphore,
}

impl CountingStore {
    pub(crate) fn new() -> Arc<CountingStore> {
        Arc::new(CountingStore {
            inner: MemoryStore::default(),
            calls: AtomicUsize::new(0),
            lines: AtomicUsize::new(0),
            fails_at: Mutex::default(),
            is_unavailable: AtomicBool::new(false),
            syncs: Semaphore::new(Semaphore::MAX_PERMITS),
        })
    }

    /// The calls, and the lines requested, since the last time.
    pub(crate) fn counted(&self) -> (usize, usize) {
        (self.calls.swap(0, Ordering::Relaxed), self.lines.swap(0, Ordering::Relaxed))
    }

    /// Becomes unavailable at the first append of a line with this text.
    pub(crate) fn fail_at(&self, text: &'static str) {
        *self.fails_at.lock().unwrap() = Some(text);
    }

    pub(crate) fn recover(&self) {
        self.is_unavailable.store(false, Ordering::Relaxed);
    }

    fn count(&self) -> Result<&MemoryStore, StoreError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        match self.is_unavailable.load(Ordering::Relaxed) {
            true => Err(StoreError::Unavailable {
                store: self.name().to_owned(),
                why: "it is switched off".to_owned(),
                advice: "switch it on",
                source: "the test".into(),
            }),
            false => Ok(&self.inner),
        }
    }
}

#[async_trait]
impl Store for CountingStore {
    fn name(&self) -> &str {
        "counting"
    }

    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<OpenedLog, StoreError> {
        self.count()?.create(header, lines).await
    }

    async fn open(&self, id: &str) -> Result<OpenedLog, StoreError> {
        self.count()?.open(id).await
    }

    async fn heads(
        &self,
        id: &str,
        generation: u64,
        after: usize,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        self.count()?.heads(id, generation, after, limit).await
    }

    async fn lines(
        &self,
        id: &str,
        generation: u64,
        wanted: &[Seq],
        batch: &mut LineBatch,
    ) -> Result<(), StoreError> {
        self.count()?.lines(id, generation, wanted, batch).await?;
        self.lines.fetch_add(batch.len(), Ordering::Relaxed);
        Ok(())
    }

    async fn append(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        let has = |text: &mut &str| lines.iter().any(|line| String::from_utf8_lossy(line).contains(*text));
        if self.fails_at.lock().unwrap().take_if(has).is_some() {
            self.is_unavailable.store(true, Ordering::Relaxed);
        }
        self.count()?.append(id, expected, lines).await
    }

    async fn sync(&self, id: &str) -> Result<(), StoreError> {
        self.syncs.acquire().await.unwrap().forget();
        self.count()?.sync(id).await
    }

    async fn watch(&self, id: &str) -> Result<Watch, StoreError> {
        self.inner.watch(id).await
    }

    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError> {
        self.inner.list(filter).await
    }

    async fn card(&self, id: &str) -> Result<Card, StoreError> {
        self.inner.card(id).await
    }

    async fn find_ids(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.inner.find_ids(prefix).await
    }

    async fn delete(&self, id: &str) -> Result<DeleteResult, StoreError> {
        self.inner.delete(id).await
    }

    async fn rewrite(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        self.inner.rewrite(id, expected, lines).await
    }

    async fn rewrite_in_use(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        self.inner.rewrite_in_use(id, expected, lines).await
    }
}
