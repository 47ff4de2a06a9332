//! Leases, each in a small file in `open/` next to the caches. A lease is valid while its file is locked, so it ends
//! with its process.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::{LOCK_TIMEOUT, index, names};
use crate::error::StoreError;
use crate::lease::{Lease, LeaseConflictFn};

/// A lease is a line of JSON.
const MAX_BYTES: u64 = 64 << 10;

/// The leases that a store holds, by cursor.
#[derive(Debug, Default)]
pub(super) struct HeldLeases {
    by_cursor: Mutex<FxHashMap<u64, HeldLease>>,
    /// Locked while a lease is acquired.
    pub(super) turn: tokio::sync::Mutex<()>,
}

/// A lease file, locked until this is dropped.
#[derive(Debug)]
pub(super) struct HeldLease {
    path: PathBuf,
    file: File,
}

/// The lease files of one session.
#[derive(Debug, Clone)]
pub(super) struct LeaseFiles {
    folder: PathBuf,
    /// The prefix of their names.
    prefix: String,
}

impl HeldLeases {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<u64, HeldLease>> {
        self.by_cursor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, cursor: u64, lease: HeldLease) {
        self.lock().insert(cursor, lease);
    }

    pub(super) fn remove(&self, cursor: u64) -> Option<HeldLease> {
        self.lock().remove(&cursor)
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        index::remove_cache(&self.path);
    }
}

impl LeaseFiles {
    /// `lock` is the file that every process locks that has the session open.
    pub(super) fn for_lock_file(lock: &Path) -> Option<LeaseFiles> {
        let session = lock.file_stem()?.to_string_lossy().into_owned();
        Some(LeaseFiles { folder: lock.parent()?.to_owned(), prefix: session })
    }

    /// Acquires a lease, or updates `held`, unless another lease conflicts.
    pub(super) async fn acquire(
        &self,
        lease: &Lease,
        held: &mut Option<HeldLease>,
        is_conflict: LeaseConflictFn<'_>,
    ) -> Result<(), StoreError> {
        let guard = self.lock_folder().await?;
        let others = self.read(Some(&guard));
        if let Some(other) =
            others.into_iter().find(|other| other.cursor != lease.cursor && is_conflict(other))
        {
            return Err(StoreError::Leased { lease: Box::new(other) });
        }
        if let Some(held) = held {
            return held.write(lease).map_err(StoreError::io("write", held.path.clone()));
        }
        let mut new = self.create(lease)?;
        new.write(lease).map_err(StoreError::io("write", new.path.clone()))?;
        *held = Some(new);
        Ok(())
    }

    /// The leases held by any process.
    pub(super) async fn read_all(&self) -> Vec<Lease> {
        match self.paths().is_empty() {
            true => Vec::new(),
            false => self.read(self.lock_folder().await.ok().as_ref()),
        }
    }

    /// Removes all lease files of a deleted session.
    pub(super) fn remove_all(&self) {
        self.paths().iter().for_each(|path| index::remove_cache(path));
    }

    fn create(&self, lease: &Lease) -> Result<HeldLease, StoreError> {
        let path = self.folder.join(format!("{}.{:016x}.lease", self.prefix, lease.cursor));
        let file = index::private_options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(StoreError::io("create", &path))?;
        file.try_lock().map_err(|error| StoreError::io("lock", &path)(error.into()))?;
        Ok(HeldLease { path, file })
    }

    /// Reads the leases. With the guard, also removes those of dead processes.
    fn read(&self, guard: Option<&File>) -> Vec<Lease> {
        let mut leases = Vec::new();
        for path in self.paths() {
            match read_lease_file(&path) {
                Some(LeaseFileState::Held(lease)) => leases.push(lease),
                Some(LeaseFileState::Abandoned) if guard.is_some() => index::remove_cache(&path),
                Some(LeaseFileState::Abandoned) | None => {}
            }
        }
        leases
    }

    fn paths(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_ours = |name: &str| name.starts_with(&self.prefix) && name.ends_with(".lease");
        files.filter(|file| file.file_name().to_str().is_some_and(is_ours)).map(|file| file.path()).collect()
    }

    /// Locks the folder, so that only one process at a time reads and acquires leases.
    async fn lock_folder(&self) -> Result<File, StoreError> {
        let path = self.folder.join("leases.lock");
        let opened = names::make_folder(&self.folder).and_then(|()| {
            index::private_options().read(true).write(true).create(true).truncate(false).open(&path)
        });
        let guard = opened.map_err(StoreError::io("open", &path))?;
        let begin = Instant::now();
        loop {
            match guard.try_lock() {
                Ok(()) => return Ok(guard),
                Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", &path)(error)),
                Err(TryLockError::WouldBlock) if begin.elapsed() > LOCK_TIMEOUT => {
                    return Err(StoreError::Locked { path, seconds: LOCK_TIMEOUT.as_secs() });
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    }
}

impl HeldLease {
    fn write(&mut self, lease: &Lease) -> std::io::Result<()> {
        let text = serde_json::to_vec(lease)?;
        self.file.rewind()?;
        self.file.write_all(&text)?;
        self.file.set_len(text.len() as u64)
    }
}

/// The content of a lease file.
enum LeaseFileState {
    Held(Lease),
    /// Its process died.
    Abandoned,
}

fn read_lease_file(path: &Path) -> Option<LeaseFileState> {
    let file = super::file_identity::open_cache(path)?;
    if file.try_lock_shared().is_ok() {
        return Some(LeaseFileState::Abandoned);
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok().map(LeaseFileState::Held)
}
