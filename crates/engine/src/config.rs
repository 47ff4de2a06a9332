//! What the caller provides to build an engine.

use std::path::PathBuf;
use std::sync::Arc;

use osier_agent::Hooks;
use osier_session::SessionEnv;
use osier_store::FileStore;

use crate::configured_store::ConfiguredStore;
use crate::explore::ExploreConfig;

/// The configuration of an [`crate::Engine`].
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// All stores. Their names are unique.
    pub stores: Vec<ConfiguredStore>,
    /// Opens and creates session files outside all stores.
    pub files: Arc<FileStore>,
    /// Clock, ids and durability of sessions. Whether a session is watched depends on the operation.
    pub session_env: SessionEnv,
    /// The hooks. Every operation calls them, regardless of the caller.
    pub hooks: Arc<Hooks>,
    /// A folder with one empty file per session that came from a place where others can write.
    pub foreign_marks: Option<PathBuf>,
    /// The folder of the long tool outputs that are kept beside the sessions.
    pub tool_outputs: Option<PathBuf>,
    /// Where tries work; `None` means that prompts cannot be explored.
    pub explore: Option<ExploreConfig>,
}

/// No stores: nothing can be found or created.
impl Default for EngineConfig {
    fn default() -> EngineConfig {
        EngineConfig {
            stores: Vec::new(),
            files: Arc::new(FileStore::new(PathBuf::new(), None)),
            session_env: SessionEnv::default(),
            hooks: Arc::default(),
            foreign_marks: None,
            tool_outputs: None,
            explore: None,
        }
    }
}
