//! Protects Osier's own files: tools do not open files that may contain keys, and do not change anything in Osier's folder or
//! in its stores. Files and folders are compared by device and inode, so links cannot bypass this. Commands that `bash` runs
//! are not covered here; see `sandbox`.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files and folders to protect. The default protects nothing.
#[derive(Debug, Clone, Default)]
pub struct Closed {
    /// Folders whose files may contain keys.
    folders: Vec<PathBuf>,
    /// Other files that may contain keys.
    files: Vec<PathBuf>,
    /// Folders in which tools do not change anything.
    sealed: Vec<PathBuf>,
}

impl Closed {
    /// Protects the files directly in `home` and in its folder `keys`, and `files`. Notes for models (`*.md`) and the other
    /// subfolders stay readable. Tools change nothing in `home`.
    pub fn new(home: &Path, files: impl IntoIterator<Item = PathBuf>) -> Closed {
        Closed {
            folders: vec![home.to_owned(), home.join("keys")],
            files: files.into_iter().collect(),
            sealed: vec![home.to_owned()],
        }
    }

    /// Adds folders in which tools do not change anything.
    #[must_use]
    pub fn sealing(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Closed {
        self.sealed.extend(folders);
        self
    }

    /// The key files that exist now.
    pub(crate) fn now(&self) -> Shut {
        Shut(self.found().map(|(_, found)| identity(&found)).collect())
    }

    fn found(&self) -> impl Iterator<Item = (PathBuf, Metadata)> {
        let inside = self.folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        let inside = inside.map(|entry| entry.path()).filter(|path| !is_note(path));
        let files = inside.chain(self.files.iter().cloned());
        files
            .filter_map(|path| fs::metadata(&path).ok().map(|found| (path, found)))
            .filter(|(_, found)| found.is_file())
    }

    /// Whether a link-free path is inside a read-only folder. Compares every folder above it, so that another name for such a
    /// folder does not help.
    pub(crate) fn seals(&self, real: &Path) -> bool {
        let sealed: Vec<(u64, u64)> = self
            .sealed
            .iter()
            .filter_map(|folder| fs::metadata(folder).ok())
            .map(|found| identity(&found))
            .collect();
        let is_sealed =
            |path: &Path| fs::metadata(path).is_ok_and(|found| sealed.contains(&identity(&found)));
        let is_named = |path: &Path| self.sealed.iter().any(|folder| folder == path);
        real.ancestors().any(|path| is_named(path) || is_sealed(path))
    }

    /// Whether a protected file or folder may be below `root` (a link-free path): it is below it, or it is a file with a
    /// second hard link that could be.
    pub(crate) fn may_lie_below(&self, root: &Path) -> bool {
        let is_below = |path: &PathBuf| path.canonicalize().is_ok_and(|real| real.starts_with(root));
        self.sealed.iter().chain(&self.folders).chain(&self.files).any(is_below)
            || self.found().any(|(path, found)| found.nlink() > 1 || is_below(&path))
    }
}

/// The identities of the key files at one moment.
#[derive(Debug)]
pub(crate) struct Shut(HashSet<(u64, u64)>);

impl Shut {
    pub(crate) fn holds(&self, found: &Metadata) -> bool {
        self.0.contains(&identity(found))
    }

    /// Like `contains`, for a path.
    pub(crate) fn holds_path(&self, path: &Path) -> bool {
        !self.0.is_empty() && fs::metadata(path).is_ok_and(|found| self.holds(&found))
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

fn is_note(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}
