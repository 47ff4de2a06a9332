//! The extensions of one session: finding their handlers, their connection to the agent, and reporting their failures.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use osier_agent::hooks::ExtensionSummary;
use osier_agent::{WeakWorker, Worker};
use osier_engine::Engine;
use osier_protocol::{ExtensionEvent, NotifyType, visible_line};
use osier_session::{CursorId, Session};
use osier_tools::{ToolContext, ToolSpec, Toolbox};
use osier_tree::EntryId;
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::calls::OpenCalls;
use super::extension::{Extension, ExtensionState, Registered, RegisteredTool, TimeLimit};
use super::fetch::FetchState;
use super::next_turn::NextTurnMessages;
use super::programs::RunningPrograms;
use super::provider_stream::ProviderStream;
use super::replacement::Replacement;
use super::screen::{ExtensionPlace, ScreenState};
use super::toolbox;
use super::turn_gates::FoundResources;
use super::{ExtensionHost, ExtensionOptions};
use crate::frame::Failure;

/// See the module documentation. It has many fields because each is the state of one part of the API.
#[derive(Debug)]
pub(crate) struct SessionExtensions {
    pub(crate) session: Session,
    host: Weak<ExtensionHost>,
    pub(crate) options: Arc<ExtensionOptions>,
    /// In the order of loading.
    extensions: OnceLock<Vec<Arc<Extension>>>,
    is_loaded: AtomicBool,
    is_closed: AtomicBool,
    /// Held while extensions are loaded.
    pub(super) restart_lock: tokio::sync::Mutex<()>,
    /// Notified when extensions were loaded again, or not.
    pub(super) restart_ended: tokio::sync::Notify,
    /// Whether a task gives the events of clients to handlers.
    pub(super) is_following: AtomicBool,
    /// Whether the user is asked, or was.
    asks_for_grants: AtomicBool,
    command_line_failures: Mutex<Vec<String>>,
    agent: Mutex<AgentLink>,
    built_in_tools: Arc<OnceLock<Arc<dyn Toolbox>>>,
    /// The tools that extensions chose; `None` means all.
    active_tools: Mutex<Option<Vec<String>>>,
    /// The tools that a handler chose for the turn that runs.
    tools_of_turn: Mutex<Option<Vec<String>>>,
    /// Messages of extensions that are stored when nothing runs.
    pub(super) next_turn: NextTurnMessages,
    /// Templates and skills that extensions named.
    resources: Mutex<Arc<Vec<FoundResources>>>,
    /// The contexts of running tools and their extensions, by their token.
    pub(crate) running_tools: Mutex<HashMap<u64, (ExtensionPlace, ToolContext)>>,
    pub(crate) open_calls: Mutex<HashMap<ExtensionPlace, Arc<Mutex<OpenCalls>>>>,
    /// Where the events of replies go that extensions stream, by their token.
    pub(crate) provider_streams: Mutex<HashMap<u64, ProviderStream>>,
    last_token: AtomicU64,
    replacement: Mutex<Replacement>,
    /// The summary for the move that an extension makes now.
    given_summary: Mutex<Option<GivenSummary>>,
    /// Held while the user is asked about a key.
    pub(super) key_questions: tokio::sync::Mutex<()>,
    pub(crate) programs: RunningPrograms,
    pub(crate) fetches: FetchState,
    pub(crate) screen: ScreenState,
}

/// The events of what an extension waits for while it branches.
const OWN_MOVES: [&str; 4] = ["session_before_tree", "session_tree", "session_before_fork", "session_fork"];

/// The most events that wait for an agent.
const MAX_WAITING: usize = 1000;

/// The number of a process among those of the session.
pub(crate) type ProcessNumber = usize;

/// A request of an extension: the process, the extension, and the id, which each extension counts by itself.
pub(crate) type CallKey = (ProcessNumber, u32, u64);

/// The summary of the branch that an extension leaves with a move.
#[derive(Debug)]
pub(super) struct GivenSummary {
    pub(super) target: Option<EntryId>,
    pub(super) summary: ExtensionSummary,
}

#[derive(Debug, Default)]
struct AgentLink {
    worker: Option<WeakWorker>,
    /// What extensions showed before there was an agent.
    waiting: Vec<ExtensionEvent>,
}

impl SessionExtensions {
    /// Loads all extensions of the session's directory. Failures are reported, and the rest load.
    pub(crate) async fn load(
        session: Session,
        host: Weak<ExtensionHost>,
        options: Arc<ExtensionOptions>,
        built_in_tools: Arc<OnceLock<Arc<dyn Toolbox>>>,
    ) -> Arc<SessionExtensions> {
        let sources = options.catalog.extensions(session.header().cwd.as_ref());
        let extensions = Arc::new(SessionExtensions {
            session,
            host,
            options,
            extensions: OnceLock::new(),
            is_loaded: AtomicBool::default(),
            is_closed: AtomicBool::default(),
            restart_lock: tokio::sync::Mutex::default(),
            restart_ended: tokio::sync::Notify::new(),
            is_following: AtomicBool::default(),
            asks_for_grants: AtomicBool::default(),
            command_line_failures: Mutex::default(),
            agent: Mutex::default(),
            built_in_tools,
            active_tools: Mutex::default(),
            tools_of_turn: Mutex::default(),
            key_questions: tokio::sync::Mutex::default(),
            next_turn: NextTurnMessages::default(),
            resources: Mutex::default(),
            running_tools: Mutex::default(),
            open_calls: Mutex::default(),
            provider_streams: Mutex::default(),
            last_token: AtomicU64::new(0),
            replacement: Mutex::default(),
            given_summary: Mutex::default(),
            programs: RunningPrograms::default(),
            fetches: FetchState::default(),
            screen: ScreenState::default(),
        });
        extensions.load_all(sources).await;
        extensions
    }

    pub(super) fn set_extensions(&self, extensions: Vec<Arc<Extension>>) {
        // It is set only here.
        let _ = self.extensions.set(extensions);
    }

    pub(super) fn finish_loading(&self) {
        self.is_loaded.store(true, Ordering::SeqCst);
        for (command, extension, own_name) in self.named_commands() {
            if !self.options.client_commands.contains(&own_name) {
                continue;
            }
            let file = extension.path.file_name().unwrap_or_default().to_string_lossy();
            let message = format!("the command /{own_name} of {file} is /{} here", command.name);
            let message = visible_line(&message);
            self.show(ExtensionEvent::Notify { message, notify_type: NotifyType::Warning });
        }
    }

    /// Whether all extensions were loaded, as far as that is possible.
    pub(super) fn is_loaded(&self) -> bool {
        self.is_loaded.load(Ordering::SeqCst)
    }

    /// Why extensions of the command line could not be loaded.
    pub(crate) fn command_line_failures(&self) -> MutexGuard<'_, Vec<String>> {
        self.command_line_failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All extensions of the session, whether they run or not.
    pub(crate) fn all(&self) -> &[Arc<Extension>] {
        self.extensions.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// The extensions whose processes run.
    pub(crate) fn running(&self) -> impl Iterator<Item = &Arc<Extension>> {
        self.all().iter().filter(|extension| extension.is_running())
    }

    /// The extensions whose processes run, or are started again.
    pub(crate) fn present(&self) -> impl Iterator<Item = &Arc<Extension>> {
        self.all().iter().filter(|extension| extension.is_running() || extension.is_awaited())
    }

    /// The extension with a number in a process, also while it is loaded.
    pub(crate) fn find(&self, process: ProcessNumber, number: u32) -> Option<Arc<Extension>> {
        let is_meant =
            |extension: &&Arc<Extension>| (extension.process_number, extension.number) == (process, number);
        self.all().iter().find(is_meant).cloned()
    }

    /// The tools of the agent without those of extensions.
    pub(crate) fn built_in_tools(&self) -> Option<&Arc<dyn Toolbox>> {
        self.built_in_tools.get()
    }

    /// All tools, built in or of extensions.
    pub(crate) fn all_tools(&self) -> Vec<ToolSpec> {
        let built_in = self.built_in_tools.get().map(|tools| tools.specs()).unwrap_or_default();
        toolbox::add_tools(built_in, self.present())
    }

    pub(crate) fn set_active_tools(&self, names: Vec<String>) {
        *self.active_tools.lock().unwrap_or_else(PoisonError::into_inner) = Some(names);
        self.set_tools_of_turn(None);
    }

    /// Chooses the tools until the turn ends.
    pub(super) fn set_tools_of_turn(&self, names: Option<Vec<String>>) {
        *self.tools_of_turn.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    pub(super) fn set_resources(&self, found: Vec<FoundResources>) {
        *self.resources.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(found);
    }

    pub(super) fn resources(&self) -> Arc<Vec<FoundResources>> {
        self.resources.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the model may use a tool.
    pub(crate) fn is_active(&self, tool: &str) -> bool {
        let describe = |known: &RegisteredTool| (known.exposure() == "hidden", known.starts_active());
        let registered = self.present().find_map(|extension| extension.with_tool(tool, describe));
        let (is_hidden, starts_active) = registered.unwrap_or((false, true));
        let of_turn = self.tools_of_turn.lock().unwrap_or_else(PoisonError::into_inner);
        let active = self.active_tools.lock().unwrap_or_else(PoisonError::into_inner);
        let is_chosen = |names: &Vec<String>| names.iter().any(|name| name == tool);
        !is_hidden && of_turn.as_ref().or(active.as_ref()).map_or(starts_active, is_chosen)
    }

    /// A tool that is registered for the first time is active, also if an extension chose the active tools before.
    pub(super) fn activate_if_new(&self, tool: &RegisteredTool) {
        let is_known = self.all_tools().iter().any(|known| known.name == tool.name);
        if is_known || !tool.starts_active() {
            return;
        }
        for chosen in [&self.active_tools, &self.tools_of_turn] {
            if let Some(names) = &mut *chosen.lock().unwrap_or_else(PoisonError::into_inner) {
                names.push(tool.name.clone());
            }
        }
    }

    /// A number that no other call of the session has.
    pub(crate) fn next_token(&self) -> u64 {
        self.last_token.fetch_add(1, Ordering::Relaxed)
    }

    /// The handlers of an event, in the order in which they are called. An extension that waits for a move or a fork is not asked
    /// about that.
    pub(crate) fn handlers(&self, event: &str) -> Vec<Handler> {
        let of_extension = |extension: &Arc<Extension>| {
            let registrations = extension.registrations();
            let ids = registrations.handlers.iter().filter(|(_, name)| name == event).map(|(id, _)| *id);
            ids.map(|id| Handler { extension: extension.clone(), id }).collect::<Vec<_>>()
        };
        let is_move = OWN_MOVES.contains(&event);
        let can_answer =
            |extension: &&Arc<Extension>| !(is_move && extension.is_waiting.load(Ordering::SeqCst));
        self.running().filter(can_answer).flat_map(of_extension).collect()
    }

    fn agent_link(&self) -> MutexGuard<'_, AgentLink> {
        self.agent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_given_summary(&self, given: Option<GivenSummary>) {
        *self.given_summary.lock().unwrap_or_else(PoisonError::into_inner) = given;
    }

    /// The summary that an extension gave for a move to this entry.
    pub(super) fn take_given_summary(&self, target: Option<&str>) -> Option<ExtensionSummary> {
        let mut given = self.given_summary.lock().unwrap_or_else(PoisonError::into_inner);
        given.take_if(|given| given.target.as_ref().map(EntryId::as_str) == target).map(|given| given.summary)
    }

    pub(super) fn engine(&self) -> Option<Engine> {
        self.host.upgrade()?.engine.get().cloned()
    }

    pub(super) fn replacement(&self) -> MutexGuard<'_, Replacement> {
        self.replacement.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends these extensions and loads them again.
    pub(crate) async fn reload(&self) {
        let agent = self.agent_link().worker.clone();
        if let Some(host) = self.host.upgrade() {
            host.reload(&self.session, agent.as_ref()).await;
        }
    }

    /// The agent of the session, if it works.
    pub(crate) fn worker(&self) -> Option<Worker> {
        self.agent_link().worker.as_ref()?.upgrade()
    }

    /// Connects the extensions to the agent that hooks are asked for. An agent beside another, as in an explore, takes nothing from
    /// it. Returns whether it is connected now.
    pub(crate) fn connect(self: &Arc<SessionExtensions>, agent: Option<&WeakWorker>) -> bool {
        let Some(agent) = agent else { return false };
        let is_main = agent.upgrade().is_some_and(|worker| worker.cursor().id() == CursorId::MAIN);
        if !is_main && self.worker().is_some() {
            return false;
        }
        let waiting = {
            let mut link = self.agent_link();
            link.worker = Some(agent.clone());
            std::mem::take(&mut link.waiting)
        };
        waiting.into_iter().for_each(|event| self.show(event));
        let is_asked = || self.asks_for_grants.swap(true, Ordering::SeqCst);
        let has_questions = self.all().iter().any(|extension| extension.is_in(ExtensionState::Undecided));
        if let Some(worker) = agent.upgrade().filter(|_| has_questions && !is_asked()) {
            tokio::spawn(self.clone().ask_for_grants(worker));
        }
        true
    }

    /// Ends all processes. Nothing is asked or reported any more.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        for extension in self.all() {
            extension.process.end();
            self.stop_work_of(extension);
        }
        self.restart_ended.notify_waiters();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// What was shown while there was no agent.
    pub(super) fn take_unshown(&self) -> Vec<ExtensionEvent> {
        std::mem::take(&mut self.agent_link().waiting)
    }

    /// Gives the events of clients to handlers, as soon as there are any. An extension may add one at any time.
    pub(super) fn follow_if_wanted(self: &Arc<SessionExtensions>) {
        if let Some(worker) = self.worker().filter(|_| self.wants_to_follow())
            && !self.is_following.swap(true, Ordering::SeqCst)
        {
            tokio::spawn(self.clone().follow(worker));
        }
    }

    /// Shows something to the clients, as soon as there is an agent.
    pub(crate) fn show(&self, event: ExtensionEvent) {
        match self.worker() {
            Some(worker) => worker.show(event),
            None => {
                let waiting = &mut self.agent_link().waiting;
                if waiting.len() < MAX_WAITING {
                    waiting.push(event);
                }
            }
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
        let work = self.extension.begin_work(&Registered::Handler(self.id));
        let result = self.extension.request("event", &params, limit, cancel).await;
        let value = result.and_then(|raw| {
            serde_json::from_str::<Value>(raw.get()).map_err(|error| Failure::new(error.to_string()))
        });
        match value {
            Ok(Value::Null) => Ok(None),
            Ok(value) => Ok(Some(value)),
            Err(failure) => {
                let failure = work.locate(failure);
                session.report(&self.extension.path.display().to_string(), name, &failure);
                Err(failure)
            }
        }
    }
}
