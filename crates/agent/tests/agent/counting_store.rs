//! A store that counts calls, can block `sync`, and can become unavailable.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use osier_store::intercepted::{InterceptedStore, StoreInterceptor};
use osier_store::{LineBatch, LogVersion, MemoryStore, Store, StoreError};
use osier_tree::Seq;
use tokio::sync::Semaphore;

pub(crate) type CountingStore = InterceptedStore<CallCounter>;

pub(crate) fn counting_store() -> Arc<CountingStore> {
    Arc::new(InterceptedStore::new(CallCounter {
        calls: AtomicUsize::new(0),
        lines: AtomicUsize::new(0),
        fails_at: Mutex::default(),
        is_unavailable: AtomicBool::new(false),
        syncs: Semaphore::new(Semaphore::MAX_PERMITS),
    }))
}

#[derive(Debug)]
pub(crate) struct CallCounter {
    calls: AtomicUsize,
    lines: AtomicUsize,
    /// The first append of a line with this text makes the store unavailable.
    fails_at: Mutex<Option<&'static str>>,
    is_unavailable: AtomicBool,
    /// Each `sync` takes one permit, and waits if there is none.
    pub(crate) syncs: Semaphore,
}

impl CallCounter {
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

    fn check_available(&self) -> Result<(), StoreError> {
        match self.is_unavailable.load(Ordering::Relaxed) {
            true => Err(StoreError::Unavailable {
                store: self.name().to_owned(),
                reason: "it is switched off".to_owned(),
                advice: "switch it on",
                source: "the test".into(),
            }),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl StoreInterceptor for CallCounter {
    fn name(&self) -> &str {
        "counting"
    }

    async fn before_log_call(&self) -> Result<(), StoreError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.check_available()
    }

    async fn lines(
        &self,
        inner: &MemoryStore,
        id: &str,
        generation: u64,
        wanted: &[Seq],
        batch: &mut LineBatch,
    ) -> Result<(), StoreError> {
        inner.lines(id, generation, wanted, batch).await?;
        self.lines.fetch_add(batch.len(), Ordering::Relaxed);
        Ok(())
    }

    async fn append(
        &self,
        inner: &MemoryStore,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        let has = |text: &mut &str| lines.iter().any(|line| String::from_utf8_lossy(line).contains(*text));
        if self.fails_at.lock().unwrap().take_if(has).is_some() {
            self.is_unavailable.store(true, Ordering::Relaxed);
        }
        self.check_available()?;
        inner.append(id, expected, lines).await
    }

    async fn sync(&self, inner: &MemoryStore, id: &str) -> Result<(), StoreError> {
        self.syncs.acquire().await.unwrap().forget();
        inner.sync(id).await
    }
}
