//! The identity of a file. Caches use it to detect that a path names another file.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::UNIX_EPOCH;

/// The identity of a file. Inode numbers are reused, so it includes the creation time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) created: u64,
}

impl FileIdentity {
    pub(super) fn from_metadata(metadata: &Metadata) -> FileIdentity {
        let created = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        FileIdentity {
            device: metadata.dev(),
            inode: metadata.ino(),
            created: created.map_or(0, |time| time.as_nanos() as u64),
        }
    }

    /// A number that differs between a file and its replacement.
    pub(super) fn generation(self) -> u64 {
        let mixed = self.inode ^ self.device.rotate_left(32) ^ self.created.rotate_left(17);
        mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

/// The modification time of a file in nanoseconds.
pub(super) fn modified_nanos(metadata: &Metadata) -> i64 {
    metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())
}

/// When the content or the metadata of a file last changed, in nanoseconds. Programs cannot set it.
pub(super) fn changed_nanos(metadata: &Metadata) -> i64 {
    metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec())
}

/// Opens a cache for reading if it is a regular file. Never blocks on a pipe.
pub(super) fn open_cache(path: &std::path::Path) -> Option<std::fs::File> {
    let found = std::fs::symlink_metadata(path).ok()?;
    found.is_file().then(|| std::fs::File::open(path).ok()).flatten()
}
