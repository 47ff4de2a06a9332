//! The screens of clients, as far as extensions use them: their size, keys for components and listeners, and taking back what an
//! extension shows when it ends.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use osier_protocol::{EditorCompletion, ExtensionEvent, ExtensionInput};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::extension::{Extension, Registered, RegisteredCommand, TimeLimit};
use super::session::{ProcessNumber, SessionExtensions};
use super::ui_calls;
use crate::frame::{Failure, to_raw};

/// An extension: its process, and its number there.
pub(crate) type ExtensionPlace = (ProcessNumber, u32);

/// What the session knows about screens.
#[derive(Debug, Default)]
pub(crate) struct ScreenState {
    inner: Mutex<ScreenFacts>,
    pub(super) last_request: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct ScreenFacts {
    /// The last screen that a client described.
    last: Option<ExtensionInput>,
    /// What takes back what extensions show.
    undo: Vec<Shown>,
    /// The extension whose editor is shown.
    pub(super) editor: Option<ExtensionPlace>,
    /// The requests that wait for the text of the editor, by their number.
    pub(super) editor_requests: HashMap<u64, oneshot::Sender<String>>,
    /// The texts in the status line, by key.
    statuses: BTreeMap<String, String>,
    /// The extensions that render what clients asked about, by its id.
    pub(super) renderers: HashMap<String, ExtensionPlace>,
}

/// What an extension shows until it ends.
#[derive(Debug)]
struct Shown {
    owner: ExtensionPlace,
    undo: ExtensionEvent,
    /// The size of what is shown, in bytes.
    size: usize,
}

/// The most that an extension shows at once.
const MAX_SHOWN: usize = 500;
const MAX_SHOWN_BYTES: usize = 4 << 20;

impl ScreenFacts {
    fn keep(&mut self, owner: ExtensionPlace, undo: ExtensionEvent, size: usize) -> Result<(), Failure> {
        let others =
            self.undo.iter().filter(|shown| shown.owner == owner && shown.undo.slot() != undo.slot());
        let (count, bytes) = others.fold((0, size), |(count, bytes), shown| (count + 1, bytes + shown.size));
        if count >= MAX_SHOWN || bytes > MAX_SHOWN_BYTES {
            return Err(Failure::new("it shows too much at once; clear statuses or widgets first"));
        }
        self.undo.retain(|shown| shown.owner != owner || shown.undo.slot() != undo.slot());
        self.undo.push(Shown { owner, undo, size });
        Ok(())
    }
}

impl ScreenState {
    pub(super) fn lock(&self) -> MutexGuard<'_, ScreenFacts> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a footer may show: the statuses of all extensions, and the branch of the working directory.
    pub(super) fn footer_data(&self, directory: &Path) -> serde_json::Value {
        let statuses = self.lock().statuses.clone();
        json!({ "statuses": statuses, "gitBranch": osier_engine::current_branch(directory) })
    }

    pub(super) fn last(&self) -> Option<ExtensionInput> {
        self.lock().last.clone()
    }
}

impl Extension {
    pub(crate) fn place(&self) -> ExtensionPlace {
        (self.process_number, self.number)
    }

    /// Names it for clients, which tell listeners apart by it.
    pub(super) fn source_name(&self) -> String {
        format!("{}:{}", self.process_number, self.number)
    }
}

/// What listeners made of a key.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ListenerAnswer {
    consume: bool,
    data: Option<String>,
}

/// A completion of an argument, as the command returns it.
#[derive(Debug, Deserialize)]
struct ArgumentCompletion {
    value: String,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ListenParams {
    on: bool,
}

impl SessionExtensions {
    /// Shows something of an extension, and remembers how to take it back. Fails if the extension shows too much already.
    pub(super) fn show_of(&self, extension: &Extension, event: ExtensionEvent) -> Result<(), Failure> {
        if let Some(undo) = event.undo() {
            let size = to_raw(&event).get().len();
            self.screen.lock().keep(extension.place(), undo, size)?;
        }
        self.note_status(&event);
        self.show(event);
        Ok(())
    }

    fn note_status(&self, event: &ExtensionEvent) {
        let ExtensionEvent::SetStatus { status_key: key, status_text } = event else { return };
        let statuses = &mut self.screen.lock().statuses;
        match status_text {
            Some(text) => drop(statuses.insert(key.clone(), text.clone())),
            None => drop(statuses.remove(key)),
        }
    }

    /// Takes back everything that an extension shows, because it ended.
    pub(super) fn take_back(&self, extension: &Extension) {
        let place = extension.place();
        let undo: Vec<ExtensionEvent> = {
            let mut facts = self.screen.lock();
            facts.editor = facts.editor.filter(|owner| *owner != place);
            facts.undo.extract_if(.., |shown| shown.owner == place).map(|shown| shown.undo).collect()
        };
        for event in undo {
            // Another extension may have the key too.
            let is_needed = match &event {
                ExtensionEvent::SetShortcut { key, .. } => self.shortcut_owner(key).is_some(),
                _ => false,
            };
            if !is_needed {
                self.note_status(&event);
                self.show(event);
            }
        }
        self.show(ExtensionEvent::CommandsChanged);
        self.stop_work_of(extension);
    }

    /// Ends what Osier does for an extension that has ended.
    pub(super) fn stop_work_of(&self, extension: &Extension) {
        self.cancel_calls_of(extension);
        self.programs.end_all(extension.place());
        self.fetches.forget(extension.place());
    }

    /// Passes input of a client on to the extension that it is for.
    pub(super) fn receive_input(self: &Arc<SessionExtensions>, input: &ExtensionInput) {
        match input {
            ExtensionInput::Screen { columns, rows, expanded, light } => {
                self.screen.lock().last = Some(input.clone());
                let screen =
                    json!({ "columns": columns, "rows": rows, "expanded": expanded, "light": light });
                self.running().for_each(|extension| extension.notice("ui.screen", &screen));
            }
            ExtensionInput::Key { component, data, client } => {
                if let Some((extension, number)) = ui_calls::find_component(self, *component) {
                    let key = json!({ "component": number, "data": data, "client": client });
                    extension.notice("component.input", &key);
                }
            }
            ExtensionInput::Shortcut { key } => self.run_shortcut(key),
            ExtensionInput::Render(request) => self.render(request.clone()),
            ExtensionInput::EditorText { component, request, text, cursor } => {
                self.receive_editor_text(*component, *request, text, *cursor);
            }
            ExtensionInput::TerminalInput { client, number, data } => {
                tokio::spawn(self.clone().ask_listeners(*client, *number, data.clone()));
            }
            ExtensionInput::Complete { client, number, text, cursor } => {
                tokio::spawn(self.clone().complete(*client, *number, text.clone(), *cursor));
            }
        }
    }

    /// Among the extensions that run, the last one that registered a key has it.
    fn shortcut_owner(&self, key: &str) -> Option<&Arc<Extension>> {
        let has = |extension: &&Arc<Extension>| {
            extension.is_running() && extension.registrations().shortcuts.iter().any(|known| known == key)
        };
        self.all().iter().rev().find(has)
    }

    fn run_shortcut(self: &Arc<SessionExtensions>, key: &str) {
        let Some(extension) = self.shortcut_owner(key).cloned() else { return };
        let (session, key) = (self.clone(), key.to_owned());
        tokio::spawn(async move {
            let work = extension.begin_work(&Registered::Shortcut(key.clone()));
            let (params, never) = (json!({ "key": key }), CancellationToken::new());
            let done = extension.request("shortcut", &params, TimeLimit::None, &never).await;
            if let Err(failure) = done {
                let failure = work.locate(failure);
                session.report(&extension.path.display().to_string(), "shortcut", &failure);
            }
        });
    }

    /// Begins or ends to give an extension all keys, or to ask it for completions.
    pub(super) fn listen(&self, extension: &Extension, method: &str, ListenParams { on }: ListenParams) {
        let name = extension.source_name();
        let event = match method {
            "input.listen" => {
                extension.registrations().listens_to_input = on;
                ExtensionEvent::SetInputListener { listener: name, removed: !on }
            }
            _ => {
                extension.registrations().completes = on;
                ExtensionEvent::SetAutocomplete { source: name, removed: !on }
            }
        };
        if let Err(failure) = self.show_of(extension, event) {
            self.report(&extension.path.display().to_string(), method, &failure);
        }
    }

    /// Gives a key to all listeners, one after another. A failure counts as no opinion.
    async fn ask_listeners(self: Arc<SessionExtensions>, client: u64, number: u64, data: String) {
        let listens = |extension: &&Arc<Extension>| extension.registrations().listens_to_input;
        let listeners: Vec<Arc<Extension>> = self.running().filter(listens).cloned().collect();
        let mut data = Some(data);
        for extension in listeners {
            let params = json!({ "data": data });
            let Some(answer) =
                self.ask_now::<Option<ListenerAnswer>>(&extension, "terminalInput", params).await.flatten()
            else {
                continue;
            };
            data = if answer.consume { None } else { answer.data.or(data) };
            if data.is_none() {
                break;
            }
        }
        self.show(ExtensionEvent::TerminalInput { client, number, data });
    }

    /// Asks the extensions for completions: the one whose command is typed, then the others, the last one first.
    async fn complete(self: Arc<SessionExtensions>, client: u64, number: u64, text: String, cursor: usize) {
        let mut items = self.complete_arguments(&text, cursor).await;
        let completes = |extension: &&Arc<Extension>| extension.registrations().completes;
        let sources: Vec<Arc<Extension>> = self.running().filter(completes).cloned().collect();
        for extension in sources.iter().rev() {
            if items.is_some() {
                break;
            }
            let params = json!({ "text": text, "cursor": cursor });
            items = self.ask_now(extension, "complete", params).await.flatten();
        }
        let items = items.unwrap_or_default();
        self.show(ExtensionEvent::Completions { client, number, items });
    }

    /// The completions of a command's arguments, if the cursor is behind them.
    async fn complete_arguments(&self, text: &str, cursor: usize) -> Option<Vec<EditorCompletion>> {
        let (typed, prefix) = text.strip_prefix('/')?.split_once(' ').filter(|_| cursor == text.len())?;
        let (extension, name) = self.find_command(typed)?;
        let has_completions = |command: &RegisteredCommand| command.name == name && command.completes;
        if !extension.registrations().commands.iter().any(has_completions) {
            return None;
        }
        let params = json!({ "name": name, "prefix": prefix });
        let found: Vec<ArgumentCompletion> = self.ask_now(&extension, "completions", params).await?;
        let items = found.into_iter().map(|item| {
            let text = format!("/{typed} {}", item.value);
            let (label, description) =
                (item.label.unwrap_or(item.value), item.description.unwrap_or_default());
            EditorCompletion { label, description, cursor: text.len(), text }
        });
        Some(items.collect()).filter(|items: &Vec<EditorCompletion>| !items.is_empty())
    }

    /// Asks an extension something that the user waits for. A failure is reported.
    pub(super) async fn ask_now<T: serde::de::DeserializeOwned>(
        &self,
        extension: &Extension,
        method: &str,
        params: serde_json::Value,
    ) -> Option<T> {
        let cancel = CancellationToken::new();
        let answer = extension.request(method, &to_raw(&params), TimeLimit::Notification, &cancel).await;
        let read = answer.and_then(|raw| {
            serde_json::from_str(raw.get())
                .map_err(|error| Failure::new(format!("unexpected value: {error}")))
        });
        match read {
            Ok(value) => Some(value),
            Err(failure) => {
                self.report(&extension.path.display().to_string(), method, &failure);
                None
            }
        }
    }
}
