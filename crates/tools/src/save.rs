//! Puts a file in place whole or not at all: written beside it, then renamed. Owner and mode of the old file stay.

use std::fs::{self, Metadata, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Gid, Uid};
use tempfile::Builder;

/// Two calls of one turn may change the same file. Each file has one of these locks, and some share one.
static LOCKS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];

/// Held from reading a file until its replacement is in place.
pub(crate) fn lock(path: &Path) -> MutexGuard<'static, ()> {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    // The lock guards no data, so a panic under it leaves nothing in a bad state.
    LOCKS[(hasher.finish() % 64) as usize].lock().unwrap_or_else(PoisonError::into_inner)
}

/// `path` is free of links; `old` is the file that is there now. Missing folders are made.
pub(crate) fn save(path: &Path, bytes: &[u8], old: Option<&Metadata>) -> io::Result<Metadata> {
    let folder = path.parent().ok_or(io::ErrorKind::IsADirectory)?;
    if old.is_none() {
        fs::create_dir_all(folder)?;
    }
    let mode = old.map_or(0o666, |old| old.permissions().mode() & 0o7777);
    let mut beside = Builder::new()
        .prefix(".osier-")
        .permissions(Permissions::from_mode(mode & 0o777))
        .tempfile_in(folder)?;
    beside.write_all(bytes)?;
    if let Some(old) = old {
        keep_owner(beside.as_file(), old);
        // The umask does not apply to what somebody set on purpose.
        beside.as_file().set_permissions(Permissions::from_mode(mode))?;
    }
    beside.as_file().sync_all()?;
    let file = beside.persist(path).map_err(|error| error.error)?;
    file.metadata()
}

/// As far as this user may; a file of one's own needs nothing.
fn keep_owner(file: &fs::File, old: &Metadata) {
    let same = file.metadata().is_ok_and(|new| (new.uid(), new.gid()) == (old.uid(), old.gid()));
    if !same {
        let _ = rustix::fs::fchown(file, Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
    }
}
