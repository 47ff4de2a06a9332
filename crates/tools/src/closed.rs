//! Osier's own files. Those that may hold keys are opened by no tool, and nothing in Osier's folder or in its stores is
//! changed by one. Files and folders are known by what they are, not by their names, so no link leads around it. Commands
//! are another matter.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// See the module. Without any it protects nothing.
#[derive(Debug, Clone, Default)]
pub struct Closed {
    /// The folders whose files may hold keys.
    folders: Vec<PathBuf>,
    /// Files that may hold keys.
    files: Vec<PathBuf>,
    /// The folders in which no tool changes anything.
    sealed: Vec<PathBuf>,
}

impl Closed {
    /// Closes the files in `home` itself and in its folder `keys`, and the `files`. Notes for models (`*.md`) stay open, and
    /// so do the other folders below. Nothing in `home` is changed.
    pub fn new(home: &Path, files: impl IntoIterator<Item = PathBuf>) -> Closed {
        Closed {
            folders: vec![home.to_owned(), home.join("keys")],
            files: files.into_iter().collect(),
            sealed: vec![home.to_owned()],
        }
    }

    /// The same, with further folders in which nothing is changed.
    #[must_use]
    pub fn sealing(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Closed {
        self.sealed.extend(folders);
        self
    }

    /// The files as they are now.
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

    /// Whether a path without links lies in a folder in which nothing is changed. Every folder above it is compared, so a
    /// second name for such a folder does not help.
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

    /// Whether a folder without links may hold one of the files or folders: it lies there, or a file has a second name that
    /// could.
    pub(crate) fn may_lie_below(&self, root: &Path) -> bool {
        let is_below = |path: &PathBuf| path.canonicalize().is_ok_and(|real| real.starts_with(root));
        self.sealed.iter().chain(&self.folders).chain(&self.files).any(is_below)
            || self.found().any(|(path, found)| found.nlink() > 1 || is_below(&path))
    }
}

/// Which files are closed at one moment.
#[derive(Debug)]
pub(crate) struct Shut(HashSet<(u64, u64)>);

impl Shut {
    pub(crate) fn holds(&self, found: &Metadata) -> bool {
        self.0.contains(&identity(found))
    }

    /// The same of a file that was not looked at yet.
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
