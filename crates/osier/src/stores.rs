//! The configured stores: the files in the home folder, and the stores of the settings. Opens no connections.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use osier_model::{KeySource, Surroundings};
use osier_session::{Down, Stores};
use osier_store::file::NAME as FILE;
use osier_store::{FileStore, Store};
use osier_store_mysql::{Limits, MySqlStore, Password};
use secrecy::SecretString;

use crate::failure::usage;
use crate::home::Home;
use crate::layout::plain;
use crate::out::remark;
use crate::settings::{StorePlace, StoreSpec, is_of_another};

/// How long a list or a lookup waits for one unreachable server.
const GLANCE: Duration = Duration::from_secs(2);

/// A configured store.
#[derive(Debug, Clone)]
pub(crate) enum Shelf {
    Files {
        name: String,
        folder: PathBuf,
        caches: PathBuf,
        /// Only the user writes there; false for a store of a project.
        own: bool,
    },
    /// Clones share its connection pool.
    Database(MySqlStore),
}

impl Shelf {
    /// All stores, the files in the home folder first.
    pub(crate) fn all(home: &Home) -> Vec<Shelf> {
        let files = Shelf::Files {
            name: FILE.to_owned(),
            folder: home.folder.join("sessions"),
            caches: home.folder.join("cache"),
            own: true,
        };
        let named = home.settings.stores.iter().filter_map(|(name, spec)| Shelf::of(name, spec, home));
        std::iter::once(files).chain(named).collect()
    }

    /// The URL is already validated by the settings.
    fn of(name: &str, spec: &StoreSpec, home: &Home) -> Option<Shelf> {
        let surroundings = home.surroundings();
        match &spec.place {
            StorePlace::Folder { folder, base, of_project } => {
                let folder = base.join(surroundings.path(folder));
                Some(Shelf::Files {
                    name: name.to_owned(),
                    folder: folder.canonicalize().unwrap_or(folder),
                    caches: home.folder.join("cache/stores").join(name),
                    own: !of_project,
                })
            }
            StorePlace::Database(credentials) => {
                let credentials = match &spec.password {
                    KeySource::None => credentials.clone(),
                    source => {
                        credentials.clone().with_password(Kept { source: source.clone(), surroundings })
                    }
                };
                let glance = spec.timeout.min(GLANCE);
                let limits = Limits { reach: spec.timeout, glance, ..Limits::default() };
                MySqlStore::new(name, &credentials, limits).ok().map(Shelf::Database)
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Shelf::Files { name, .. } => name,
            Shelf::Database(store) => store.name(),
        }
    }

    pub(crate) fn files(&self) -> Option<FileStore> {
        match self {
            Shelf::Files { name, folder, caches, .. } => {
                Some(FileStore::new(folder, Some(caches.clone())).named(name))
            }
            Shelf::Database(_) => None,
        }
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            Shelf::Files { name, folder, caches, .. } => {
                Arc::new(FileStore::new(folder, Some(caches.clone())).named(name))
            }
            Shelf::Database(store) => Arc::new(store.clone()),
        }
    }

    /// Whether a file is in the folder of this store, with all links resolved.
    pub(crate) fn holds(&self, file: &Path) -> bool {
        let Shelf::Files { folder, .. } = self else { return false };
        let (file, folder) = (without_links(file), without_links(folder));
        file.zip(folder).is_some_and(|(file, folder)| file.starts_with(folder))
    }
}

impl Home {
    /// The store of new sessions.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        let name = self.said.store.as_ref().unwrap_or(&self.settings.default_store);
        self.shelf(name).map_or_else(|| self.files() as Arc<dyn Store>, Shelf::store)
    }

    /// The file store in the home folder. It can also open files outside its folder.
    pub(crate) fn files(&self) -> Arc<FileStore> {
        Arc::new(FileStore::new(self.folder.join("sessions"), Some(self.folder.join("cache"))))
    }

    /// All stores.
    pub(crate) fn stores(&self) -> Stores {
        Stores::new(self.shelves.iter().map(Shelf::store).collect())
    }

    /// The stores to list: the one of `--store`, or all.
    pub(crate) fn listed(&self) -> Stores {
        match self.said.store.as_ref().and_then(|name| self.shelf(name)) {
            Some(handle) => Stores::new(vec![handle.store()]),
            None => self.stores(),
        }
    }

    pub(crate) fn shelf(&self, name: &str) -> Option<&Shelf> {
        self.shelves.iter().find(|handle| handle.name() == name)
    }

    /// The store named with `--store`.
    pub(crate) fn named_store(&self) -> Option<&str> {
        self.said.store.as_deref()
    }

    /// Whether a file is in one of the user's own stores. Any other file is untrusted input.
    pub(crate) fn keeps(&self, file: &Path) -> bool {
        let is_own = |handle: &Shelf| matches!(handle, Shelf::Files { own: true, .. });
        is_only_ours(file) && self.shelves.iter().any(|handle| is_own(handle) && handle.holds(file))
    }

    /// The folders of all file stores.
    pub(crate) fn store_folders(&self) -> impl Iterator<Item = PathBuf> {
        self.shelves.iter().filter_map(|handle| match handle {
            Shelf::Files { folder, .. } => Some(folder.clone()),
            Shelf::Database(_) => None,
        })
    }
}

/// The absolute path with all links resolved, as far as it exists.
fn without_links(path: &Path) -> Option<PathBuf> {
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

/// Whether only this user can have written a file: the user owns it, and it has no other hard link.
fn is_only_ours(file: &Path) -> bool {
    match std::fs::symlink_metadata(file) {
        Ok(about) => about.is_file() && about.nlink() == 1 && !is_of_another(&about),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// The error for an unknown store.
pub(crate) fn unknown(name: &str, shelves: &[Shelf]) -> anyhow::Error {
    let known: Vec<&str> = shelves.iter().map(Shelf::name).collect();
    usage(format!("no store {}; the stores are {}", plain(name), known.join(", ")))
}

/// Prints one line for each unavailable store.
pub(crate) fn tell(down: &[Down]) {
    for Down { why, .. } in down {
        remark(&format!("osier: {}", plain(&why.to_string())));
    }
}

/// The password source of the settings.
struct Kept {
    source: KeySource,
    surroundings: Surroundings,
}

#[async_trait]
impl Password for Kept {
    async fn fetch(&self) -> Result<SecretString, String> {
        let found = self.source.fetch(&self.surroundings).await?;
        found.ok_or_else(|| "the settings do not set a password".to_owned())
    }
}
