//! A configured store, and which files belong to it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_store::{FileStore, Store};

/// A store of the configuration. Opens no connections and no files.
#[derive(Debug, Clone)]
pub enum ConfiguredStore {
    /// Session files in a folder.
    Files {
        name: String,
        folder: PathBuf,
        caches: PathBuf,
        /// Only the user writes there; false for a store of a project.
        is_own: bool,
    },
    /// A store whose instances share their state, such as a database.
    Shared(Arc<dyn Store>),
}

impl ConfiguredStore {
    pub fn name(&self) -> &str {
        match self {
            ConfiguredStore::Files { name, .. } => name,
            ConfiguredStore::Shared(store) => store.name(),
        }
    }

    /// The kind of store: `file` or `mysql`.
    pub fn kind(&self) -> &'static str {
        match self {
            ConfiguredStore::Files { .. } => "file",
            ConfiguredStore::Shared(store) => store.kind(),
        }
    }

    /// An instance of the store. A file store holds the logs it opened until it is dropped, so each caller gets its own.
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            ConfiguredStore::Files { name, folder, caches, .. } => {
                Arc::new(FileStore::new(folder, Some(caches.clone())).with_name(name))
            }
            ConfiguredStore::Shared(store) => store.clone(),
        }
    }

    /// The folder of a file store.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            ConfiguredStore::Files { folder, .. } => Some(folder),
            ConfiguredStore::Shared(_) => None,
        }
    }

    /// Whether only the user writes to this store.
    pub fn is_own(&self) -> bool {
        matches!(self, ConfiguredStore::Files { is_own: true, .. })
    }

    /// Whether a file is in the folder of this store, with all links resolved.
    pub fn contains(&self, file: &Path) -> bool {
        let both = resolve_links(file).zip(self.folder().and_then(resolve_links));
        both.is_some_and(|(file, folder)| file.starts_with(folder))
    }
}

/// The absolute path with all links resolved, as far as it exists.
pub fn resolve_links(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let (mut existing, mut missing) = (path.as_path(), Vec::new());
    loop {
        match existing.canonicalize() {
            Ok(real) => return Some(missing.into_iter().rev().fold(real, |path, name| path.join(name))),
            Err(_) => {
                missing.push(existing.file_name()?);
                existing = existing.parent()?;
            }
        }
    }
}
