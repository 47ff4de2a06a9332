//! A memory store for tests whose calls can be observed, changed, or made to fail.

use std::fmt::Debug;
use std::ops::Deref;

use async_trait::async_trait;
use osier_tree::projection::card::Card;
use osier_tree::{Head, Header, Seq};

use crate::{
    DeleteResult, Lease, LeaseConflictFn, LineBatch, LogVersion, MemoryStore, OpenedLog, SessionFilter,
    SessionPage, Store, StoreError, Watch,
};

/// What happens on the way to the store. By default, every call is passed on.
#[async_trait]
pub trait StoreInterceptor: Debug + Send + Sync {
    fn name(&self) -> &str;

    /// Runs before a call that reads or writes a log. If it fails, so does the call.
    async fn before_log_call(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Runs before every other call that can fail, such as `list`. If it fails, so does the call.
    async fn before_other_call(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn create(
        &self,
        inner: &MemoryStore,
        header: &Header,
        lines: &[Vec<u8>],
    ) -> Result<OpenedLog, StoreError> {
        inner.create(header, lines).await
    }

    async fn lines(
        &self,
        inner: &MemoryStore,
        id: &str,
        generation: u64,
        wanted: &[Seq],
        batch: &mut LineBatch,
    ) -> Result<(), StoreError> {
        inner.lines(id, generation, wanted, batch).await
    }

    async fn append(
        &self,
        inner: &MemoryStore,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        inner.append(id, expected, lines).await
    }

    async fn sync(&self, inner: &MemoryStore, id: &str) -> Result<(), StoreError> {
        inner.sync(id).await
    }

    fn may_have_expired(&self, _lease: &Lease) -> bool {
        false
    }
}

/// A memory store behind an interceptor. Dereferences to the interceptor. It does not share its heads, so that every read is a
/// call.
#[derive(Debug, Default)]
pub struct InterceptedStore<I> {
    inner: MemoryStore,
    interceptor: I,
}

impl<I> InterceptedStore<I> {
    pub fn new(interceptor: I) -> InterceptedStore<I> {
        InterceptedStore { inner: MemoryStore::default(), interceptor }
    }
}

impl<I> Deref for InterceptedStore<I> {
    type Target = I;

    fn deref(&self) -> &I {
        &self.interceptor
    }
}

#[async_trait]
impl<I: StoreInterceptor> Store for InterceptedStore<I> {
    fn name(&self) -> &str {
        self.interceptor.name()
    }

    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<OpenedLog, StoreError> {
        self.interceptor.before_log_call().await?;
        self.interceptor.create(&self.inner, header, lines).await
    }

    async fn open(&self, id: &str) -> Result<OpenedLog, StoreError> {
        self.interceptor.before_log_call().await?;
        self.inner.open(id).await
    }

    async fn heads(
        &self,
        id: &str,
        generation: u64,
        after: usize,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        self.interceptor.before_log_call().await?;
        self.inner.heads(id, generation, after, limit).await
    }

    async fn lines(
        &self,
        id: &str,
        generation: u64,
        wanted: &[Seq],
        batch: &mut LineBatch,
    ) -> Result<(), StoreError> {
        self.interceptor.before_log_call().await?;
        self.interceptor.lines(&self.inner, id, generation, wanted, batch).await
    }

    async fn append(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        self.interceptor.before_log_call().await?;
        self.interceptor.append(&self.inner, id, expected, lines).await
    }

    async fn sync(&self, id: &str) -> Result<(), StoreError> {
        self.interceptor.before_log_call().await?;
        self.interceptor.sync(&self.inner, id).await
    }

    async fn watch(&self, id: &str) -> Result<Watch, StoreError> {
        self.interceptor.before_other_call().await?;
        self.inner.watch(id).await
    }

    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError> {
        self.interceptor.before_other_call().await?;
        self.inner.list(filter).await
    }

    async fn card(&self, id: &str) -> Result<Card, StoreError> {
        self.interceptor.before_other_call().await?;
        self.inner.card(id).await
    }

    async fn find_ids(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.interceptor.before_other_call().await?;
        self.inner.find_ids(prefix).await
    }

    async fn find_ids_with_any(&self, prefixes: &[&str]) -> Result<Vec<String>, StoreError> {
        self.interceptor.before_other_call().await?;
        self.inner.find_ids_with_any(prefixes).await
    }

    async fn acquire_lease(&self, lease: &Lease, in_the_way: LeaseConflictFn<'_>) -> Result<(), StoreError> {
        self.interceptor.before_other_call().await?;
        self.inner.acquire_lease(lease, in_the_way).await
    }

    fn may_have_expired(&self, lease: &Lease) -> bool {
        self.interceptor.may_have_expired(lease)
    }

    async fn release_lease(&self, lease: &Lease) {
        self.inner.release_lease(lease).await;
    }

    async fn leases(&self, id: &str) -> Result<Vec<Lease>, StoreError> {
        self.interceptor.before_other_call().await?;
        self.inner.leases(id).await
    }

    async fn is_in_use(&self, id: &str) -> Result<bool, StoreError> {
        self.interceptor.before_other_call().await?;
        self.inner.is_in_use(id).await
    }

    async fn delete(&self, id: &str) -> Result<DeleteResult, StoreError> {
        self.interceptor.before_other_call().await?;
        self.inner.delete(id).await
    }

    async fn delete_in_use(&self, id: &str) -> Result<DeleteResult, StoreError> {
        self.interceptor.before_other_call().await?;
        self.inner.delete_in_use(id).await
    }

    async fn rewrite(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        self.interceptor.before_other_call().await?;
        self.inner.rewrite(id, expected, lines).await
    }

    async fn rewrite_in_use(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        self.interceptor.before_other_call().await?;
        self.inner.rewrite_in_use(id, expected, lines).await
    }
}
