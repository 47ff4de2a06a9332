//! The store in plain files: one JSONL file per session, in pi's format, with caches beside it that can be deleted at any
//! time.

mod cards;
mod index;
mod listing;
mod log;
pub mod names;
mod previews;
mod reader;
mod replace;
mod stamp;
mod verify;
mod watcher;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use osier_tree::projection::card::{Card, CardFold};
use osier_tree::{Head, Header, Seq, header};
use rustc_hash::FxHashMap;

use crate::batch::Batch;
use crate::error::StoreError;
use crate::texts::Texts;
use crate::port::{Counts, Deleted, Filter, Opened, Page, Store, Version, Watch};
use cards::{Cards, Kept};
use listing::Listing;
use log::{Attempt, Log, WriteFn};
pub use names::folder_of;
pub use verify::{Oddity, Verified, verify};

/// What cards and messages call this store.
const NAME: &str = "file";

/// How long an append waits for the lock of a file. It is held for one write, so a holder of seconds is a stopped process.
const PATIENCE: Duration = Duration::from_secs(10);

/// See the module. A session id with a `/` in it is the path of a file, wherever it lies.
#[derive(Debug)]
pub struct FileStore {
    sessions: PathBuf,
    caches: Option<PathBuf>,
    write: WriteFn,
    logs: Mutex<FxHashMap<String, Shared>>,
}

type Shared = Arc<Mutex<Log>>;

fn plain_write(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    file.write(bytes)
}

impl FileStore {
    /// `sessions` holds the files, `caches` what makes them fast. Neither has to exist.
    pub fn new(sessions: impl Into<PathBuf>, caches: Option<PathBuf>) -> FileStore {
        FileStore { sessions: sessions.into(), caches, write: plain_write, logs: Mutex::default() }
    }

    /// A store that writes with `write`: for tests of what happens when a disk is full.
    #[doc(hidden)]
    pub fn writing_with(mut self, write: fn(&File, &[u8]) -> io::Result<usize>) -> FileStore {
        self.write = write;
        self
    }

    /// The name by which this store knows a file, wherever it lies.
    pub fn id_of_path(path: &Path) -> io::Result<String> {
        Ok(std::path::absolute(path)?.to_string_lossy().into_owned())
    }

    /// The folder for sessions of a working directory.
    pub fn folder(&self, cwd: &Path) -> PathBuf {
        self.sessions.join(folder_of(cwd))
    }

    /// Makes a session in a file of the caller's choice.
    pub async fn create_at(
        &self,
        path: &Path,
        header: &Header,
        lines: &[Vec<u8>],
    ) -> Result<Opened, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            names::make_folder(folder).map_err(StoreError::io("create", folder))?;
        }
        let all: Vec<Vec<u8>> = std::iter::once(header.line()).chain(lines.iter().cloned()).collect();
        replace::create(path, &all)?;
        let id = FileStore::id_of_path(path).map_err(StoreError::io("find", path))?;
        self.open(&id).await
    }

    /// A cache file that belongs to a log.
    fn cache_path(&self, path: &Path, folder: &str, ending: &str) -> Option<PathBuf> {
        use std::os::unix::ffi::OsStrExt;
        let absolute = std::path::absolute(path).ok()?;
        let hash = blake3::hash(absolute.as_os_str().as_bytes()).to_hex();
        Some(self.caches.as_ref()?.join(folder).join(format!("{}.{ending}", &hash[..32])))
    }

    fn index_path(&self, path: &Path) -> Option<PathBuf> {
        self.cache_path(path, "index", "idx")
    }

    /// A file that whoever watches a session holds a shared lock on, so that nobody deletes it under him.
    fn in_use(&self, path: &Path) -> Option<File> {
        let lock = self.cache_path(path, "open", "lock")?;
        names::make_folder(lock.parent()?).ok()?;
        index::private().read(true).write(true).create(true).truncate(false).open(lock).ok()
    }

    fn cards_path(&self, folder: &Path) -> Option<PathBuf> {
        let name = folder.file_name()?.to_string_lossy().into_owned();
        let inside = folder.parent() == Some(&*self.sessions);
        Some(self.caches.as_ref().filter(|_| inside)?.join("cards").join(format!("{name}.jsonl")))
    }

    fn not_found(&self, id: &str) -> StoreError {
        StoreError::NotFound { store: self.name().to_owned(), id: id.to_owned() }
    }

    /// The file of a session.
    fn path_of(&self, id: &str) -> Result<PathBuf, StoreError> {
        if id.contains('/') {
            let path = PathBuf::from(id);
            return if path.exists() { Ok(path) } else { Err(self.not_found(id)) };
        }
        self.path_by_name(id)?.map_or_else(|| self.path_by_header(id), Ok)
    }

    fn path_by_name(&self, id: &str) -> Result<Option<PathBuf>, StoreError> {
        let named = |path: &PathBuf| path.file_name().and_then(names::id_in) == Some(id);
        Ok(self.all_files()?.into_iter().find(named))
    }

    /// A file that somebody renamed still says in its header which session it is.
    fn path_by_header(&self, id: &str) -> Result<PathBuf, StoreError> {
        let is_it = |path: &PathBuf| {
            let header = File::open(path).ok().and_then(|file| log::find_header(path, &file).ok());
            header.is_some_and(|header| header.id == id)
        };
        self.all_files()?.into_iter().find(is_it).ok_or_else(|| self.not_found(id))
    }

    fn all_files(&self) -> Result<Vec<PathBuf>, StoreError> {
        let list = || -> io::Result<Vec<PathBuf>> {
            let mut files = Vec::new();
            for folder in names::folders_in(&self.sessions)? {
                files.extend(names::files_in(&folder)?);
            }
            Ok(files)
        };
        list().map_err(StoreError::io("list", &self.sessions))
    }

    fn kept(&self) -> MutexGuard<'_, FxHashMap<String, Shared>> {
        self.logs.lock().expect("no code panics while it holds the lock")
    }

    /// The log of a session, read on a thread that may take its time.
    async fn log(&self, id: &str) -> Result<Shared, StoreError> {
        if let Some(log) = self.kept().get(id) {
            return Ok(log.clone());
        }
        let path = self.path_of(id)?;
        let index = self.index_path(&path);
        let log = unblock(move || Log::open(&path, index)).await.map_err(|error| match error {
            StoreError::Vanished { .. } => self.not_found(id),
            other => other,
        })?;
        Ok(self.kept().entry(id.to_owned()).or_insert_with(|| Arc::new(Mutex::new(log))).clone())
    }

    fn forget(&self, id: &str) {
        self.kept().remove(id);
    }

    /// The log, if it still is of this generation.
    async fn of_generation(&self, id: &str, generation: u64) -> Result<Shared, StoreError> {
        let log = self.log(id).await?;
        if locked(&log).version().generation == generation { Ok(log) } else { Err(StoreError::Replaced) }
    }

    /// Replaces a file of an old version by what it was read as.
    async fn migrate(&self, id: &str, log: &Shared) -> Result<(), StoreError> {
        let (path, stamp, size, version, lines) = {
            let log = locked(log);
            let Some(lines) = log.migrated.clone() else { return Ok(()) };
            (log.path.clone(), log.stamp, log.size_covered(), log.header.version, lines)
        };
        let suffix = format!(".v{version}.bak");
        unblock(move || replace::exchange(&path, stamp, size, &lines, &suffix)).await?;
        self.forget(id);
        Ok(())
    }

    fn opened(log: &Log) -> Opened {
        Opened {
            header: log.header.clone(),
            version: log.version(),
            odd_lines: log.odd_lines(),
            file: Some(log.path.clone()),
        }
    }

    /// The card of a file: the one kept, gone on from if the file grew, or made by reading it.
    fn card_of(&self, path: &Path, cards: &mut Cards) -> Result<Card, StoreError> {
        let metadata = fs::metadata(path).map_err(StoreError::io("look at", path))?;
        let kept = cards.get(path);
        if let Some(kept) = kept.filter(|kept| kept.counts_for(&metadata)) {
            return Ok(kept.card.clone());
        }
        let begun = kept.filter(|kept| kept.begins(&metadata)).map(|kept| kept.card.clone());
        let mut log = Log::open(path, self.index_path(path))?;
        let card = self.card_of_log(&mut log, begun)?;
        cards.put(Kept::new(path, &metadata, log.size_covered(), card.clone()));
        Ok(card)
    }

    fn card_of_log(&self, log: &mut Log, begun: Option<Card>) -> Result<Card, StoreError> {
        if let Some(fold) = &log.card {
            return Ok(fold.card().clone());
        }
        if let Some(card) = begun.filter(|card| card.id == log.header.id) {
            let from = card.entry_count as usize;
            let heads = log.folded()?.clone();
            if heads.is_regular() && from <= heads.len() {
                let mut fold = CardFold::resume(card, &heads);
                feed_from(log, &heads, from, &mut fold)?;
                let card = fold.card().clone();
                log.card = Some(fold);
                return Ok(card);
            }
        }
        log.make_card()
    }

    /// Notes the card of a log that this process wrote to, so that the next list need not read it.
    fn keep_card(&self, log: &mut Log) {
        let Some(card) = log.card.as_ref().map(|fold| fold.card().clone()) else { return };
        let (Some(folder), Ok(metadata)) = (log.path.parent(), fs::metadata(&log.path)) else { return };
        let mut cards = Cards::load(self.cards_path(folder));
        if !cards.get(&log.path).is_some_and(|kept| kept.counts_for(&metadata)) {
            cards.put(Kept::new(&log.path, &metadata, log.size_covered(), card));
            cards.save(usize::MAX / 8);
        }
    }
}

fn feed_from(
    log: &mut Log,
    heads: &osier_tree::Heads,
    from: usize,
    fold: &mut CardFold,
) -> Result<(), StoreError> {
    let wanted: Vec<Seq> = (from..heads.len()).map(Seq::new).collect();
    let mut batch = Batch::default();
    let mut rest = wanted.as_slice();
    while !rest.is_empty() {
        log.lines(rest, &mut batch)?;
        for (seq, line) in rest.iter().zip(batch.iter()) {
            if let Ok(entry) = osier_tree::entry::read_entry(line) {
                fold.feed(&entry, *seq, heads);
            }
        }
        rest = &rest[batch.len().max(1)..];
    }
    Ok(())
}

fn locked(log: &Shared) -> MutexGuard<'_, Log> {
    log.lock().expect("no code panics while it holds the lock")
}

/// Runs what may take long on a thread for it.
async fn unblock<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(f).await {
        Ok(value) => value,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

/// Tries until the lock is free or patience ends.
fn append_patiently(
    log: &Shared,
    expected: Version,
    lines: &[Vec<u8>],
    write: WriteFn,
) -> Result<Version, StoreError> {
    let begin = Instant::now();
    let mut pause = Duration::from_micros(20);
    loop {
        if let Attempt::Done(version) = locked(log).append(expected, lines, write)? {
            return Ok(version);
        }
        if begin.elapsed() > PATIENCE {
            return Err(StoreError::Locked { path: locked(log).path.clone(), seconds: PATIENCE.as_secs() });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(2));
    }
}

#[async_trait]
impl Store for FileStore {
    fn name(&self) -> &str {
        NAME
    }

    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<Opened, StoreError> {
        if !header::is_valid_id(&header.id) {
            return Err(StoreError::InvalidId { id: header.id.clone() });
        }
        if self.path_by_name(&header.id)?.is_some() {
            return Err(StoreError::AlreadyExists { id: header.id.clone() });
        }
        let path = self.folder(Path::new(&header.cwd)).join(names::file_of(header));
        self.create_at(&path, header, lines).await?;
        self.open(&header.id).await
    }

    async fn open(&self, id: &str) -> Result<Opened, StoreError> {
        let log = self.log(id).await?;
        let refreshed = locked(&log).refresh();
        match refreshed {
            Ok(()) => Ok(FileStore::opened(&locked(&log))),
            Err(StoreError::Replaced) => {
                self.forget(id);
                let log = self.log(id).await?;
                Ok(FileStore::opened(&locked(&log)))
            }
            Err(error) => Err(error),
        }
    }

    async fn heads(
        &self,
        id: &str,
        generation: u64,
        after: usize,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let log = self.of_generation(id, generation).await?;
        locked(&log).heads(after, limit)
    }

    async fn lines(
        &self,
        id: &str,
        generation: u64,
        wanted: &[Seq],
        batch: &mut Batch,
    ) -> Result<(), StoreError> {
        let log = self.of_generation(id, generation).await?;
        locked(&log).lines(wanted, batch)
    }

    async fn append(&self, id: &str, expected: Version, lines: &[Vec<u8>]) -> Result<Version, StoreError> {
        let mut log = self.of_generation(id, expected.generation).await?;
        let mut expected = expected;
        let old = locked(&log).migrated.is_some();
        if old {
            self.migrate(id, &log).await?;
            log = self.log(id).await?;
            expected.generation = locked(&log).version().generation;
        }
        let attempt = locked(&log).append(expected, lines, self.write);
        match attempt {
            Ok(Attempt::Done(version)) => Ok(version),
            Ok(Attempt::Locked) => {
                let (lines, write) = (lines.to_vec(), self.write);
                unblock(move || append_patiently(&log, expected, &lines, write)).await
            }
            Err(error) => {
                if let StoreError::Replaced = error {
                    self.forget(id);
                }
                Err(error)
            }
        }
    }

    async fn sync(&self, id: &str) -> Result<(), StoreError> {
        let log = self.log(id).await?;
        let task = log.clone();
        unblock(move || locked(&task).sync()).await?;
        self.keep_card(&mut locked(&log));
        Ok(())
    }

    async fn watch(&self, id: &str) -> Result<Watch, StoreError> {
        let path = locked(&self.log(id).await?).path.clone();
        let in_use = self.in_use(&path).filter(|lock| lock.try_lock_shared().is_ok());
        watcher::watch(&path, in_use)
    }

    async fn list(&self, filter: &Filter) -> Result<Page, StoreError> {
        let folders = match &filter.cwd {
            Some(cwd) => vec![self.folder(cwd)],
            None => names::folders_in(&self.sessions).map_err(StoreError::io("list", &self.sessions))?,
        };
        let mut listing = Listing::new(filter);
        for folder in &folders {
            listing.add(folder, self.cards_path(folder))?;
        }
        listing.read(|path, cards| self.card_of(path, cards));
        Ok(listing.page(filter))
    }

    async fn card(&self, id: &str) -> Result<Card, StoreError> {
        let log = self.log(id).await?;
        let mut log = locked(&log);
        let folder = log.path.parent().map(Path::to_owned).unwrap_or_default();
        let cards = Cards::load(self.cards_path(&folder));
        let metadata = fs::metadata(&log.path).map_err(StoreError::io("look at", &log.path))?;
        match cards.get(&log.path) {
            Some(kept) if kept.counts_for(&metadata) => Ok(kept.card.clone()),
            kept => {
                let begun = kept.filter(|kept| kept.begins(&metadata)).map(|kept| kept.card.clone());
                let card = self.card_of_log(&mut log, begun)?;
                self.keep_card(&mut log);
                Ok(card)
            }
        }
    }

    async fn previews(&self, id: &str, version: Version) -> Result<Texts, StoreError> {
        let log = self.of_generation(id, version.generation).await?;
        let kept = self.cache_path(&locked(&log).path, "previews", "txt");
        unblock(move || locked(&log).previews(kept.as_deref())).await
    }

    async fn find(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let files = self.all_files()?;
        let ids = files.iter().filter_map(|path| names::id_in(path.file_name()?));
        let mut ids: Vec<String> = ids.filter(|id| id.starts_with(prefix)).map(String::from).collect();
        ids.sort();
        Ok(ids)
    }

    async fn delete(&self, id: &str) -> Result<Deleted, StoreError> {
        let nothing = Deleted { deleted: false, store: self.name().to_owned(), counts: Counts::default() };
        let path = match self.path_of(id) {
            Ok(path) => path,
            Err(StoreError::NotFound { .. }) => return Ok(nothing),
            Err(error) => return Err(error),
        };
        if self.in_use(&path).is_some_and(|lock| lock.try_lock().is_err()) {
            return Err(StoreError::Busy { id: id.to_owned() });
        }
        let entries = match self.open(id).await {
            Ok(opened) => opened.version.entries,
            Err(StoreError::NotFound { .. }) => return Ok(nothing),
            Err(error) => return Err(error),
        };
        self.forget(id);
        fs::remove_file(&path).map_err(StoreError::io("delete", &path))?;
        let previews = self.cache_path(&path, "previews", "txt");
        for cache in [self.index_path(&path), self.cache_path(&path, "open", "lock"), previews].into_iter().flatten() {
            index::discard(&cache);
        }
        Ok(Deleted { deleted: true, counts: Counts { sessions: 1, entries }, ..nothing })
    }

    async fn rewrite(&self, id: &str, expected: Version, lines: &[Vec<u8>]) -> Result<Version, StoreError> {
        let log = self.of_generation(id, expected.generation).await?;
        let (path, stamp, size, header) = {
            let mut log = locked(&log);
            log.refresh()?;
            if log.version() != expected {
                return Err(StoreError::Conflict { now: log.version() });
            }
            (log.path.clone(), log.stamp, log.size_covered(), log.header_line()?)
        };
        let all: Vec<Vec<u8>> = std::iter::once(header).chain(lines.iter().cloned()).collect();
        unblock(move || replace::exchange(&path, stamp, size, &all, ".bak")).await?;
        self.forget(id);
        Ok(self.open(id).await?.version)
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        let logs = std::mem::take(&mut *self.kept());
        for log in logs.values() {
            let mut log = locked(log);
            log.save_index();
            self.keep_card(&mut log);
        }
    }
}
