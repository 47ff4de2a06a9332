//! Implements `Store` for `FileStore`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use osier_tree::projection::card::Card;
use osier_tree::search_query::{MessageMatches, SearchDetail, SearchQuery};
use osier_tree::short_ids::has_prefix;
use osier_tree::{Head, Header, Heads, Seq};

use super::listing::Listing;
use super::log::LockAttempt;
use super::texts::CancelOnDrop;
use super::{
    DEFAULT_NAME, FileStore, SharedLog, index, lock_log, names, retry_until_unlocked, run_blocking,
    with_generation_check,
};
use crate::batch::LineBatch;
use crate::error::StoreError;
use crate::lease::{Lease, LeaseConflictFn};
use crate::preview_texts::PreviewTexts;
use crate::store::{
    DeleteResult, DeletedCounts, LineSource, LogVersion, OpenedLog, SessionFilter, SessionPage, Store, Watch,
};

impl FileStore {
    async fn try_append(
        &self,
        id: &str,
        mut expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        let mut log = self.log_of_generation(id, expected.generation).await?;
        if lock_log(&log).migrated.is_some() {
            run_blocking(move || retry_until_unlocked(&log, |log| log.replace_with_migrated(expected)))
                .await?;
            self.close_log(id);
            log = self.open_log(id).await?;
            expected.generation = lock_log(&log).version().generation;
        }
        if let LockAttempt::Done(version) = lock_log(&log).append(expected, lines, self.write)? {
            return Ok(version);
        }
        let (lines, write) = (lines.to_vec(), self.write);
        run_blocking(move || retry_until_unlocked(&log, |log| log.append(expected, &lines, write))).await
    }

    /// The file of a session.
    async fn find_path_detached(&self, id: &str) -> Result<PathBuf, StoreError> {
        let id = id.to_owned();
        self.run_detached(move |store| store.find_path(&id)).await
    }

    async fn erase_texts_detached(&self, path: &Path) {
        let path = path.to_owned();
        self.run_detached(move |store| store.erase_texts(&path)).await;
    }

    fn list_blocking(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError> {
        let folders = match &filter.cwd {
            Some(cwd) => vec![self.session_folder(cwd)],
            None => names::folders_in(&self.sessions).map_err(StoreError::io("list", &self.sessions))?,
        };
        let mut listing = Listing::new(filter);
        for folder in &folders {
            listing.add_folder(folder, self.cards_path(folder))?;
        }
        listing.read_cards(|path, metadata, cards| self.load_card(path, metadata, cards));
        let mut page = listing.into_page(filter);
        page.cards.iter_mut().for_each(|card| self.set_store_name(card));
        Ok(page)
    }

    fn find_blocking(&self, prefixes: &[String]) -> Result<Vec<String>, StoreError> {
        let files = self.session_files()?;
        let ids = files.iter().filter_map(|path| names::id_from_file_name(path.file_name()?));
        let is_wanted = |id: &&str| prefixes.iter().any(|prefix| has_prefix(id, prefix));
        let mut ids: Vec<String> = ids.filter(is_wanted).map(String::from).collect();
        ids.sort();
        Ok(ids)
    }

    /// Sets the store name of a card. Cached cards do not contain it.
    fn set_store_name(&self, card: &mut Card) {
        if self.name != DEFAULT_NAME {
            card.store.clone_from(&self.name);
        }
    }

    /// Closes a log whose file was replaced, so that the next call opens the new file.
    fn close_if_replaced<T>(&self, id: &str, result: &Result<T, StoreError>) {
        if matches!(result, Ok(_) | Err(StoreError::Replaced))
            && self.open_logs().get(id).is_some_and(|log| lock_log(log).is_replaced())
        {
            self.close_log(id);
        }
    }
}

#[async_trait]
impl Store for FileStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "file"
    }

    fn new_instance(&self) -> Option<Arc<dyn Store>> {
        Some(Arc::new(self.without_open_logs()))
    }

    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<OpenedLog, StoreError> {
        let path = self.unused_path(header).await?;
        let mut file = FileStore::start_file(&path, header)?;
        file.write_lines(lines).map_err(StoreError::io("create", &path))?;
        self.open_new(&header.id, &path, file).await
    }

    async fn create_from(
        &self,
        header: &Header,
        lines: &mut dyn LineSource,
    ) -> Result<OpenedLog, StoreError> {
        let path = self.unused_path(header).await?;
        let mut file = FileStore::start_file(&path, header)?;
        loop {
            let some = lines.next_lines().await?;
            if some.is_empty() {
                break;
            }
            file.write_lines(some).map_err(StoreError::io("create", &path))?;
        }
        self.open_new(&header.id, &path, file).await
    }

    fn planned_file(&self, header: &Header) -> Option<PathBuf> {
        Some(self.path_for(header))
    }

    async fn open(&self, id: &str) -> Result<OpenedLog, StoreError> {
        let log = self.open_log(id).await?;
        let refreshed = lock_log(&log).refresh();
        if let Err(StoreError::Replaced) = refreshed {
            self.close_log(id);
            return Ok(FileStore::describe_log(&lock_log(&self.open_log(id).await?)));
        }
        refreshed.map(|()| FileStore::describe_log(&lock_log(&log)))
    }

    async fn heads(
        &self,
        id: &str,
        generation: u64,
        after: usize,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let log = self.log_of_generation(id, generation).await?;
        with_generation_check(&log, generation, |log| log.heads(after, limit))
    }

    async fn shared_heads(&self, id: &str, generation: u64) -> Result<Option<Heads>, StoreError> {
        let log = self.log_of_generation(id, generation).await?;
        let read =
            move |log: &SharedLog| with_generation_check(log, generation, |log| log.shared_heads().map(Some));
        // Reading many heads takes long.
        let has_heads = lock_log(&log).has_heads_in_memory();
        if has_heads { read(&log) } else { run_blocking(move || read(&log)).await }
    }

    async fn lines(
        &self,
        id: &str,
        generation: u64,
        seqs: &[Seq],
        batch: &mut LineBatch,
    ) -> Result<(), StoreError> {
        let log = self.log_of_generation(id, generation).await?;
        with_generation_check(&log, generation, |log| log.lines(seqs, batch))
    }

    async fn append(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        let appended = self.try_append(id, expected, lines).await;
        self.close_if_replaced(id, &appended);
        appended
    }

    async fn sync(&self, id: &str) -> Result<(), StoreError> {
        let log = self.open_log(id).await?;
        run_blocking(move || lock_log(&log).sync()).await
    }

    async fn watch(&self, id: &str) -> Result<Watch, StoreError> {
        let path = lock_log(&self.open_log(id).await?).path.clone();
        let in_use = self.open_use_lock(&path);
        let in_use = match in_use {
            // A process that is replacing the log right now releases the lock soon.
            Some(lock) if lock.try_lock_shared().is_err() => {
                run_blocking(move || lock.lock_shared().is_ok().then_some(lock)).await
            }
            in_use => in_use,
        };
        self.watcher.watch(&path, in_use)
    }

    async fn acquire_lease(&self, lease: &Lease, is_conflict: LeaseConflictFn<'_>) -> Result<(), StoreError> {
        let path = lock_log(&self.open_log(&lease.session).await?).path.clone();
        let Some(files) = self.lease_files(&path) else { return Ok(()) };
        // Within a process, leases are acquired one after the other, without waiting for a lock of the operating system.
        let _turn = self.leases.turn.lock().await;
        let mut held = self.leases.remove(lease.cursor);
        let taken = files.acquire(lease, &mut held, is_conflict).await;
        if let Some(held) = held {
            self.leases.insert(lease.cursor, held);
        }
        match taken {
            // Without write access, leases cannot be shared with other processes.
            Err(StoreError::Io { .. }) => Ok(()),
            taken => taken,
        }
    }

    async fn release_lease(&self, lease: &Lease) {
        drop(self.leases.remove(lease.cursor));
    }

    async fn leases(&self, id: &str) -> Result<Vec<Lease>, StoreError> {
        let path = self.find_path_detached(id).await?;
        match self.lease_files(&path) {
            Some(files) => Ok(files.read_all().await),
            None => Ok(Vec::new()),
        }
    }

    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError> {
        let filter = filter.clone();
        self.run_detached(move |store| store.list_blocking(&filter)).await
    }

    async fn card(&self, id: &str) -> Result<Card, StoreError> {
        let log = self.open_log(id).await?;
        let mut card = self.load_open_card(&mut lock_log(&log))?;
        self.set_store_name(&mut card);
        Ok(card)
    }

    fn expect_previews(&self) {
        self.expects_previews.store(true, Ordering::Relaxed);
    }

    async fn previews(&self, id: &str, version: LogVersion) -> Result<PreviewTexts, StoreError> {
        let log = self.log_of_generation(id, version.generation).await?;
        let kept = self.previews_path(&lock_log(&log).path);
        run_blocking(move || {
            with_generation_check(&log, version.generation, |log| log.previews(kept.as_deref()))
        })
        .await
    }

    async fn search_messages(
        &self,
        query: &Arc<SearchQuery>,
        cards: &[Card],
        detail: SearchDetail,
    ) -> Option<Vec<Result<MessageMatches, StoreError>>> {
        let (query, cards) = (query.clone(), cards.to_vec());
        let cancel = CancelOnDrop::default();
        let is_canceled = cancel.0.clone();
        let search = move |store: &FileStore| store.search_blocking(&query, &cards, detail, &is_canceled);
        Some(self.run_detached(search).await)
    }

    async fn find_ids(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.find_ids_with_any(&[prefix]).await
    }

    async fn find_ids_with_any(&self, prefixes: &[&str]) -> Result<Vec<String>, StoreError> {
        let prefixes: Vec<String> = prefixes.iter().map(|prefix| (*prefix).to_owned()).collect();
        self.run_detached(move |store| store.find_blocking(&prefixes)).await
    }

    async fn is_in_use(&self, id: &str) -> Result<bool, StoreError> {
        let path = match self.find_path_detached(id).await {
            Ok(path) => path,
            Err(StoreError::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        match self.lock_if_unused(id, &path).await {
            Err(StoreError::Busy { .. }) => Ok(true),
            locked => locked.map(|_| false),
        }
    }

    async fn delete(&self, id: &str) -> Result<DeleteResult, StoreError> {
        let _unused = match self.find_path_detached(id).await {
            Ok(path) => self.lock_if_unused(id, &path).await?,
            // Deleting a session that does not exist is not an error.
            Err(_) => None,
        };
        self.delete_in_use(id).await
    }

    async fn delete_in_use(&self, id: &str) -> Result<DeleteResult, StoreError> {
        let nothing =
            DeleteResult { deleted: false, store: self.name.clone(), counts: DeletedCounts::default() };
        let found = match self.find_path_detached(id).await {
            Ok(path) => self.open(id).await.map(|opened| (path, opened.version.entries)),
            Err(error) => Err(error),
        };
        let (path, entries) = match found {
            Err(StoreError::NotFound { .. }) => {
                let id = id.to_owned();
                self.run_detached(move |store| store.erase_texts_without_log(&id)).await;
                return Ok(nothing);
            }
            found => found?,
        };
        // Erased before the log is removed, in case this process is killed, and after it, because a search may have saved
        // them again.
        self.erase_texts_detached(&path).await;
        self.close_logs_at(&path);
        fs::remove_file(&path).map_err(StoreError::io("delete", &path))?;
        let previews = self.previews_path(&path);
        for cache in
            [self.index_path(&path), self.cache_path(&path, "open", "lock"), previews].into_iter().flatten()
        {
            index::remove_cache(&cache);
        }
        if let Some(leases) = self.lease_files(&path) {
            leases.remove_all();
        }
        // No text of the session may remain in backups or in caches.
        for kept in super::replace::find_backups(&path) {
            fs::remove_file(&kept).map_err(StoreError::io("delete", &kept))?;
        }
        self.remove_card(&path);
        self.erase_texts_detached(&path).await;
        Ok(DeleteResult { deleted: true, counts: DeletedCounts { sessions: 1, entries }, ..nothing })
    }

    async fn rewrite(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        let path = lock_log(&self.log_of_generation(id, expected.generation).await?).path.clone();
        let _unused = self.lock_if_unused(id, &path).await?;
        self.rewrite_in_use(id, expected, lines).await
    }

    async fn rewrite_in_use(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        let log = self.log_of_generation(id, expected.generation).await?;
        let (lines, path) = (lines.to_vec(), lock_log(&log).path.clone());
        // Before and after, as in a deletion.
        self.erase_texts_detached(&path).await;
        let rewritten =
            run_blocking(move || retry_until_unlocked(&log, |log| log.rewrite(expected, &lines))).await;
        self.close_if_replaced(id, &rewritten);
        rewritten?;
        self.erase_texts_detached(&path).await;
        Ok(self.open(id).await?.version)
    }
}
