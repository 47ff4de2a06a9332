//! The engine itself: its configuration and its live sessions.

use std::sync::Arc;

use osier_session::Stores;
use osier_store::{Store, StoreError};
use osier_tree::time::Millis;

use crate::config::EngineConfig;
use crate::configured_store::ConfiguredStore;
use crate::live_sessions::LiveSessions;

/// See the crate documentation. Clones share the live sessions.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    config: Arc<EngineConfig>,
    live: Arc<LiveSessions>,
}

impl Engine {
    pub fn new(config: EngineConfig) -> Engine {
        Engine { config: Arc::new(config), live: Arc::default() }
    }

    /// The same live sessions with another configuration, for changed settings or another directory.
    pub fn with_config(&self, config: EngineConfig) -> Engine {
        Engine { config: Arc::new(config), live: self.live.clone() }
    }

    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    pub fn stores(&self) -> &[ConfiguredStore] {
        &self.config.stores
    }

    pub(crate) fn live(&self) -> &LiveSessions {
        &self.live
    }

    /// The store with this name.
    pub fn configured_store(&self, name: &str) -> Option<&ConfiguredStore> {
        self.stores().iter().find(|store| store.name() == name)
    }

    pub(crate) fn store(&self, name: &str) -> Option<Arc<dyn Store>> {
        self.configured_store(name).map(ConfiguredStore::store)
    }

    /// Like `store`, for a session that must be there.
    pub(crate) fn require_store(&self, name: &str, key: &str) -> Result<Arc<dyn Store>, StoreError> {
        let not_found = || StoreError::NotFound { store: name.to_owned(), id: key.to_owned() };
        self.store(name).ok_or_else(not_found)
    }

    /// All stores, or only the one with this name.
    pub fn listed_stores(&self, only: Option<&str>) -> Stores {
        let is_wanted = |store: &&ConfiguredStore| only.is_none_or(|name| store.name() == name);
        Stores::new(self.stores().iter().filter(is_wanted).map(ConfiguredStore::store).collect())
    }

    pub fn now(&self) -> Millis {
        self.config().session_env.clock.now()
    }
}
