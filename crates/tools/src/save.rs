//! Replaces a file atomically: writes a temporary file, then renames it. Keeps the owner and the mode of the old file.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Gid, Uid};

use crate::folder::OpenFolder;

/// Several calls of a turn may change the same file. Each path maps to one of these locks; different paths may share a lock.
static LOCKS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];

/// Locks a path. Hold the lock from reading the file until its replacement is in place.
pub(crate) fn lock_path(path: &Path) -> MutexGuard<'static, ()> {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    // The lock protects no data, so a panic while it is held does no harm.
    LOCKS[(hasher.finish() % 64) as usize].lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a file. `path` is link-free, and links in it are not followed. `old` is the existing file. Creates missing folders.
/// `staging` is a folder for the temporary name.
pub(crate) fn save(
    path: &Path,
    bytes: &[u8],
    old: Option<&Metadata>,
    staging: &Path,
) -> io::Result<Metadata> {
    let (folder, name) = OpenFolder::open_parent(path, old.is_none())?;
    let mode = old.map_or(0o666, |old| old.permissions().mode() & 0o7777);
    let mut temp_path = folder.create_temp_file(mode & 0o777)?;
    temp_path.file.write_all(bytes)?;
    if let Some(old) = old {
        copy_owner(&temp_path.file, old);
        // The umask does not apply to an existing mode.
        temp_path.file.set_permissions(Permissions::from_mode(mode))?;
    }
    temp_path.file.sync_all()?;
    let metadata = temp_path.file.metadata()?;
    // Without this folder, the temporary name is next to the old file.
    let _ = DirBuilder::new().recursive(true).mode(0o700).create(staging);
    temp_path.persist(&name, staging)?;
    Ok(metadata)
}

/// Sets the owner of the old file, if this user may.
fn copy_owner(file: &fs::File, old: &Metadata) {
    let same = file.metadata().is_ok_and(|new| (new.uid(), new.gid()) == (old.uid(), old.gid()));
    if !same {
        let _ = rustix::fs::fchown(file, Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn folder_replaced_by_a_link_is_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::create_dir(base.join("outside")).unwrap();
        symlink("outside", base.join("folder")).unwrap();
        for path in ["folder/a", "folder/deep/a"] {
            assert!(save(&base.join(path), b"x", None, &base).is_err(), "{path}");
        }
        assert_eq!(fs::read_dir(base.join("outside")).unwrap().count(), 0);
    }

    #[test]
    fn link_at_the_target_is_replaced_and_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::write(base.join("precious"), "precious").unwrap();
        symlink("precious", base.join("a")).unwrap();
        save(&base.join("a"), b"new", None, &base).unwrap();
        assert_eq!(fs::read(base.join("precious")).unwrap(), b"precious");
        assert!(fs::symlink_metadata(base.join("a")).unwrap().is_file());
        assert_eq!(fs::read_dir(&base).unwrap().count(), 2, "no temporary file is left");
    }
}
