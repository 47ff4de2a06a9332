//! A log file that only its owner reads. When it is full, it becomes `osier.log.1`, and older ones move up.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file that reaches this size is rotated.
const MAX_BYTES: u64 = 4 << 20;
/// How many rotated files are kept.
const MAX_OLD_FILES: u32 = 3;

/// The open log file. Several processes append to it; each line is one write.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    max_bytes: u64,
    open: Option<File>,
}

impl LogFile {
    pub(super) fn new(path: PathBuf) -> LogFile {
        LogFile { path, max_bytes: MAX_BYTES, open: None }
    }

    /// Appends a line. Failures are ignored.
    pub(super) fn append(&mut self, line: &[u8]) {
        if self.is_rotated_away() {
            self.open = None;
        }
        if self.open.is_none() {
            self.open = open_private(&self.path).ok();
        }
        let Some(file) = &mut self.open else { return };
        let _ = file.write_all(line);
        if file.metadata().is_ok_and(|file| file.len() >= self.max_bytes) {
            rotate(&self.path);
            self.open = None;
        }
    }

    /// Whether another process rotated or removed the file.
    fn is_rotated_away(&self) -> bool {
        let inode = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let open = self.open.as_ref().and_then(|file| file.metadata().ok()).map(inode);
        open.is_some() && open != self.path.symlink_metadata().ok().map(inode)
    }
}

fn open_private(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let no_link = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(no_link).open(path)
}

fn rotate(path: &Path) {
    let numbered = |number: u32| PathBuf::from(format!("{}.{number}", path.display()));
    for number in (1..MAX_OLD_FILES).rev() {
        let _ = std::fs::rename(numbered(number), numbered(number + 1));
    }
    let _ = std::fs::rename(path, numbered(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_full_log_is_rotated_and_old_ones_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/osier.log");
        let mut log = LogFile { path: path.clone(), max_bytes: 10, open: None };
        for number in 0..6 {
            log.append(format!("line number {number}\n").as_bytes());
        }
        log.append(b"short\n");
        assert_eq!(
            names(&folder.path().join("logs")),
            ["osier.log", "osier.log.1", "osier.log.2", "osier.log.3"]
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"short\n");
        assert_eq!(std::fs::read(path.with_extension("log.1")).unwrap(), b"line number 5\n");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_log_that_another_process_rotated_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("osier.log");
        let mut log = LogFile::new(path.clone());
        log.append(b"one\n");
        rotate(&path);
        log.append(b"two\n");
        assert_eq!(std::fs::read(&path).unwrap(), b"two\n");
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join("osier.log"), folder.path().join("target"));
        std::os::unix::fs::symlink(&target, &path).unwrap();
        LogFile::new(path).append(b"one\n");
        assert!(!target.exists());
    }
}
