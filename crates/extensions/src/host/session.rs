//! The extensions of one session: loading them, finding their handlers, and reporting their failures.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use osier_agent::{WeakWorker, Worker};
use osier_protocol::ExtensionEvent;
use osier_session::Session;
use osier_tools::{ToolContext, ToolSpec, Toolbox};
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::ExtensionOptions;
use super::extension::{Extension, TimeLimit};
use super::fetch::FetchState;
use super::process::{ExtensionProcess, FrameReceiver, RequestResult};
use super::programs::RunningPrograms;
use super::system::system_facts;
use super::toolbox;
use crate::file_rules::FileRules;
use crate::frame::{Failure, Frame};
use crate::grants::Grants;
use crate::source::{ExtensionOrigin, ExtensionSource, module_root};

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct SessionExtensions {
    pub(crate) session: Session,
    pub(crate) options: Arc<ExtensionOptions>,
    /// In the order of loading.
    extensions: OnceLock<Vec<Arc<Extension>>>,
    /// While extensions are loaded, those that are.
    loading: Mutex<Vec<Arc<Extension>>>,
    command_line_failures: Mutex<Vec<String>>,
    agent: Mutex<AgentLink>,
    built_in_tools: Arc<OnceLock<Arc<dyn Toolbox>>>,
    /// The tools that extensions chose; `None` means all.
    active_tools: Mutex<Option<Vec<String>>>,
    /// The contexts of running tools, by their token.
    pub(crate) running_tools: Mutex<HashMap<u64, ToolContext>>,
    /// Requests of extensions that can be canceled.
    pub(crate) open_calls: Mutex<HashMap<CallKey, CancellationToken>>,
    pub(crate) programs: RunningPrograms,
    pub(crate) fetches: FetchState,
}

/// The number of a process among those of the session.
pub(crate) type ProcessNumber = usize;

/// A request of an extension: the process, the extension, and the id, which each extension counts by itself.
pub(crate) type CallKey = (ProcessNumber, u32, u64);

#[derive(Debug, Default)]
struct AgentLink {
    worker: Option<WeakWorker>,
    /// What extensions showed before there was an agent.
    waiting: Vec<ExtensionEvent>,
}

/// Gives the frames of one process to the session.
struct ProcessReceiver {
    session: Weak<SessionExtensions>,
    process: ProcessNumber,
}

impl FrameReceiver for ProcessReceiver {
    fn receive(&self, frame: Frame) {
        if let Some(session) = self.session.upgrade() {
            session.receive(self.process, frame);
        }
    }

    fn process_ended(&self, reason: &str) {
        tracing::debug!(reason, "a process of extensions ended");
        // After the end of the session, nobody is interested.
        let Some(session) = self.session.upgrade() else { return };
        let lost = session.all().iter().filter(|extension| extension.process_number == self.process);
        for extension in lost {
            let failure = Failure::new(format!("{reason}; the extension is off in this session"));
            session.report(&extension.path.display().to_string(), "process", &failure);
        }
    }
}

impl SessionExtensions {
    /// Loads all extensions of the session's directory. Failures are reported, and the rest load.
    pub(crate) async fn load(
        session: Session,
        options: Arc<ExtensionOptions>,
        built_in_tools: Arc<OnceLock<Arc<dyn Toolbox>>>,
    ) -> Arc<SessionExtensions> {
        let sources = options.catalog.extensions(session.header().cwd.as_ref());
        let extensions = Arc::new(SessionExtensions {
            session,
            options,
            extensions: OnceLock::new(),
            loading: Mutex::default(),
            command_line_failures: Mutex::default(),
            agent: Mutex::default(),
            built_in_tools,
            active_tools: Mutex::default(),
            running_tools: Mutex::default(),
            open_calls: Mutex::default(),
            programs: RunningPrograms::default(),
            fetches: FetchState::default(),
        });
        extensions.load_all(sources).await;
        extensions
    }

    async fn load_all(self: &Arc<SessionExtensions>, sources: Vec<ExtensionSource>) {
        let mut processes: Vec<(ExtensionOrigin, Arc<ExtensionProcess>, u32)> = Vec::new();
        let mut loaded = Vec::new();
        for source in sources {
            let known = processes.iter().position(|(origin, ..)| *origin == source.origin);
            let at = match known {
                Some(at) => at,
                None => match self.start_process(processes.len()) {
                    Ok(process) => {
                        processes.push((source.origin, process, 0));
                        processes.len() - 1
                    }
                    Err(error) => {
                        self.report(
                            &source.path.display().to_string(),
                            "load",
                            &Failure::new(error.to_string()),
                        );
                        continue;
                    }
                },
            };
            let (_, process, count) = &mut processes[at];
            let extension =
                Arc::new(Extension::new(source.path.clone(), source.grants, (at, *count), process.clone()));
            *count += 1;
            self.loading().push(extension.clone());
            match self.load_one(&extension).await {
                Ok(_) => loaded.push(extension),
                Err(failure) => {
                    let message = format!("Failed to load extension: {}", failure.message);
                    let failure = Failure { message, ..failure };
                    if source.origin == ExtensionOrigin::CommandLine {
                        self.command_line_failures().push(failure.with_place());
                    }
                    self.report(&extension.path.display().to_string(), "load", &failure);
                }
            }
        }
        // It is set only here.
        let _ = self.extensions.set(loaded);
    }

    fn start_process(
        self: &Arc<SessionExtensions>,
        number: ProcessNumber,
    ) -> std::io::Result<Arc<ExtensionProcess>> {
        let receiver = ProcessReceiver { session: Arc::downgrade(self), process: number };
        Ok(Arc::new(ExtensionProcess::start(&self.options.launcher, Arc::new(receiver))?))
    }

    async fn load_one(&self, extension: &Extension) -> RequestResult {
        let not_found = |error| Failure::new(format!("{}: {error}", extension.path.display()));
        let path = extension.path.canonicalize().map_err(not_found)?;
        let (directory, mode) = (&self.session.header().cwd, self.options.mode);
        let params = json!({
            "path": path,
            "fileRules": self.file_rules(&path, &extension.grants),
            "environment": {
                "cwd": directory,
                "mode": mode.name(),
                "hasUI": mode.has_user(),
                "system": system_facts(&self.options.launcher),
                "agentDir": self.options.data_folder,
                "variables": self.options.visible_variables(&extension.grants),
                "isProjectTrusted": self.options.catalog.is_trusted(directory.as_ref()),
            },
        });
        extension.request("load", &params, TimeLimit::Load, &CancellationToken::new()).await
    }

    fn file_rules(&self, path: &Path, grants: &Grants) -> FileRules {
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        FileRules {
            cwd: PathBuf::from(&self.session.header().cwd),
            roots: vec![module_root(path)],
            data_folder: real(&self.options.data_folder),
            protected: self.options.protected.iter().map(real).collect(),
            grants: grants.clone(),
        }
    }

    /// Why extensions of the command line could not be loaded.
    pub(crate) fn command_line_failures(&self) -> MutexGuard<'_, Vec<String>> {
        self.command_line_failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn loading(&self) -> MutexGuard<'_, Vec<Arc<Extension>>> {
        self.loading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The extensions that were loaded.
    pub(crate) fn all(&self) -> &[Arc<Extension>] {
        self.extensions.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// The extensions whose processes run.
    pub(crate) fn running(&self) -> impl Iterator<Item = &Arc<Extension>> {
        self.all().iter().filter(|extension| !extension.process.has_ended())
    }

    /// The extension with a number in a process, also while it is loaded.
    pub(crate) fn find(&self, process: ProcessNumber, number: u32) -> Option<Arc<Extension>> {
        let is_meant =
            |extension: &&Arc<Extension>| (extension.process_number, extension.number) == (process, number);
        self.loading().iter().find(is_meant).cloned()
    }

    /// The tools of the agent without those of extensions.
    pub(crate) fn built_in_tools(&self) -> Option<&Arc<dyn Toolbox>> {
        self.built_in_tools.get()
    }

    /// All tools, built in or of extensions.
    pub(crate) fn all_tools(&self) -> Vec<ToolSpec> {
        let built_in = self.built_in_tools.get().map(|tools| tools.specs()).unwrap_or_default();
        toolbox::add_tools(built_in, self.running())
    }

    pub(crate) fn set_active_tools(&self, names: Vec<String>) {
        *self.active_tools.lock().unwrap_or_else(PoisonError::into_inner) = Some(names);
    }

    /// Whether the model may use a tool.
    pub(crate) fn is_active(&self, tool: &str) -> bool {
        let active = self.active_tools.lock().unwrap_or_else(PoisonError::into_inner);
        active.as_ref().is_none_or(|names| names.iter().any(|name| name == tool))
    }

    /// The handlers of an event, in the order in which they are called.
    pub(crate) fn handlers(&self, event: &str) -> Vec<Handler> {
        let of_extension = |extension: &Arc<Extension>| {
            let registrations = extension.registrations();
            let ids = registrations.handlers.iter().filter(|(_, name)| name == event).map(|(id, _)| *id);
            ids.map(|id| Handler { extension: extension.clone(), id }).collect::<Vec<_>>()
        };
        self.running().flat_map(of_extension).collect()
    }

    fn agent_link(&self) -> MutexGuard<'_, AgentLink> {
        self.agent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent of the session, if it works.
    pub(crate) fn worker(&self) -> Option<Worker> {
        self.agent_link().worker.as_ref()?.upgrade()
    }

    /// Connects the extensions to the agent that hooks are asked for.
    pub(crate) fn connect(&self, agent: Option<&WeakWorker>) {
        let Some(agent) = agent else { return };
        let waiting = {
            let mut link = self.agent_link();
            link.worker = Some(agent.clone());
            std::mem::take(&mut link.waiting)
        };
        waiting.into_iter().for_each(|event| self.show(event));
    }

    /// Shows something to the clients, as soon as there is an agent.
    pub(crate) fn show(&self, event: ExtensionEvent) {
        match self.worker() {
            Some(worker) => worker.show(event),
            None => self.agent_link().waiting.push(event),
        }
    }

    /// Reports a failure by file, event and line.
    pub(crate) fn report(&self, path: &str, event: &str, failure: &Failure) {
        // The text may contain parts of the conversation, so it is not logged.
        tracing::warn!(extension = path, event, "an extension failed");
        self.show(ExtensionEvent::Failed {
            extension_path: path.to_owned(),
            event: event.to_owned(),
            error: failure.message.clone(),
            stack: failure.stack.clone(),
        });
    }
}

/// A handler of an event.
#[derive(Debug, Clone)]
pub(crate) struct Handler {
    pub(crate) extension: Arc<Extension>,
    id: u64,
}

impl Handler {
    /// Calls the handler. `None` if it returned nothing or failed, which is reported.
    pub(crate) async fn call(
        &self,
        session: &SessionExtensions,
        event: &impl Serialize,
        name: &str,
        limit: TimeLimit,
        cancel: &CancellationToken,
    ) -> Result<Option<Value>, Failure> {
        let params = json!({ "handler": self.id, "event": event });
        let result = self.extension.request("event", &params, limit, cancel).await;
        let value = result.and_then(|raw| {
            serde_json::from_str::<Value>(raw.get()).map_err(|error| Failure::new(error.to_string()))
        });
        match value {
            Ok(Value::Null) => Ok(None),
            Ok(value) => Ok(Some(value)),
            Err(failure) => {
                session.report(&self.extension.path.display().to_string(), name, &failure);
                Err(failure)
            }
        }
    }
}
