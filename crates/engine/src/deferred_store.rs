//! A store that keeps one new session in memory until its first message, so that an unused session leaves no file.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use osier_store::{
    DeleteResult, Lease, LeaseConflictFn, LineBatch, LogVersion, MemoryStore, OpenedLog, PreviewTexts,
    SessionFilter, SessionPage, Store, StoreError, Watch,
};
use osier_tree::entry::parse_entry;
use osier_tree::projection::card::Card;
use osier_tree::{EntryKind, Head, Header, Heads, Seq};
use tokio::sync::watch;

/// Delays the creation of one session; everything else goes to the inner store.
#[derive(Debug)]
pub(crate) struct DeferredStore {
    inner: Arc<dyn Store>,
    header: Header,
    memory: MemoryStore,
    is_created: AtomicBool,
    /// Wakes watchers that subscribed before the session was created.
    changed: Arc<watch::Sender<u64>>,
}

impl DeferredStore {
    pub(crate) async fn new(store: Arc<dyn Store>, header: Header) -> Result<DeferredStore, StoreError> {
        let memory = MemoryStore::default();
        memory.create(&header, &[]).await?;
        let changed = Arc::new(watch::Sender::new(0));
        Ok(DeferredStore { inner: store, header, memory, is_created: AtomicBool::new(false), changed })
    }

    /// The store that holds a session now.
    fn current_store(&self, id: &str) -> &dyn Store {
        match self.is_deferred(id) {
            true => &self.memory,
            false => &*self.inner,
        }
    }

    fn is_deferred(&self, id: &str) -> bool {
        id == self.header.id && !self.is_created.load(Ordering::Acquire)
    }

    /// Creates the session in the inner store, with the entries so far. Only its single writer calls this, so it runs once.
    async fn create_now(&self, expected: LogVersion, lines: &[Vec<u8>]) -> Result<LogVersion, StoreError> {
        let mut all: Vec<Vec<u8>> = Vec::with_capacity(expected.entries + lines.len());
        let kept: Vec<Seq> = (0..expected.entries).map(Seq::new).collect();
        osier_store::for_each_line(&self.memory, &self.header.id, expected.generation, &kept, |_, line| {
            all.push(line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await?;
        all.extend_from_slice(lines);
        let leases = self.memory.leases(&self.header.id).await?;
        let created = match leases.is_empty() {
            true => self.create_inner(&all).await,
            false => self.create_with_leases(&all, &leases).await,
        };
        if matches!(created, Ok(_) | Err(StoreError::Conflict { .. })) {
            self.is_created.store(true, Ordering::Release);
            if let Ok(hints) = self.inner.watch(&self.header.id).await {
                tokio::spawn(forward_hints(hints, self.changed.clone()));
            }
        }
        created
    }

    async fn create_inner(&self, lines: &[Vec<u8>]) -> Result<LogVersion, StoreError> {
        match self.inner.create(&self.header, lines).await {
            Err(StoreError::AlreadyExists { .. }) => self.already_created().await,
            created => created.map(|created| created.version),
        }
    }

    /// The same while a turn runs: creates the session empty, acquires the leases, then appends. Other processes can see the
    /// session before the leases; this fails if one of them started a turn there first.
    async fn create_with_leases(
        &self,
        lines: &[Vec<u8>],
        leases: &[Lease],
    ) -> Result<LogVersion, StoreError> {
        let created = self.create_inner(&[]).await;
        if matches!(created, Ok(_) | Err(StoreError::Conflict { .. })) {
            let own = |other: &Lease| leases.iter().any(|lease| lease.cursor == other.cursor);
            for lease in leases {
                self.inner.acquire_lease(lease, &|other| !own(other)).await?;
            }
        }
        self.inner.append(&self.header.id, created?, lines).await
    }

    /// The session exists already, perhaps because the response to an earlier attempt was lost. `Conflict` makes the writer
    /// reload it and continue.
    async fn already_created(&self) -> Result<LogVersion, StoreError> {
        let id = self.header.id.clone();
        let there = self.inner.open(&id).await?;
        Err(match there.header.to_line() == self.header.to_line() {
            true => StoreError::Conflict { now: there.version },
            false => StoreError::AlreadyExists { id },
        })
    }
}

/// Forwards change hints until the last watcher is gone.
async fn forward_hints(mut hints: Watch, changed: Arc<watch::Sender<u64>>) {
    loop {
        tokio::select! {
            () = hints.changed() => changed.send_modify(|count| *count += 1),
            () = changed.closed() => return,
        }
    }
}

/// Whether an entry is a reason to create the session. A name and settings alone are not.
fn is_conversation(line: &[u8]) -> bool {
    let is_setting = |kind| {
        matches!(
            kind,
            EntryKind::Config
                | EntryKind::SessionInfo
                | EntryKind::ModelChange
                | EntryKind::ThinkingLevelChange
        )
    };
    parse_entry(line).is_ok_and(|entry| !is_setting(entry.kind))
}

#[async_trait]
impl Store for DeferredStore {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn new_instance(&self) -> Option<Arc<dyn Store>> {
        self.inner.new_instance()
    }

    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<OpenedLog, StoreError> {
        self.inner.create(header, lines).await
    }

    fn planned_file(&self, header: &Header) -> Option<PathBuf> {
        self.inner.planned_file(header)
    }

    async fn open(&self, id: &str) -> Result<OpenedLog, StoreError> {
        let opened = self.current_store(id).open(id).await?;
        // The path that the file will have, so that callers need not ask again.
        Ok(match self.is_deferred(id) {
            true => OpenedLog { file: self.inner.planned_file(&self.header), ..opened },
            false => opened,
        })
    }

    async fn heads(
        &self,
        id: &str,
        generation: u64,
        after: usize,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        self.current_store(id).heads(id, generation, after, limit).await
    }

    async fn shared_heads(&self, id: &str, generation: u64) -> Result<Option<Heads>, StoreError> {
        self.current_store(id).shared_heads(id, generation).await
    }

    async fn lines(
        &self,
        id: &str,
        generation: u64,
        seqs: &[Seq],
        batch: &mut LineBatch,
    ) -> Result<(), StoreError> {
        self.current_store(id).lines(id, generation, seqs, batch).await
    }

    async fn append(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        match self.is_deferred(id) && lines.iter().any(|line| is_conversation(line)) {
            true => self.create_now(expected, lines).await,
            false => self.current_store(id).append(id, expected, lines).await,
        }
    }

    async fn sync(&self, id: &str) -> Result<(), StoreError> {
        self.current_store(id).sync(id).await
    }

    async fn watch(&self, id: &str) -> Result<Watch, StoreError> {
        match self.is_deferred(id) {
            true => Ok(Watch::new(self.changed.subscribe(), None)),
            false => self.inner.watch(id).await,
        }
    }

    async fn close(&self) {
        self.inner.close().await;
    }

    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError> {
        self.inner.list(filter).await
    }

    async fn card(&self, id: &str) -> Result<Card, StoreError> {
        self.current_store(id).card(id).await
    }

    async fn previews(&self, id: &str, version: LogVersion) -> Result<PreviewTexts, StoreError> {
        self.current_store(id).previews(id, version).await
    }

    async fn find_ids(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.inner.find_ids(prefix).await
    }

    async fn find_ids_with_any(&self, prefixes: &[&str]) -> Result<Vec<String>, StoreError> {
        self.inner.find_ids_with_any(prefixes).await
    }

    async fn is_in_use(&self, id: &str) -> Result<bool, StoreError> {
        self.current_store(id).is_in_use(id).await
    }

    async fn delete(&self, id: &str) -> Result<DeleteResult, StoreError> {
        self.current_store(id).delete(id).await
    }

    async fn delete_in_use(&self, id: &str) -> Result<DeleteResult, StoreError> {
        self.current_store(id).delete_in_use(id).await
    }

    async fn rewrite(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        self.current_store(id).rewrite(id, expected, lines).await
    }

    async fn rewrite_in_use(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        self.current_store(id).rewrite_in_use(id, expected, lines).await
    }

    async fn acquire_lease(&self, lease: &Lease, in_the_way: LeaseConflictFn<'_>) -> Result<(), StoreError> {
        self.current_store(&lease.session).acquire_lease(lease, in_the_way).await
    }

    fn may_have_expired(&self, lease: &Lease) -> bool {
        self.current_store(&lease.session).may_have_expired(lease)
    }

    async fn release_lease(&self, lease: &Lease) {
        self.current_store(&lease.session).release_lease(lease).await;
    }

    async fn leases(&self, id: &str) -> Result<Vec<Lease>, StoreError> {
        self.current_store(id).leases(id).await
    }
}

#[cfg(test)]
mod tests;
