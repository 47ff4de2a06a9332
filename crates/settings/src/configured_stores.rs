//! The configured stores: the files in the home folder, and the stores of the settings. Opens no connections.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use osier_engine::{ConfiguredStore, Engine};
use osier_model::{Environment, KeySource};
use osier_store::FileStore;
use osier_store::file::DEFAULT_NAME as FILE;
use osier_store_mysql::{Credentials, Limits, MySqlStore, PasswordSource};
use osier_tree::projection::preview::sanitize_line;
use secrecy::SecretString;

use crate::error::SettingsError;
use crate::home::Home;
use crate::settings::{StoreLocation, StoreSpec};

/// How long a list or a lookup waits for one unreachable server.
const LIST_TIMEOUT: Duration = Duration::from_secs(2);

/// All stores, the files in the home folder first, and the databases among them.
pub(crate) fn configured(home: &Home) -> (Vec<ConfiguredStore>, Vec<MySqlStore>) {
    let files = ConfiguredStore::Files {
        name: FILE.to_owned(),
        folder: home.folder.join("sessions"),
        caches: home.folder.join("cache"),
        is_own: true,
    };
    let (mut all, mut databases) = (vec![files], Vec::new());
    for (name, spec) in &home.settings.stores {
        match &spec.place {
            StoreLocation::Folder { folder, base, of_project } => {
                let folder = base.join(home.environment().expand_path(folder));
                all.push(ConfiguredStore::Files {
                    name: name.to_owned(),
                    folder: folder.canonicalize().unwrap_or(folder),
                    caches: home.folder.join("cache/stores").join(name),
                    is_own: !of_project,
                });
            }
            StoreLocation::Database(credentials) => {
                let database = database(name, spec, credentials, home);
                all.extend(database.clone().map(|store| ConfiguredStore::Shared(Arc::new(store))));
                databases.extend(database);
            }
        }
    }
    (all, databases)
}

/// A database. The settings have already checked its URL.
fn database(name: &str, spec: &StoreSpec, credentials: &Credentials, home: &Home) -> Option<MySqlStore> {
    let credentials = match &spec.password {
        KeySource::None => credentials.clone(),
        source => credentials
            .clone()
            .with_password(ConfiguredPassword { source: source.clone(), surroundings: home.environment() }),
    };
    let limits = Limits {
        connect_timeout: spec.timeout,
        list_connect_timeout: spec.timeout.min(LIST_TIMEOUT),
        hold_timeout: spec.lease,
        ..Limits::default()
    };
    MySqlStore::new(name, &credentials, limits).ok()
}

impl Home {
    /// The name of the store of new sessions.
    pub fn default_store(&self) -> &str {
        let name = self.overrides.store.as_ref().unwrap_or(&self.settings.default_store);
        self.engine.configured_store(name).map_or(FILE, ConfiguredStore::name)
    }

    /// The file store in the home folder. It can also open files outside its folder.
    pub fn file_store(&self) -> Arc<FileStore> {
        Arc::new(FileStore::new(self.folder.join("sessions"), Some(self.folder.join("cache"))))
    }

    /// The store named with `--store`.
    pub fn named_store(&self) -> Option<&str> {
        self.overrides.store.as_deref()
    }

    /// The folders of all file stores.
    pub fn store_folders(&self) -> impl Iterator<Item = PathBuf> {
        self.engine.stores().iter().filter_map(|store| store.folder().map(Path::to_owned))
    }

    /// Whether output names the store of each session.
    pub fn has_several_stores(&self) -> bool {
        self.engine.stores().len() > 1
    }
}

/// The error for an unknown store.
pub fn unknown_store(name: &str, engine: &Engine) -> SettingsError {
    let known: Vec<&str> = engine.stores().iter().map(ConfiguredStore::name).collect();
    SettingsError::Usage(format!("no store {}; the stores are {}", sanitize_line(name), known.join(", ")))
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
