//! The configured stores: the files in the home folder, and the stores of the settings. Opens no connections.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use osier_model::{Environment, KeySource};
use osier_session::{Stores, UnavailableStore};
use osier_store::file::DEFAULT_NAME as FILE;
use osier_store::{FileStore, Store};
use osier_store_mysql::{Limits, MySqlStore, PasswordSource};
use secrecy::SecretString;

use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::out::notice;
use crate::settings::{StoreLocation, StoreSpec, is_owned_by_another};

/// How long a list or a lookup waits for one unreachable server.
const LIST_TIMEOUT: Duration = Duration::from_secs(2);

/// A configured store.
#[derive(Debug, Clone)]
pub(crate) enum StoreHandle {
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

impl StoreHandle {
    /// All stores, the files in the home folder first.
    pub(crate) fn all(home: &Home) -> Vec<StoreHandle> {
        let files = StoreHandle::Files {
            name: FILE.to_owned(),
            folder: home.folder.join("sessions"),
            caches: home.folder.join("cache"),
            own: true,
        };
        let named =
            home.settings.stores.iter().filter_map(|(name, spec)| StoreHandle::from_spec(name, spec, home));
        std::iter::once(files).chain(named).collect()
    }

    /// The URL is already validated by the settings.
    fn from_spec(name: &str, spec: &StoreSpec, home: &Home) -> Option<StoreHandle> {
        let surroundings = home.environment();
        match &spec.place {
            StoreLocation::Folder { folder, base, of_project } => {
                let folder = base.join(surroundings.expand_path(folder));
                Some(StoreHandle::Files {
                    name: name.to_owned(),
                    folder: folder.canonicalize().unwrap_or(folder),
                    caches: home.folder.join("cache/stores").join(name),
                    own: !of_project,
                })
            }
            StoreLocation::Database(credentials) => {
                let credentials = match &spec.password {
                    KeySource::None => credentials.clone(),
                    source => credentials
                        .clone()
                        .with_password(ConfiguredPassword { source: source.clone(), surroundings }),
                };
                let list_timeout = spec.timeout.min(LIST_TIMEOUT);
                let limits = Limits {
                    connect_timeout: spec.timeout,
                    list_connect_timeout: list_timeout,
                    ..Limits::default()
                };
                MySqlStore::new(name, &credentials, limits).ok().map(StoreHandle::Database)
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            StoreHandle::Files { name, .. } => name,
            StoreHandle::Database(store) => store.name(),
        }
    }

    pub(crate) fn file_store(&self) -> Option<FileStore> {
        match self {
            StoreHandle::Files { name, folder, caches, .. } => {
                Some(FileStore::new(folder, Some(caches.clone())).with_name(name))
            }
            StoreHandle::Database(_) => None,
        }
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            StoreHandle::Files { name, folder, caches, .. } => {
                Arc::new(FileStore::new(folder, Some(caches.clone())).with_name(name))
            }
            StoreHandle::Database(store) => Arc::new(store.clone()),
        }
    }

    /// Whether a file is in the folder of this store, with all links resolved.
    pub(crate) fn contains(&self, file: &Path) -> bool {
        let StoreHandle::Files { folder, .. } = self else { return false };
        let (file, folder) = (resolve_links(file), resolve_links(folder));
        file.zip(folder).is_some_and(|(file, folder)| file.starts_with(folder))
    }
}

impl Home {
    /// The store of new sessions.
    pub(crate) fn default_store(&self) -> Arc<dyn Store> {
        let name = self.overrides.store.as_ref().unwrap_or(&self.settings.default_store);
        self.store_handle(name).map_or_else(|| self.file_store() as Arc<dyn Store>, StoreHandle::store)
    }

    /// The file store in the home folder. It can also open files outside its folder.
    pub(crate) fn file_store(&self) -> Arc<FileStore> {
        Arc::new(FileStore::new(self.folder.join("sessions"), Some(self.folder.join("cache"))))
    }

    /// All stores.
    pub(crate) fn stores(&self) -> Stores {
        Stores::new(self.store_handles.iter().map(StoreHandle::store).collect())
    }

    /// The stores to list: the one of `--store`, or all.
    pub(crate) fn listed_stores(&self) -> Stores {
        match self.overrides.store.as_ref().and_then(|name| self.store_handle(name)) {
            Some(handle) => Stores::new(vec![handle.store()]),
            None => self.stores(),
        }
    }

    pub(crate) fn store_handle(&self, name: &str) -> Option<&StoreHandle> {
        self.store_handles.iter().find(|handle| handle.name() == name)
    }

    /// The store named with `--store`.
    pub(crate) fn named_store(&self) -> Option<&str> {
        self.overrides.store.as_deref()
    }

    /// Whether a file is in one of the user's own stores. Any other file is untrusted input.
    pub(crate) fn is_own_file(&self, file: &Path) -> bool {
        let is_own = |handle: &StoreHandle| matches!(handle, StoreHandle::Files { own: true, .. });
        is_private_file(file)
            && self.store_handles.iter().any(|handle| is_own(handle) && handle.contains(file))
    }

    /// The folders of all file stores.
    pub(crate) fn store_folders(&self) -> impl Iterator<Item = PathBuf> {
        self.store_handles.iter().filter_map(|handle| match handle {
            StoreHandle::Files { folder, .. } => Some(folder.clone()),
            StoreHandle::Database(_) => None,
        })
    }
}

/// The absolute path with all links resolved, as far as it exists.
fn resolve_links(path: &Path) -> Option<PathBuf> {
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
fn is_private_file(file: &Path) -> bool {
    match std::fs::symlink_metadata(file) {
        Ok(about) => about.is_file() && about.nlink() == 1 && !is_owned_by_another(&about),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// The error for an unknown store.
pub(crate) fn unknown_store(name: &str, shelves: &[StoreHandle]) -> anyhow::Error {
    let known: Vec<&str> = shelves.iter().map(StoreHandle::name).collect();
    usage_error(format!("no store {}; the stores are {}", sanitize_line(name), known.join(", ")))
}

/// Prints one line for each unavailable store.
pub(crate) fn show_unavailable(down: &[UnavailableStore]) {
    for UnavailableStore { error: why, .. } in down {
        notice(&format!("osier: {}", sanitize_line(&why.to_string())));
    }
}

/// The password source of the settings.
struct ConfiguredPassword {
    source: KeySource,
    surroundings: Environment,
}

#[async_trait]
impl PasswordSource for ConfiguredPassword {
    async fn fetch(&self) -> Result<SecretString, String> {
        let found = self.source.fetch(&self.surroundings).await?;
        found.ok_or_else(|| "the settings do not set a password".to_owned())
    }
}
