//! Implements `Store` for `FileStore`.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use osier_tree::projection::card::Card;
use osier_tree::short_ids::has_prefix;
use osier_tree::{Head, Header, Heads, Seq};

use super::listing::Listing;
use super::log::Attempt;
use super::{FileStore, NAME, asked, index, locked, names, patiently, unblock, watcher};
use crate::batch::Batch;
use crate::error::StoreError;
use crate::lease::{InTheWay, Lease};
use crate::port::{Counts, Deleted, Filter, LineSource, Opened, Page, Store, Version, Watch};
use crate::texts::Texts;

impl FileStore {
    async fn try_append(
        &self,
        id: &str,
        mut expected: Version,
        lines: &[Vec<u8>],
    ) -> Result<Version, StoreError> {
        let mut log = self.of_generation(id, expected.generation).await?;
        if locked(&log).migrated.is_some() {
            unblock(move || patiently(&log, |log| log.replace_old(expected))).await?;
            self.forget(id);
            log = self.log(id).await?;
            expected.generation = locked(&log).version().generation;
        }
        if let Attempt::Done(version) = locked(&log).append(expected, lines, self.write)? {
            return Ok(version);
        }
        let (lines, write) = (lines.to_vec(), self.write);
        unblock(move || patiently(&log, |log| log.append(expected, &lines, write))).await
    }

    /// Deletes a session even if it is open. A process that has it open can no longer append to it.
    pub async fn delete_in_use(&self, id: &str) -> Result<Deleted, StoreError> {
        let nothing = Deleted { deleted: false, store: self.name.clone(), counts: Counts::default() };
        let path = match self.place_of(id).await {
            Ok(path) => path,
            Err(StoreError::NotFound { .. }) => return Ok(nothing),
            Err(error) => return Err(error),
        };
        let entries = match self.open(id).await {
            Ok(opened) => opened.version.entries,
            Err(StoreError::NotFound { .. }) => return Ok(nothing),
            Err(error) => return Err(error),
        };
        self.forget(id);
        fs::remove_file(&path).map_err(StoreError::io("delete", &path))?;
        let previews = self.cache_path(&path, "previews", "txt");
        for cache in
            [self.index_path(&path), self.cache_path(&path, "open", "lock"), previews].into_iter().flatten()
        {
            index::discard(&cache);
        }
        if let Some(leases) = self.lease_files(&path) {
            leases.forget();
        }
        // No text of the session may remain in backups or in the card cache.
        for kept in super::replace::kept_aside(&path) {
            fs::remove_file(&kept).map_err(StoreError::io("delete", &kept))?;
        }
        self.forget_card(&path);
        Ok(Deleted { deleted: true, counts: Counts { sessions: 1, entries }, ..nothing })
    }

    /// The file of a session.
    async fn place_of(&self, id: &str) -> Result<PathBuf, StoreError> {
        let id = id.to_owned();
        self.aside(move |store| store.path_of(&id)).await
    }

    fn list_now(&self, filter: &Filter) -> Result<Page, StoreError> {
        let folders = match &filter.cwd {
            Some(cwd) => vec![self.folder(cwd)],
            None => names::folders_in(&self.sessions).map_err(StoreError::io("list", &self.sessions))?,
        };
        let mut listing = Listing::new(filter);
        for folder in &folders {
            listing.add(folder, self.cards_path(folder))?;
        }
        listing.read(|path, cards| self.card_of(path, cards));
        let mut page = listing.page(filter);
        page.cards.iter_mut().for_each(|card| self.sign(card));
        Ok(page)
    }

    fn find_now(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let files = self.all_files()?;
        let ids = files.iter().filter_map(|path| names::id_in(path.file_name()?));
        let mut ids: Vec<String> = ids.filter(|id| has_prefix(id, prefix)).map(String::from).collect();
        ids.sort();
        Ok(ids)
    }

    /// Sets the store name of a card. Cached cards do not contain it.
    fn sign(&self, card: &mut Card) {
        if self.name != NAME {
            card.store.clone_from(&self.name);
        }
    }

    /// Closes a log whose file was replaced, so that the next call opens the new file.
    fn forget_replaced<T>(&self, id: &str, result: &Result<T, StoreError>) {
        if matches!(result, Ok(_) | Err(StoreError::Replaced))
            && self.kept().get(id).is_some_and(|log| locked(log).is_replaced())
        {
            self.forget(id);
        }
    }
}

#[async_trait]
impl Store for FileStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn another(&self) -> Option<Arc<dyn Store>> {
        Some(Arc::new(self.twin()))
    }

    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<Opened, StoreError> {
        let path = self.free_path(header).await?;
        self.create_at(&path, header, lines).await?;
        self.open(&header.id).await
    }

    async fn create_from(&self, header: &Header, lines: &mut dyn LineSource) -> Result<Opened, StoreError> {
        let path = self.free_path(header).await?;
        let mut file = FileStore::begin_file(&path, header)?;
        loop {
            let some = lines.next_lines().await?;
            if some.is_empty() {
                break;
            }
            file.add(some).map_err(StoreError::io("create", &path))?;
        }
        file.finish(&path)?;
        self.open(&header.id).await
    }

    fn place(&self, header: &Header) -> Option<PathBuf> {
        Some(self.path_for(header))
    }

    async fn open(&self, id: &str) -> Result<Opened, StoreError> {
        let log = self.log(id).await?;
        let refreshed = locked(&log).refresh();
        if let Err(StoreError::Replaced) = refreshed {
            self.forget(id);
            return Ok(FileStore::opened(&locked(&self.log(id).await?)));
        }
        refreshed.map(|()| FileStore::opened(&locked(&log)))
    }

    async fn heads(
        &self,
        id: &str,
        generation: u64,
        after: usize,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let log = self.of_generation(id, generation).await?;
        asked(&log, generation, |log| log.heads(after, limit))
    }

    async fn shared_heads(&self, id: &str, generation: u64) -> Result<Option<Heads>, StoreError> {
        let log = self.of_generation(id, generation).await?;
        unblock(move || asked(&log, generation, |log| log.shared_heads().map(Some))).await
    }

    async fn lines(
        &self,
        id: &str,
        generation: u64,
        wanted: &[Seq],
        batch: &mut Batch,
    ) -> Result<(), StoreError> {
        let log = self.of_generation(id, generation).await?;
        asked(&log, generation, |log| log.lines(wanted, batch))
    }

    async fn append(&self, id: &str, expected: Version, lines: &[Vec<u8>]) -> Result<Version, StoreError> {
        let appended = self.try_append(id, expected, lines).await;
        self.forget_replaced(id, &appended);
        appended
    }

    async fn sync(&self, id: &str) -> Result<(), StoreError> {
        let log = self.log(id).await?;
        unblock(move || locked(&log).sync()).await
    }

    async fn watch(&self, id: &str) -> Result<Watch, StoreError> {
        let path = locked(&self.log(id).await?).path.clone();
        let in_use = self.in_use(&path);
        // A process that is replacing the log right now releases the lock soon.
        let lock = move || in_use.filter(|lock| lock.try_lock_shared().is_ok() || lock.lock_shared().is_ok());
        watcher::watch(&path, unblock(lock).await)
    }

    async fn lease(&self, lease: &Lease, in_the_way: InTheWay<'_>) -> Result<(), StoreError> {
        let path = locked(&self.log(&lease.session).await?).path.clone();
        let Some(files) = self.lease_files(&path) else { return Ok(()) };
        let mut held = self.leases.remove(lease.cursor);
        let taken = files.take(lease, &mut held, in_the_way).await;
        if let Some(held) = held {
            self.leases.keep(lease.cursor, held);
        }
        match taken {
            // Without write access, leases cannot be shared with other processes.
            Err(StoreError::Io { .. }) => Ok(()),
            taken => taken,
        }
    }

    async fn release(&self, lease: &Lease) {
        drop(self.leases.remove(lease.cursor));
    }

    async fn leases(&self, id: &str) -> Result<Vec<Lease>, StoreError> {
        let path = self.place_of(id).await?;
        match self.lease_files(&path) {
            Some(files) => Ok(files.all().await),
            None => Ok(Vec::new()),
        }
    }

    async fn list(&self, filter: &Filter) -> Result<Page, StoreError> {
        let filter = filter.clone();
        self.aside(move |store| store.list_now(&filter)).await
    }

    async fn card(&self, id: &str) -> Result<Card, StoreError> {
        let log = self.log(id).await?;
        let mut card = self.card_of_open(&mut locked(&log))?;
        self.sign(&mut card);
        Ok(card)
    }

    async fn previews(&self, id: &str, version: Version) -> Result<Texts, StoreError> {
        let log = self.of_generation(id, version.generation).await?;
        let kept = self.cache_path(&locked(&log).path, "previews", "txt");
        unblock(move || asked(&log, version.generation, |log| log.previews(kept.as_deref()))).await
    }

    async fn find(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let prefix = prefix.to_owned();
        self.aside(move |store| store.find_now(&prefix)).await
    }

    async fn delete(&self, id: &str) -> Result<Deleted, StoreError> {
        let _unused = match self.place_of(id).await {
            Ok(path) => self.lock_unused(id, &path).await?,
            // Deleting a session that does not exist is not an error.
            Err(_) => None,
        };
        self.delete_in_use(id).await
    }

    async fn rewrite(&self, id: &str, expected: Version, lines: &[Vec<u8>]) -> Result<Version, StoreError> {
        let path = locked(&self.of_generation(id, expected.generation).await?).path.clone();
        let _unused = self.lock_unused(id, &path).await?;
        self.rewrite_in_use(id, expected, lines).await
    }

    async fn rewrite_in_use(
        &self,
        id: &str,
        expected: Version,
        lines: &[Vec<u8>],
    ) -> Result<Version, StoreError> {
        let log = self.of_generation(id, expected.generation).await?;
        let lines = lines.to_vec();
        let rewritten = unblock(move || patiently(&log, |log| log.rewrite(expected, &lines))).await;
        self.forget_replaced(id, &rewritten);
        rewritten?;
        Ok(self.open(id).await?.version)
    }
}
