//! Protects Osier's own files: tools do not open files that may contain keys, and do not change anything in Osier's folder or
//! in its stores. Files and folders are compared by device and inode, so links cannot bypass this. Commands that `bash` runs
//! are not covered here; see `sandbox`.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files and folders to protect. The default protects nothing.
#[derive(Debug, Clone, Default)]
pub struct ProtectedPaths {
    /// Folders whose files may contain keys.
    key_folders: Vec<PathBuf>,
    /// Other files that may contain keys.
    extra_key_files: Vec<PathBuf>,
    /// Folders in which tools do not change anything.
    read_only_folders: Vec<PathBuf>,
    /// Folders inside these in which tools may change files.
    writable_folders: Vec<PathBuf>,
    /// Files and folders that tools do not open at all, and folders inside these that they may open.
    closed: Vec<PathBuf>,
    open_folders: Vec<PathBuf>,
}

impl ProtectedPaths {
    /// Protects the files directly in `home` and in its folder `keys`, and `files`. Notes for models (`*.md`) and the other
    /// subfolders stay readable. Tools change nothing in `home`.
    pub fn new(home: &Path, files: impl IntoIterator<Item = PathBuf>) -> ProtectedPaths {
        ProtectedPaths {
            key_folders: vec![home.to_owned(), home.join("keys")],
            extra_key_files: files.into_iter().collect(),
            read_only_folders: vec![home.to_owned()],
            ..ProtectedPaths::default()
        }
    }

    /// Allows changes in a folder, a path without links, although it is inside a read-only one.
    #[must_use]
    pub fn with_writable_folder(mut self, folder: PathBuf) -> ProtectedPaths {
        self.writable_folders.push(folder);
        self
    }

    /// Adds folders in which tools do not change anything.
    #[must_use]
    pub fn with_read_only_folders(mut self, folders: impl IntoIterator<Item = PathBuf>) -> ProtectedPaths {
        self.read_only_folders.extend(folders);
        self
    }

    /// Closes files and folders: tools open nothing there, except in the folders `open`.
    #[must_use]
    pub fn with_closed_paths(mut self, closed: Vec<PathBuf>, open: Vec<PathBuf>) -> ProtectedPaths {
        self.closed.extend(closed);
        self.open_folders.extend(open);
        self
    }

    pub(crate) fn closes_paths(&self) -> bool {
        !self.closed.is_empty()
    }

    /// Whether a link-free path is closed. The nearest folder above it decides.
    pub(crate) fn is_closed(&self, real: &Path) -> bool {
        let nearest = |folders: &[PathBuf]| {
            let identities = FileIdentities::of(folders);
            real.ancestors().position(|path| {
                folders.iter().any(|folder| folder == path) || identities.contains_path(path)
            })
        };
        let Some(closed) = self.closes_paths().then(|| nearest(&self.closed)).flatten() else { return false };
        nearest(&self.open_folders).is_none_or(|open| closed < open)
    }

    /// The closed files and folders that exist now.
    pub(crate) fn closed_entries(&self) -> FileIdentities {
        FileIdentities::of(&self.closed)
    }

    /// The key files that exist now.
    pub(crate) fn key_files(&self) -> FileIdentities {
        FileIdentities(self.existing_key_files().map(|(_, found)| file_identity(&found)).collect())
    }

    fn existing_key_files(&self) -> impl Iterator<Item = (PathBuf, Metadata)> {
        let inside =
            self.key_folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        let inside = inside.map(|entry| entry.path()).filter(|path| !is_note(path));
        let files = inside.chain(self.extra_key_files.iter().cloned());
        files
            .filter_map(|path| fs::metadata(&path).ok().map(|found| (path, found)))
            .filter(|(_, found)| found.is_file())
    }

    /// Whether a link-free path is inside a read-only folder. Compares every folder above it, so that another name for such a
    /// folder does not help.
    pub(crate) fn is_read_only(&self, real: &Path) -> bool {
        if self.writable_folders.iter().any(|folder| real.starts_with(folder)) {
            return false;
        }
        let sealed: Vec<(u64, u64)> = self
            .read_only_folders
            .iter()
            .filter_map(|folder| fs::metadata(folder).ok())
            .map(|found| file_identity(&found))
            .collect();
        let is_sealed =
            |path: &Path| fs::metadata(path).is_ok_and(|found| sealed.contains(&file_identity(&found)));
        let is_named = |path: &Path| self.read_only_folders.iter().any(|folder| folder == path);
        real.ancestors().any(|path| is_named(path) || is_sealed(path))
    }

    /// Whether a protected file or folder may be below `root` (a link-free path): it is below it, or it is a file with a
    /// second hard link that could be.
    pub(crate) fn may_be_below(&self, root: &Path) -> bool {
        let is_below = |path: &PathBuf| path.canonicalize().is_ok_and(|real| real.starts_with(root));
        self.read_only_folders.iter().chain(&self.key_folders).chain(&self.extra_key_files).any(is_below)
            || self.existing_key_files().any(|(path, found)| found.nlink() > 1 || is_below(&path))
    }
}

/// The identities of files and folders at one moment.
#[derive(Debug)]
pub(crate) struct FileIdentities(HashSet<(u64, u64)>);

impl FileIdentities {
    fn of(paths: &[PathBuf]) -> FileIdentities {
        let found = paths.iter().filter_map(|path| fs::metadata(path).ok());
        FileIdentities(found.map(|found| file_identity(&found)).collect())
    }

    pub(crate) fn contains(&self, found: &Metadata) -> bool {
        self.0.contains(&file_identity(found))
    }

    /// Like `contains`, for a path.
    pub(crate) fn contains_path(&self, path: &Path) -> bool {
        !self.0.is_empty() && fs::metadata(path).is_ok_and(|found| self.contains(&found))
    }
}

fn file_identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

fn is_note(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}
