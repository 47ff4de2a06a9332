//! Osier's side: starts the processes of extensions, gives them events, and answers their requests.

mod calls;
mod events;
mod exec;
mod extension;
mod fetch;
mod followed;
mod hook;
mod launcher;
mod model_calls;
mod observed;
mod process;
mod programs;
mod session;
mod session_calls;
mod system;
#[cfg(test)]
mod tests;
mod toolbox;
mod ui_calls;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use osier_agent::hooks::{OnFailure, RegisteredHook};
use osier_session::Session;
use osier_tools::Toolbox;
use tokio::sync::OnceCell;

pub use launcher::ExtensionLauncher;

use crate::grants::{Grant, Grants};
use crate::source::ExtensionCatalog;
use session::SessionExtensions;

/// How extensions run in this process.
#[derive(Debug)]
pub struct ExtensionOptions {
    pub catalog: Box<dyn ExtensionCatalog>,
    pub launcher: ExtensionLauncher,
    pub mode: ExtensionMode,
    /// The folder that extensions may use for their own files.
    pub data_folder: PathBuf,
    /// Osier's own folders, and files with keys. No extension can use them.
    pub protected: Vec<PathBuf>,
    /// The environment of the programs that extensions run, without keys.
    pub variables: Vec<(OsString, OsString)>,
}

/// Environment variables that an extension sees without a grant. They say nothing that is secret.
pub(crate) const PLAIN_VARIABLES: &[&str] = &[
    "COLORTERM",
    "EDITOR",
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "NO_COLOR",
    "PATH",
    "PWD",
    "SHELL",
    "TERM",
    "TERM_PROGRAM",
    "TMPDIR",
    "TZ",
    "USER",
    "VISUAL",
];

impl ExtensionOptions {
    /// What `process.env` contains.
    fn visible_variables(&self, grants: &Grants) -> BTreeMap<&str, &str> {
        let is_visible = |name: &str| grants.has(Grant::Environment) || PLAIN_VARIABLES.contains(&name);
        let texts = self.variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        texts.filter(|(name, _)| is_visible(name)).collect()
    }
}

/// What `ctx.mode` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtensionMode {
    Terminal,
    Rpc,
    Json,
    Print,
}

impl ExtensionMode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ExtensionMode::Terminal => "tui",
            ExtensionMode::Rpc => "rpc",
            ExtensionMode::Json => "json",
            ExtensionMode::Print => "print",
        }
    }

    /// Whether somebody can answer dialogs.
    pub(crate) fn has_user(self) -> bool {
        matches!(self, ExtensionMode::Terminal | ExtensionMode::Rpc)
    }
}

/// The extensions of all sessions of this process. Each session has its own instances.
#[derive(Debug)]
pub struct ExtensionHost {
    options: Arc<ExtensionOptions>,
    sessions: Mutex<HashMap<SessionKey, LoadingSession>>,
}

/// The store and the key of a session.
type SessionKey = (String, String);
type LoadingSession = Arc<SessionSlot>;

/// The extensions of a session, as soon as they are loaded.
#[derive(Debug, Default)]
pub(crate) struct SessionSlot {
    loaded: OnceCell<Arc<SessionExtensions>>,
    /// The tools of the agent without those of extensions.
    built_in_tools: Arc<OnceLock<Arc<dyn Toolbox>>>,
}

impl SessionSlot {
    pub(crate) fn get(&self) -> Option<&Arc<SessionExtensions>> {
        self.loaded.get()
    }
}

/// A time that never passes. The host itself stops extensions that take too long.
const NO_TIMEOUT: Duration = Duration::from_secs(u32::MAX as u64);

impl ExtensionHost {
    pub fn new(options: ExtensionOptions) -> Arc<ExtensionHost> {
        Arc::new(ExtensionHost { options: Arc::new(options), sessions: Mutex::default() })
    }

    /// All extensions as one hook of the engine.
    pub fn registered(self: &Arc<ExtensionHost>) -> RegisteredHook {
        RegisteredHook {
            name: "extensions".to_owned(),
            hook: self.clone(),
            timeout: NO_TIMEOUT,
            on_failure: OnFailure::Allow,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionKey, LoadingSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, session: &Session) -> LoadingSession {
        self.lock().entry(session_key(session)).or_default().clone()
    }

    /// The extensions of a session. They are loaded when the session is first seen.
    async fn load(&self, session: &Session) -> Arc<SessionExtensions> {
        let slot = self.slot(session);
        let tools = || slot.built_in_tools.clone();
        let load = || SessionExtensions::load(session.clone(), self.options.clone(), tools());
        slot.loaded.get_or_init(load).await.clone()
    }

    /// Loads the extensions of a session, if that has not happened, and returns why those of the command line failed.
    pub async fn load_failures(&self, session: &Session) -> Vec<String> {
        self.load(session).await.command_line_failures().clone()
    }

    /// The extensions of a session, if they are loaded.
    fn loaded(&self, session: &Session) -> Option<Arc<SessionExtensions>> {
        self.lock().get(&session_key(session))?.get().cloned()
    }

    /// Ends the extensions of a session.
    fn unload(&self, session: &Session) {
        self.lock().remove(&session_key(session));
    }
}

fn session_key(session: &Session) -> SessionKey {
    (session.store().name().to_owned(), session.key().to_owned())
}
