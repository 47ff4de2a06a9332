//! The engine of this process and the settings of each directory.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use osier_engine::{AllowedDirectories, Engine, KeepWhen};
use osier_model::ThinkingLevel;
use osier_protocol::{ClientError, EngineClient, EngineReply, EngineRequest, OpenRequest, OpenedSession};
use osier_settings::{CliOverrides, Home, WorkspaceOptions, notices};
use osier_tools::ApprovalMode;

use crate::error::LocalEngineError;

/// See the crate documentation.
#[derive(Debug)]
pub struct LocalEngine {
    /// What is configured for the engine's own directory.
    home: Mutex<Arc<Home>>,
    /// The caller has just read the settings, so the first session needs no reload.
    is_loaded: AtomicBool,
    pub(crate) options: LocalEngineOptions,
}

/// How a program uses the engine.
#[derive(Debug, Clone, Default)]
pub struct LocalEngineOptions {
    /// The model, thinking level and approval mode that the user named for all sessions of this run.
    pub model: Option<String>,
    pub thinking: Option<ThinkingLevel>,
    pub approval: Option<ApprovalMode>,
    pub workspace: WorkspaceOptions,
    /// A user is present to answer questions.
    pub has_user: bool,
    /// Several clients share the engine: when one of them leaves a session for another one, its turn goes on.
    pub is_shared: bool,
    /// A client that leaves a session stops its turn itself.
    pub keeps_left_turn: bool,
    /// When new sessions are stored.
    pub keep: KeepWhen,
    /// Sessions work in the directory of the engine, not in their own.
    pub stays_in_directory: bool,
    pub directories: AllowedDirectories,
}

impl LocalEngine {
    /// `home` has the settings as they are now.
    pub fn new(home: Home, options: LocalEngineOptions) -> LocalEngine {
        LocalEngine { home: Mutex::new(Arc::new(home)), is_loaded: AtomicBool::new(true), options }
    }

    fn lock_home(&self) -> MutexGuard<'_, Arc<Home>> {
        // The value is only ever replaced whole, so it is consistent even after a panic.
        self.home.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is configured for the engine's own directory.
    pub fn home(&self) -> Arc<Home> {
        self.lock_home().clone()
    }

    pub fn engine(&self) -> Engine {
        self.home().engine.clone()
    }

    /// The settings of the engine's own directory as they are in the files now; the known ones if a file is invalid.
    pub fn reload_home(&self) -> Arc<Home> {
        let home = self.home();
        let Ok(reloaded) = home.reload() else { return home };
        let reloaded = Arc::new(reloaded);
        *self.lock_home() = reloaded.clone();
        reloaded
    }

    /// The settings for a session in a directory. Problems of the settings of another directory become notices.
    pub(crate) fn home_for(
        &self,
        directory: &Path,
        overrides: &CliOverrides,
        notices: &mut Vec<String>,
    ) -> Result<Home, LocalEngineError> {
        let own = self.home();
        if directory != own.cwd {
            let (home, loaded) = own.load_directory(directory);
            home.check_problems(&loaded.problems)?;
            notices.extend(notices::problem_notices(&home, &loaded.problems));
            let home = home.with_overrides(overrides)?;
            notices.extend(notices::untrusted_notice(&home));
            return Ok(home);
        }
        let is_loaded = self.is_loaded.swap(false, Ordering::Relaxed);
        let home = if is_loaded { Home::clone(&own) } else { own.reload()? };
        *self.lock_home() = Arc::new(home.clone());
        Ok(home.with_overrides(overrides)?)
    }

    /// The directory of new sessions that name none: the engine's own one, or the first that is allowed.
    pub fn default_directory(&self) -> PathBuf {
        let own = self.home().cwd.clone();
        match self.options.directories.allows(&own) {
            true => own,
            false => self.options.directories.list().first().cloned().unwrap_or(own),
        }
    }

    /// The directory for a new session.
    pub(crate) fn new_session_directory(&self, wanted: Option<&str>) -> Result<PathBuf, LocalEngineError> {
        let directory = wanted.map_or_else(|| self.default_directory(), PathBuf::from);
        self.options.directories.check_new(&directory)?;
        Ok(directory)
    }
}

#[async_trait]
impl EngineClient for LocalEngine {
    async fn call(&self, request: EngineRequest) -> Result<EngineReply, ClientError> {
        Ok(self.handle_request(request).await?)
    }

    async fn open(&self, request: OpenRequest) -> Result<Option<OpenedSession>, ClientError> {
        let Some(session) = self.open_session(request).await? else { return Ok(None) };
        let mut info = session.info();
        if let Ok(short_id) = session.client.live().session().store().short_id(&info.id).await {
            info.short_id = short_id;
        }
        Ok(Some(OpenedSession { info, client: Arc::new(session.client) }))
    }
}
