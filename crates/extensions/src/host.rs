//! Osier's side: starts the processes of extensions, gives them events, and answers their requests.

mod action_queue;
mod branching;
mod bus;
mod calls;
mod editor_calls;
mod events;
mod exec;
mod extension;
mod fetch;
mod flags;
mod flood;
mod followed;
mod frame_queue;
mod hook;
mod key_calls;
mod launcher;
mod loading;
mod model_calls;
mod next_turn;
mod node;
mod observed;
mod process;
mod process_group;
mod program_run;
mod programs;
mod provider_compat;
mod provider_stream;
mod providers;
mod renderers;
mod replacement;
mod screen;
mod session;
mod session_calls;
mod system;
#[cfg(test)]
mod tests;
mod toolbox;
mod transcript;
mod turn_gates;
mod turn_options;
mod ui_calls;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use osier_agent::WeakWorker;
use osier_agent::hooks::{OnFailure, RegisteredHook};
use osier_engine::Engine;
use osier_protocol::ExtensionEvent;
use osier_session::Session;
use osier_tools::Toolbox;
use serde_json::json;

pub use flags::FlagValues;
use launcher::ExtensionEngine;
pub use launcher::ExtensionLauncher;

use crate::child::Confinement;
use crate::file_rules::FileRules;
use crate::frame::{Frame, to_raw};
use crate::grants::{Grant, Grants};
use crate::inspect::{ExtensionManifest, Inspection};
use crate::source::ExtensionCatalog;
use process::{ExtensionProcess, FrameReceiver, ProcessEnd};
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
    /// The names of the themes that a terminal can use.
    pub themes: Vec<String>,
    /// The values of flags that extensions add to the command line.
    pub flags: FlagValues,
    /// The commands that the client handles itself. Those of extensions with such a name get a number.
    pub client_commands: Vec<String>,
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
    /// This host, for the extensions of its sessions.
    this: Weak<ExtensionHost>,
    /// The engine of the sessions. The host and the engine hold each other until the process ends.
    engine: OnceLock<Engine>,
    options: Arc<ExtensionOptions>,
    sessions: Mutex<HashMap<SessionKey, LoadingSession>>,
    /// What extensions of ended sessions showed while there was no agent.
    unshown: Mutex<Vec<ExtensionEvent>>,
}

/// What an extension needs. A process of its own finds it, because it parses code that nobody approved.
pub async fn inspect_in_process(
    launcher: &ExtensionLauncher,
    entry: &Path,
) -> Result<ExtensionManifest, String> {
    let process = ExtensionProcess::new(launcher, ExtensionEngine::Sandbox, Arc::new(NoReceiver));
    process.start().await.map_err(|error| format!("cannot start a process: {error}"))?;
    let raw = process.ask("inspect", to_raw(entry)).await.map_err(|failure| failure.message)?;
    let inspection: Inspection = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    Ok(inspection.manifest)
}

/// What confines a process of extensions on this system: one without grants, and one that may read and write files.
pub async fn confinement_in_force(launcher: &ExtensionLauncher) -> Result<[Vec<String>; 2], String> {
    let mut found = [Vec::new(), Vec::new()];
    for (found, grants) in found.iter_mut().zip([&[][..], &[Grant::ReadFiles, Grant::WriteFiles]]) {
        let process = ExtensionProcess::new(launcher, ExtensionEngine::Sandbox, Arc::new(NoReceiver));
        process.start().await.map_err(|error| format!("cannot start a process: {error}"))?;
        let rules = FileRules { grants: grants.iter().copied().collect(), ..FileRules::default() };
        let raw = process.ask("confine", to_raw(&Confinement { rules: vec![rules] })).await;
        let raw = raw.map_err(|failure| failure.message)?;
        *found = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    }
    Ok(found)
}

/// For a process in which no extension runs.
#[derive(Debug)]
struct NoReceiver;

impl FrameReceiver for NoReceiver {
    fn receive(&self, _: Frame) {}

    fn process_ended(&self, _: ProcessEnd) {}
}

/// The store and the key of a session.
type SessionKey = (String, String);
type LoadingSession = Arc<SessionSlot>;

/// The extensions of a session, as soon as they are loaded. Reloading replaces them.
#[derive(Debug, Default)]
pub(crate) struct SessionSlot {
    loaded: Mutex<Option<Arc<SessionExtensions>>>,
    /// The agents that work in the session. An explore adds some.
    agents: AtomicUsize,
    /// Held while extensions are loaded.
    loading: tokio::sync::Mutex<()>,
    /// The tools of the agent without those of extensions.
    built_in_tools: Arc<OnceLock<Arc<dyn Toolbox>>>,
}

impl SessionSlot {
    pub(crate) fn get(&self) -> Option<Arc<SessionExtensions>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, extensions: Option<Arc<SessionExtensions>>) -> Option<Arc<SessionExtensions>> {
        std::mem::replace(&mut *self.loaded.lock().unwrap_or_else(PoisonError::into_inner), extensions)
    }
}

/// A time that never passes. The host itself stops extensions that take too long.
const NO_TIMEOUT: Duration = Duration::from_secs(u32::MAX as u64);

impl ExtensionHost {
    pub fn new(options: ExtensionOptions) -> Arc<ExtensionHost> {
        Arc::new_cyclic(|this| ExtensionHost {
            this: this.clone(),
            engine: OnceLock::new(),
            options: Arc::new(options),
            sessions: Mutex::default(),
            unshown: Mutex::default(),
        })
    }

    /// Sets the engine with which extensions create sessions. It is the one that has this host as a hook.
    pub fn set_engine(&self, engine: Engine) {
        // It is set once.
        let _ = self.engine.set(engine);
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
        if let Some(loaded) = slot.get() {
            return loaded;
        }
        let _loading = slot.loading.lock().await;
        if let Some(loaded) = slot.get() {
            return loaded;
        }
        let tools = slot.built_in_tools.clone();
        let (host, options) = (self.this.clone(), self.options.clone());
        let loaded = SessionExtensions::load(session.clone(), host, options, tools).await;
        slot.replace(Some(loaded.clone()));
        loaded
    }

    /// Ends the extensions of a session and loads them again, with the code as it is now.
    pub(crate) async fn reload(&self, session: &Session, agent: Option<&WeakWorker>) {
        let old = self.loaded(session);
        let known_screen = old.as_ref().and_then(|old| old.screen.last());
        if let Some(old) = old {
            old.observe("session_shutdown", || json!({ "type": "session_shutdown", "reason": "reload" }))
                .await;
            old.all().iter().for_each(|extension| old.take_back(extension));
            old.close();
        }
        self.slot(session).replace(None);
        let new = self.load(session).await;
        if let Some(screen) = known_screen {
            new.receive_input(&screen);
        }
        new.connect(agent);
        new.show(ExtensionEvent::CommandsChanged);
        new.follow_if_wanted();
        new.observe("session_start", || json!({ "type": "session_start", "reason": "reload" })).await;
        new.discover_resources("reload").await;
    }

    /// What extensions showed or reported in sessions without an agent.
    pub fn take_unshown(&self) -> Vec<ExtensionEvent> {
        let open: Vec<LoadingSession> = self.lock().values().cloned().collect();
        let mut events = std::mem::take(&mut *self.unshown.lock().unwrap_or_else(PoisonError::into_inner));
        events.extend(open.iter().filter_map(|slot| slot.get()).flat_map(|session| session.take_unshown()));
        events
    }

    /// Loads the extensions of a session, if that has not happened, and returns why those of the command line failed.
    pub async fn load_failures(&self, session: &Session) -> Vec<String> {
        self.load(session).await.command_line_failures().clone()
    }

    /// The extensions of a session, if they are loaded.
    fn loaded(&self, session: &Session) -> Option<Arc<SessionExtensions>> {
        self.lock().get(&session_key(session))?.get()
    }

    /// Counts an agent that starts. Returns whether it is the only one.
    fn agent_started(&self, session: &Session) -> bool {
        self.slot(session).agents.fetch_add(1, Ordering::SeqCst) == 0
    }

    /// Counts an agent that ended. Returns whether it was the last one.
    fn agent_ended(&self, session: &Session) -> bool {
        let less = |agents: usize| agents.checked_sub(1);
        let before = self.slot(session).agents.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        before.is_ok_and(|before| before == 1)
    }

    /// Ends the extensions of a session.
    fn unload(&self, session: &Session) {
        let slot = self.lock().remove(&session_key(session));
        if let Some(extensions) = slot.and_then(|slot| slot.replace(None)) {
            extensions.close_after_commands();
            let unshown = extensions.take_unshown();
            self.unshown.lock().unwrap_or_else(PoisonError::into_inner).extend(unshown);
        }
    }
}

fn session_key(session: &Session) -> SessionKey {
    (session.store().name().to_owned(), session.key().to_owned())
}
