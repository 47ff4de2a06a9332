//! Watches files with the notifications of the operating system. All file stores of a process share one watcher: it has a
//! thread, and the system limits how many there are.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use rustc_hash::FxHashMap;
use tokio::sync::watch;

use crate::error::StoreError;
use crate::store::Watch;

/// The watched files, each with the channels to notify.
type WatchedFiles = Arc<Mutex<FxHashMap<PathBuf, Vec<watch::Sender<u64>>>>>;

/// See the module.
#[derive(Clone)]
pub(super) struct FileWatcher(Arc<SharedWatcher>);

#[derive(Default)]
struct SharedWatcher {
    files: WatchedFiles,
    /// `None` until the first file is watched. It is never locked by the thread of the watcher.
    system: Mutex<Option<RecommendedWatcher>>,
}

/// The watcher of this process, as long as a store uses it.
static SHARED: Mutex<Weak<SharedWatcher>> = Mutex::new(Weak::new());

impl fmt::Debug for FileWatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileWatcher").finish_non_exhaustive()
    }
}

/// Stops the watch when it is dropped.
#[derive(Debug)]
struct WatchGuard {
    watcher: FileWatcher,
    path: PathBuf,
    /// Locked while the watch exists.
    _in_use: Option<File>,
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        self.watcher.forget_closed(&self.path);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FileWatcher {
    /// The watcher of this process.
    pub(super) fn shared() -> FileWatcher {
        let mut shared = lock(&SHARED);
        let watcher = shared.upgrade().unwrap_or_default();
        *shared = Arc::downgrade(&watcher);
        FileWatcher(watcher)
    }

    /// Watches the file's folder, because the file itself may be replaced.
    pub(super) fn watch(&self, path: &Path, in_use: Option<File>) -> Result<Watch, StoreError> {
        let watch_error = |error: notify::Error| StoreError::io("watch", path)(std::io::Error::other(error));
        let (sender, receiver) = watch::channel(0);
        // The operating system watches a folder once, however its path is spelled, and reports one spelling.
        let folder = folder_of(path).canonicalize().map_err(StoreError::io("watch", path))?;
        let path = folder.join(path.file_name().unwrap_or_default());
        let mut system = lock(&self.0.system);
        let watcher = match &mut *system {
            Some(watcher) => watcher,
            empty => {
                let files = self.0.files.clone();
                let created = notify::recommended_watcher(move |event| notify_files(&files, event));
                empty.insert(created.map_err(watch_error)?)
            }
        };
        lock(&self.0.files).entry(path.clone()).or_default().push(sender);
        let guard = WatchGuard { watcher: self.clone(), path, _in_use: in_use };
        // The folder may be a new one with the name of an old one.
        let watched = watcher.watch(&folder, RecursiveMode::NonRecursive).map_err(watch_error);
        drop(system);
        // A watch drops the receiver before the guard, so the guard sees that its channel is closed.
        let watch = Watch::new(receiver, Some(Box::new(guard)));
        watched.map(|()| watch)
    }

    /// Forgets the channels of a file that nobody receives from, and its folder if nothing else in it is watched.
    fn forget_closed(&self, path: &Path) {
        let mut system = lock(&self.0.system);
        let folder = folder_of(path);
        let is_folder_watched = {
            let mut files = lock(&self.0.files);
            if let Some(senders) = files.get_mut(path) {
                senders.retain(|sender| !sender.is_closed());
                if senders.is_empty() {
                    files.remove(path);
                }
            }
            files.keys().any(|other| folder_of(other) == folder)
        };
        if let Some(watcher) = system.as_mut().filter(|_| !is_folder_watched) {
            // It may be gone.
            let _ = watcher.unwatch(&folder);
        }
    }
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

/// Notifies the channels of the files that an event is about.
fn notify_files(files: &WatchedFiles, event: notify::Result<notify::Event>) {
    let changed = |sender: &watch::Sender<u64>| sender.send_modify(|count| *count += 1);
    match event {
        Ok(event) if event.need_rescan() => lock(files).values().flatten().for_each(changed),
        Ok(event) if event.kind.is_access() => {}
        Ok(event) => {
            let files = lock(files);
            event.paths.iter().filter_map(|path| files.get(path)).flatten().for_each(changed);
        }
        Err(error) => {
            tracing::debug!(%error, "the file watcher reported an error");
            // An error may hide a change, so it counts as one.
            lock(files).values().flatten().for_each(changed);
        }
    }
}
