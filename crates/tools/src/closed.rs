//! Files that no tool opens, because they may hold keys: those that lie in Osier's own folder, and the key files that settings
//! name. They are known by what they are, not by their names, so no link leads around it. Commands are another matter.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// See the module. Without any it closes nothing.
#[derive(Debug, Clone, Default)]
pub struct Closed {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Closed {
    /// Closes the files in `home` itself and in its folder `keys`, and the `files`. Notes for models (`*.md`) stay open, and
    /// so do the other folders below.
    pub fn new(home: &Path, files: impl IntoIterator<Item = PathBuf>) -> Closed {
        Closed { folders: vec![home.to_owned(), home.join("keys")], files: files.into_iter().collect() }
    }

    /// The files as they are now.
    pub(crate) fn now(&self) -> Shut {
        let inside = self.folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        let inside = inside.map(|entry| entry.path()).filter(|path| !is_note(path));
        let files = inside.chain(self.files.iter().cloned()).filter_map(|path| fs::metadata(path).ok());
        Shut(files.filter(Metadata::is_file).map(|found| identity(&found)).collect())
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
