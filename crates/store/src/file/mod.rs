//! The file store: one JSONL file per session, in pi's format. Its caches can be deleted at any time.
//!
//! # Locks and replacement
//!
//! The lock of a file is held for one append. After locking, the writer checks that the path still names the file it holds. If not, the log was
//! replaced, and it starts again with the new file. A process that replaces a file holds the lock of the old one during the exchange. A replaced log has a new
//! generation; indexes of the old one are invalid, and clients get `Reset`. Each cursor then moves to the entry with the same id, or to
//! its closest kept ancestor.
//!
//! A turn belongs to one process, by a lease in the store (`store/lease.rs`, `session/writer/leases.rs`). It is acquired when the turn starts, names the
//! branch before its first entry is appended, and is released at the end. The writer checks the leases of others before a turn, a move, a
//! compaction and a deletion of a branch, and nowhere else.
//!
//! pi takes no lock. Osier's `write` is in append mode and one call, so the two never mix within a line.
//!
//! # Caches
//!
//! All are in `cache` in the home folder, never beside sessions. Each is checked before use; if anything is wrong, the log is read instead.
//!
//! | cache | contents | valid only if |
//! |---|---|---|
//! | `index/` | heads as 64-byte records in blocks with checksums, read in place, when they are needed. Only for logs of 128 KiB and more | device, inode, birth time, covered size and the hash of the last covered line match; and each fetched line has the id and the parent of its head |
//! | `previews/` | the one-line preview of each entry; read when a tree is drawn or searched | the same file, the hash of its last covered entry, and a checksum match |
//! | `cards/` | one file per folder of sessions, those of other folders in `elsewhere/`; each line has a checksum, and the last one for a session counts | inode, size and modification time match |
//! | `texts/` | one file per folder of sessions: the texts of the messages, in records with a signature of the trigrams in each; read when sessions are searched | device, inode, birth time, size, modification and change time, and checksums match |
//!
//! If a log has grown, it is read from where the cache ends. `verify` uses no cache. `open/` beside them holds locks: a process that has a session open
//! holds one, and `delete` and `gc` skip that session. A lease is there too, in a file that is locked while its turn runs.

mod cards;
mod file_identity;
mod index;
mod leases;
mod listing;
mod log;
pub mod names;
mod parallel;
mod preview_writer;
mod previews;
mod reader;
mod replace;
mod store;
mod texts;
mod verify;
mod watcher;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use osier_tree::{Header, header};
use rustc_hash::FxHashMap;

use crate::error::StoreError;
use crate::store::{OpenedLog, Store};
#[doc(hidden)]
pub use index::with_checksums;
use leases::{HeldLeases, LeaseFiles};
use log::{LockAttempt, LogFile, WriteFn};
pub use names::folder_name;
use replace::NewFile;
use texts::SearchedFolders;
pub use verify::{VerifyIssue, VerifyReport, verify};
use watcher::FileWatcher;

/// The default store name in cards and messages.
pub const DEFAULT_NAME: &str = "file";

/// How long an append waits for the lock of a file. The lock is held for one write only, so a process that holds it
/// for seconds is stopped.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The texts of a log that changed less than this before it was read are not cached: another change could leave it with
/// the same times.
const RACY_WINDOW: Duration = Duration::from_secs(2);

/// A store in plain files. A session id that contains a `/` is the path of a file anywhere.
#[derive(Debug)]
pub struct FileStore {
    name: String,
    sessions: PathBuf,
    caches: Option<PathBuf>,
    write: WriteFn,
    /// Whether the cards of the open logs are saved on drop.
    saves_cards: bool,
    logs: Mutex<FxHashMap<String, SharedLog>>,
    leases: HeldLeases,
    watcher: FileWatcher,
    racy_window: Duration,
    searched_folders: SearchedFolders,
    expects_previews: AtomicBool,
}

type SharedLog = Arc<Mutex<LogFile>>;

fn plain_write(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    file.write(bytes)
}

impl FileStore {
    /// `sessions` is the folder of the session files, `caches` that of the caches. Neither needs to exist.
    pub fn new(sessions: impl Into<PathBuf>, caches: Option<PathBuf>) -> FileStore {
        let (name, sessions) = (DEFAULT_NAME.to_owned(), sessions.into());
        FileStore {
            name,
            sessions,
            caches,
            write: plain_write,
            saves_cards: true,
            logs: Mutex::default(),
            leases: HeldLeases::default(),
            watcher: FileWatcher::shared(),
            racy_window: RACY_WINDOW,
            searched_folders: SearchedFolders::default(),
            expects_previews: AtomicBool::new(false),
        }
    }

    /// Sets the name of the store. Each store needs its own caches.
    pub fn with_name(mut self, name: impl Into<String>) -> FileStore {
        self.name = name.into();
        self
    }

    /// Replaces the write function, for tests of a full disk.
    #[doc(hidden)]
    pub fn with_write_fn(mut self, write: fn(&File, &[u8]) -> io::Result<usize>) -> FileStore {
        self.write = write;
        self
    }

    /// Replaces the time after a change in which the texts of a log are not cached, for tests of the cache.
    #[doc(hidden)]
    pub fn with_racy_window(mut self, window: Duration) -> FileStore {
        self.racy_window = window;
        self
    }

    /// The session id for the file at `path`, which can be outside the store's folder.
    pub fn path_to_id(path: &Path) -> io::Result<String> {
        Ok(std::path::absolute(path)?.to_string_lossy().into_owned())
    }

    /// The folder for the sessions of a working directory.
    pub fn session_folder(&self, cwd: &Path) -> PathBuf {
        self.sessions.join(folder_name(cwd))
    }

    /// Creates a session in the file at `path`.
    pub async fn create_at(
        &self,
        path: &Path,
        header: &Header,
        lines: &[Vec<u8>],
    ) -> Result<OpenedLog, StoreError> {
        let id = FileStore::path_to_id(path).map_err(StoreError::io("find", path))?;
        let mut file = FileStore::start_file(path, header)?;
        file.write_lines(lines).map_err(StoreError::io("create", path))?;
        self.open_new(&id, path, file).await
    }

    /// Puts a new file in its place and opens it.
    async fn open_new(&self, id: &str, path: &Path, file: NewFile) -> Result<OpenedLog, StoreError> {
        let (path, index) = (path.to_owned(), self.index_path(path));
        // Syncing takes long; several sessions are often created at once.
        let log = run_blocking(move || {
            file.persist(&path)?;
            LogFile::open(&path, index)
        });
        let log = Arc::new(Mutex::new(log.await?));
        self.open_logs().insert(id.to_owned(), log.clone());
        Ok(FileStore::describe_log(&lock_log(&log)))
    }

    /// Creates a temporary file and writes the header to it.
    fn start_file(path: &Path, header: &Header) -> Result<NewFile, StoreError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            names::make_folder(folder).map_err(StoreError::io("create", folder))?;
        }
        let mut file =
            NewFile::create_in(folder.unwrap_or(Path::new("."))).map_err(StoreError::io("create", path))?;
        file.write_lines([header.to_line()]).map_err(StoreError::io("create", path))?;
        Ok(file)
    }

    /// The path for a new session, if its id is not in use.
    async fn unused_path(&self, header: &Header) -> Result<PathBuf, StoreError> {
        if !header::is_valid_id(&header.id) {
            return Err(StoreError::InvalidId { id: header.id.clone() });
        }
        let id = header.id.clone();
        match self.run_detached(move |store| store.find_path_by_name(&id)).await? {
            Some(_) => Err(StoreError::AlreadyExists { id: header.id.clone() }),
            None => Ok(self.path_for(header)),
        }
    }

    /// The path for a new session.
    fn path_for(&self, header: &Header) -> PathBuf {
        self.session_folder(Path::new(&header.cwd)).join(names::file_name(header))
    }

    /// The path of a cache file for a log.
    fn cache_path(&self, path: &Path, folder: &str, ending: &str) -> Option<PathBuf> {
        use std::os::unix::ffi::OsStrExt;
        let absolute = std::path::absolute(path).ok()?;
        let hash = blake3::hash(absolute.as_os_str().as_bytes()).to_hex();
        Some(self.caches.as_ref()?.join(folder).join(format!("{}.{ending}", &hash[..32])))
    }

    fn previews_path(&self, path: &Path) -> Option<PathBuf> {
        self.cache_path(path, "previews", "txt")
    }

    fn index_path(&self, path: &Path) -> Option<PathBuf> {
        self.cache_path(path, "index", "idx")
    }

    /// Locks a session that no process has open, so that none can open it. Returns `Busy` if one has, and `None` if
    /// there is no folder for locks.
    async fn lock_if_unused(&self, id: &str, path: &Path) -> Result<Option<File>, StoreError> {
        let (Some(lock), Some(leases)) = (self.open_use_lock(path), self.lease_files(path)) else {
            return Ok(None);
        };
        match lock.try_lock().is_ok() && leases.read_all().await.is_empty() {
            true => Ok(Some(lock)),
            false => Err(StoreError::Busy { id: id.to_owned() }),
        }
    }

    /// The lease files of a session; `None` if there is no folder for them.
    fn lease_files(&self, path: &Path) -> Option<LeaseFiles> {
        LeaseFiles::for_lock_file(&self.cache_path(path, "open", "lock")?)
    }

    /// Opens the lock file of a session. Every process that watches the session holds a shared lock on it, which
    /// prevents deletion.
    fn open_use_lock(&self, path: &Path) -> Option<File> {
        let lock = self.cache_path(path, "open", "lock")?;
        names::make_folder(lock.parent()?).ok()?;
        index::private_options().read(true).write(true).create(true).truncate(false).open(lock).ok()
    }

    /// The card cache of a folder. The folder can be outside the store's own.
    fn cards_path(&self, folder: &Path) -> Option<PathBuf> {
        if folder.parent() != Some(&*self.sessions) {
            return self.cache_path(folder, "cards/elsewhere", "jsonl");
        }
        let name = folder.file_name()?.to_string_lossy().into_owned();
        Some(self.caches.as_ref()?.join("cards").join(format!("{name}.jsonl")))
    }

    fn not_found(&self, id: &str) -> StoreError {
        StoreError::NotFound { store: self.name().to_owned(), id: id.to_owned() }
    }

    /// The file of a session.
    fn find_path(&self, id: &str) -> Result<PathBuf, StoreError> {
        if id.contains('/') {
            let path = PathBuf::from(id);
            return if path.exists() { Ok(path) } else { Err(self.not_found(id)) };
        }
        self.find_path_by_name(id)?.map_or_else(|| self.find_path_by_header(id), Ok)
    }

    fn find_path_by_name(&self, id: &str) -> Result<Option<PathBuf>, StoreError> {
        let named = |path: &PathBuf| path.file_name().and_then(names::id_from_file_name) == Some(id);
        Ok(self.session_files()?.into_iter().find(named))
    }

    /// Finds a renamed file by the id in its header.
    fn find_path_by_header(&self, id: &str) -> Result<PathBuf, StoreError> {
        let is_it = |path: &PathBuf| {
            let found = log::open_to_read(path).and_then(|file| log::find_header(path, &file));
            found.is_ok_and(|found| found.header.id == id)
        };
        self.session_files()?.into_iter().find(is_it).ok_or_else(|| self.not_found(id))
    }

    fn session_files(&self) -> Result<Vec<PathBuf>, StoreError> {
        let list = || -> io::Result<Vec<PathBuf>> {
            let mut files = Vec::new();
            for folder in names::folders_in(&self.sessions)? {
                files.extend(names::files_in(&folder)?);
            }
            Ok(files)
        };
        list().map_err(StoreError::io("list", &self.sessions))
    }

    /// Runs `ask` on a thread for blocking work, because folders and files may be on a file server that does not
    /// answer. The store passed to it has no open logs.
    async fn run_detached<T: Send + 'static>(&self, ask: impl FnOnce(&FileStore) -> T + Send + 'static) -> T {
        let aside = self.without_open_logs();
        run_blocking(move || ask(&aside)).await
    }

    /// Another instance of this store with no open logs. It saves no cards.
    fn without_open_logs(&self) -> FileStore {
        let mut other_store = FileStore::new(&self.sessions, self.caches.clone()).with_name(&*self.name);
        other_store.saves_cards = false;
        other_store.racy_window = self.racy_window;
        other_store.searched_folders = self.searched_folders.clone();
        other_store
    }

    fn open_logs(&self) -> MutexGuard<'_, FxHashMap<String, SharedLog>> {
        self.logs.lock().expect("no code panics while holding the lock")
    }

    /// The log of a session. Opens it on a thread for blocking work.
    async fn open_log(&self, id: &str) -> Result<SharedLog, StoreError> {
        if let Some(log) = self.open_logs().get(id) {
            return Ok(log.clone());
        }
        let wanted = id.to_owned();
        let expects_previews = self.expects_previews.swap(false, Ordering::Relaxed);
        let open = move |store: &FileStore| {
            let path = store.find_path(&wanted)?;
            let previews = expects_previews.then(|| store.previews_path(&path)).flatten();
            LogFile::open_with_previews(&path, store.index_path(&path), previews)
        };
        let log = self.run_detached(open).await.map_err(|error| match error {
            StoreError::Vanished { .. } => self.not_found(id),
            other => other,
        })?;
        Ok(self.open_logs().entry(id.to_owned()).or_insert_with(|| Arc::new(Mutex::new(log))).clone())
    }

    fn close_log(&self, id: &str) {
        self.open_logs().remove(id);
    }

    /// Closes the log of a file, whatever id it was opened by.
    fn close_logs_at(&self, path: &Path) {
        let logs: Vec<_> = self.open_logs().iter().map(|(id, log)| (id.clone(), log.clone())).collect();
        for (id, _) in logs.into_iter().filter(|(_, log)| lock_log(log).path == path) {
            self.close_log(&id);
        }
    }

    /// The log, if it still has this generation.
    async fn log_of_generation(&self, id: &str, generation: u64) -> Result<SharedLog, StoreError> {
        let log = self.open_log(id).await?;
        if lock_log(&log).version().generation == generation { Ok(log) } else { Err(StoreError::Replaced) }
    }

    fn describe_log(log: &LogFile) -> OpenedLog {
        OpenedLog {
            header: log.header.clone(),
            version: log.version(),
            invalid_lines: log.invalid_lines(),
            file: Some(log.path.clone()),
        }
    }
}

fn lock_log(log: &SharedLog) -> MutexGuard<'_, LogFile> {
    log.lock().expect("no code panics while holding the lock")
}

/// Runs `f` on a thread for blocking work.
async fn run_blocking<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(f).await {
        Ok(value) => value,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Reads from a log and checks that its generation is still the same afterwards: reading may reveal that the index
/// was wrong, which starts a new generation.
fn with_generation_check<T>(
    log: &SharedLog,
    generation: u64,
    ask: impl FnOnce(&mut LogFile) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut log = lock_log(log);
    let answer = ask(&mut log)?;
    if log.version().generation == generation { Ok(answer) } else { Err(StoreError::Replaced) }
}

/// Retries `attempt` until the file is unlocked or `LOCK_TIMEOUT` has passed.
fn retry_until_unlocked<T>(
    log: &SharedLog,
    attempt: impl Fn(&mut LogFile) -> Result<LockAttempt<T>, StoreError>,
) -> Result<T, StoreError> {
    let begin = Instant::now();
    let mut pause = Duration::from_micros(20);
    loop {
        if let LockAttempt::Done(done) = attempt(&mut lock_log(log))? {
            return Ok(done);
        }
        if begin.elapsed() > LOCK_TIMEOUT {
            return Err(StoreError::Locked {
                path: lock_log(log).path.clone(),
                seconds: LOCK_TIMEOUT.as_secs(),
            });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(2));
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        let logs = std::mem::take(&mut *self.open_logs());
        for log in logs.values() {
            let mut log = lock_log(log);
            log.save_index();
            if self.saves_cards {
                self.save_card(&log);
            }
        }
    }
}
