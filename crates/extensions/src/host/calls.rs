//! What extensions send: registrations, and requests by their method. One file has the methods of one subject.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use osier_agent::hooks::{CommandDecision, CommandLine, HookCommand, HookContext};
use osier_protocol::{ExtensionEvent, NotifyType, RenderTarget};
use osier_tools::ResultBlock;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::extension::{Extension, Registered, TimeLimit};
use super::flood::{MAX_OPEN_BYTES, MAX_OPEN_CALLS};
use super::process::{ProcessRun, RequestResult};
use super::screen::ExtensionPlace;
use super::session::{ProcessNumber, SessionExtensions};
use super::{
    bus, editor_calls, exec, fetch, key_calls, model_calls, programs, session_calls, toolbox, ui_calls,
};
use crate::frame::{Failure, Frame, Outcome, null, to_raw};
use crate::grants::Grant;

/// A request of an extension.
#[derive(Debug)]
pub(crate) struct ExtensionCall {
    pub(crate) session: Arc<SessionExtensions>,
    pub(crate) extension: Arc<Extension>,
    pub(crate) params: Box<RawValue>,
    /// Canceled when the extension no longer needs the answer.
    pub(crate) cancel: CancellationToken,
}

impl ExtensionCall {
    /// The parameters as their type.
    pub(crate) fn params<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        read_params(&self.params)
    }

    /// Fails if the extension lacks a permission.
    pub(crate) fn require(&self, grant: Grant) -> Result<(), Failure> {
        self.extension.grants.require(grant).map_err(Failure::new)
    }
}

pub(crate) fn read_params<T: DeserializeOwned>(params: &RawValue) -> Result<T, Failure> {
    serde_json::from_str(params.get()).map_err(|error| Failure::new(format!("invalid parameters: {error}")))
}

/// The requests of one extension that are not answered.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    /// What cancels a request, and the size of its parameters, by its id.
    calls: HashMap<u64, (CancellationToken, usize)>,
    bytes: usize,
}

impl OpenCalls {
    fn add(&mut self, id: u64, size: usize) -> Result<CancellationToken, Failure> {
        if self.calls.len() >= MAX_OPEN_CALLS || self.bytes.saturating_add(size) > MAX_OPEN_BYTES {
            return Err(Failure::new("too many requests wait for an answer"));
        }
        if self.calls.contains_key(&id) {
            return Err(Failure::new("a request with this id waits for an answer"));
        }
        let cancel = CancellationToken::new();
        self.bytes += size;
        self.calls.insert(id, (cancel.clone(), size));
        Ok(cancel)
    }

    fn remove(&mut self, id: u64) {
        if let Some((_, size)) = self.calls.remove(&id) {
            self.bytes -= size;
        }
    }
}

/// A request that is not answered. Whatever happens, it gets an answer, from the run of the process that made it: a process that is
/// started again counts its requests anew.
struct OpenCall {
    open: Arc<Mutex<OpenCalls>>,
    run: ProcessRun,
    extension: u32,
    id: u64,
    is_answered: bool,
}

impl OpenCall {
    fn answer(&mut self, outcome: Outcome) {
        self.is_answered = true;
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(self.id);
        self.run.send(&Frame::Response { extension: self.extension, id: self.id, outcome });
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if !self.is_answered {
            self.answer(Outcome::Failed(Failure::new("Osier could not answer")));
        }
    }
}

impl SessionExtensions {
    /// Handles a frame of a process. Requests are answered in tasks of their own.
    pub(crate) fn receive(self: &Arc<SessionExtensions>, process: ProcessNumber, frame: Frame) {
        match frame {
            Frame::Notice { extension, method, params } => {
                if let Some(extension) = self.find(process, extension) {
                    self.handle_notice(&extension, &method, &params);
                }
            }
            Frame::Request { extension, id, method, params } => {
                if let Some(extension) = self.find(process, extension) {
                    self.start_call(extension, id, method, params);
                }
            }
            Frame::Cancel { extension, id } => {
                let open = self.open_calls().get(&(process, extension)).cloned();
                if let Some(open) = open
                    && let Some((cancel, _)) =
                        open.lock().unwrap_or_else(PoisonError::into_inner).calls.get(&id)
                {
                    cancel.cancel();
                }
            }
            Frame::Hello { .. } | Frame::Response { .. } | Frame::Interrupt { .. } => {}
        }
    }

    fn open_calls(&self) -> MutexGuard<'_, HashMap<ExtensionPlace, Arc<Mutex<OpenCalls>>>> {
        self.open_calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels the requests of an extension that has ended.
    pub(super) fn cancel_calls_of(&self, extension: &Extension) {
        let Some(open) = self.open_calls().remove(&extension.place()) else { return };
        let open = open.lock().unwrap_or_else(PoisonError::into_inner);
        open.calls.values().for_each(|(cancel, _)| cancel.cancel());
    }

    fn start_call(
        self: &Arc<SessionExtensions>,
        extension: Arc<Extension>,
        id: u64,
        method: String,
        params: Box<RawValue>,
    ) {
        let run = extension.process.run();
        let open = self.open_calls().entry(extension.place()).or_default().clone();
        let added = open.lock().unwrap_or_else(PoisonError::into_inner).add(id, params.get().len());
        let cancel = match added {
            Ok(cancel) => cancel,
            Err(failure) => {
                let outcome = Outcome::Failed(failure);
                return run.send(&Frame::Response { extension: extension.number, id, outcome });
            }
        };
        // The order of other requests does not matter, or they are synchronous. A command that a prompt names may send prompts too.
        let is_prompt =
            method == "agent.sendUserMessage" && !params.get().contains(r#""expandPromptTemplates":true"#);
        let turn = is_prompt.then(|| extension.actions.enter());
        let mut open = OpenCall { open, run, extension: extension.number, id, is_answered: false };
        let call = ExtensionCall { session: self.current(), extension, params, cancel };
        tokio::spawn(async move {
            let mut turn = turn;
            if let Some(turn) = &mut turn {
                turn.begin().await;
            }
            open.answer(match answer(&method, call).await {
                Ok(value) => Outcome::Done(value),
                Err(failure) => Outcome::Failed(failure),
            });
        });
    }

    fn handle_notice(
        self: &Arc<SessionExtensions>,
        extension: &Arc<Extension>,
        method: &str,
        params: &RawValue,
    ) {
        let path = || extension.path.display().to_string();
        let session = self.current();
        if let Err(failure) = session.try_notice(extension, method, params) {
            session.report(&path(), method, &failure);
        }
    }

    fn try_notice(
        self: &Arc<SessionExtensions>,
        extension: &Arc<Extension>,
        method: &str,
        params: &RawValue,
    ) -> Result<(), Failure> {
        let path = || extension.path.display().to_string();
        match method {
            "on" | "off" | "registerCommand" | "registerTool" | "registerShortcut" | "registerFlag"
            | "registerProvider" | "unregisterProvider" | "registerRenderer" | "bus.on" => {
                self.check_provider_name(extension, method, params)?;
                if method == "registerTool" {
                    self.activate_if_new(&read_params(params)?);
                }
                register(extension, method, params)?;
                self.follow_if_wanted();
                // Clients that are here now may have asked for the commands.
                if method == "registerCommand" && self.worker().is_some() {
                    self.show(ExtensionEvent::CommandsChanged);
                }
                if let Some(event) = shown_registration(extension, method, params)? {
                    self.show_of(extension, event)?;
                }
            }
            "error" => {
                let mut failure: Failure = read_params(params)?;
                if failure.stack.is_empty() {
                    failure.stack = extension.places_of_work();
                }
                self.report(&path(), "", &failure);
            }
            "log" => {
                let LogLine { text } = read_params(params)?;
                self.show(ExtensionEvent::Log { extension_path: path(), text });
            }
            "ui.show" => ui_calls::show(self, extension, read_params(params)?)?,
            "component.draw" => ui_calls::draw_component(self, extension, params)?,
            "rendered" => self.show_rendered(extension, read_params(params)?),
            "input.listen" | "autocomplete.offer" => self.listen(extension, method, read_params(params)?),
            "editor.draw" | "editor.close" | "editor.key" | "editor.submit" => {
                editor_calls::handle(self, extension, method, params)?;
            }
            "provider.events" => self.receive_provider_events(extension, read_params(params)?),
            "tool.update" => self.update_tool(extension, &read_params(params)?),
            "bus.emit" => self.emit(extension, &read_params(params)?),
            "bus.call" => self.call_function(extension, read_params(params)?),
            "agent.abort" => session_calls::abort(self),
            "agent.shutdown" => session_calls::shutdown(self),
            "stuck" => extension.process.kill_for(extension.number, "its code did not end"),
            _ => return Err(Failure::new(format!("unknown method {method}"))),
        }
        Ok(())
    }

    /// Fails if another extension has the name of a provider.
    fn check_provider_name(
        &self,
        extension: &Arc<Extension>,
        method: &str,
        params: &RawValue,
    ) -> Result<(), Failure> {
        if method != "registerProvider" {
            return Ok(());
        }
        let ProviderName { id } = read_params(params)?;
        let has =
            |other: &&Arc<Extension>| other.registrations().providers.iter().any(|known| known.id == id);
        let mut others = self.running().filter(|other| !Arc::ptr_eq(other, extension));
        match others.find(has) {
            Some(other) => {
                Err(Failure::new(format!("{} already registered the provider {id}", other.path.display())))
            }
            None => Ok(()),
        }
    }

    /// Shows the text of a tool's partial result as live output, if it is a tool of this extension.
    fn update_tool(&self, extension: &Extension, update: &ToolUpdate) {
        let texts = update.partial.content.iter().filter_map(|block| match block {
            ResultBlock::Text { text } => Some(text.as_str()),
            ResultBlock::Image { .. } => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        if let Some(ctx) = self.running_tool(extension, update.token) {
            ctx.progress.send(text);
        }
    }

    /// The commands of all extensions. Equal names get a number, and so do those of the client.
    pub(crate) fn command_list(&self) -> Vec<HookCommand> {
        self.named_commands().into_iter().map(|(command, ..)| command).collect()
    }

    /// Commands under the names that the user types, with their extensions and their own names.
    pub(super) fn named_commands(&self) -> Vec<(HookCommand, Arc<Extension>, String)> {
        let of_extension = |extension: &Arc<Extension>| {
            let commands = extension.registrations().commands.clone();
            commands.into_iter().map(|command| (command, extension.clone())).collect::<Vec<_>>()
        };
        let all: Vec<_> = self.running().flat_map(of_extension).collect();
        let mut named: Vec<(HookCommand, Arc<Extension>, String)> = Vec::new();
        for (command, extension) in &all {
            let is_same = |name: &str| name == command.name;
            let total = all.iter().filter(|(other, _)| is_same(&other.name)).count();
            let before = named.iter().filter(|(.., own_name)| is_same(own_name)).count();
            let is_taken = total > 1 || self.options.client_commands.contains(&command.name);
            let name =
                if is_taken { format!("{}:{}", command.name, before + 1) } else { command.name.clone() };
            let description = command.description.clone().unwrap_or_default();
            named.push((HookCommand { name, description }, extension.clone(), command.name.clone()));
        }
        named
    }

    /// The extension that has a command, and its own name for it.
    pub(super) fn find_command(&self, typed: &str) -> Option<(Arc<Extension>, String)> {
        let named = self.named_commands();
        let found = named.into_iter().find(|(command, ..)| command.name == typed);
        found.map(|(_, extension, name)| (extension, name))
    }

    /// Runs a command, if an extension has it.
    pub(crate) async fn run_command(&self, line: &CommandLine, ctx: &HookContext<'_>) -> CommandDecision {
        let Some((extension, name)) = self.find_command(&line.name) else {
            return CommandDecision::Unknown;
        };
        let params = json!({ "name": name, "args": line.arguments });
        self.command_started();
        let work = extension.begin_work(&Registered::Command(name.clone()));
        let shown = ctx.show_work(Some(&line.name));
        let mut running = RunningCommand::start(extension.clone(), params);
        let ended = tokio::select! {
            () = self.command_canceled(ctx.cancel) => None,
            ended = &mut running.task => Some(ended.unwrap_or_else(|_| Err(Failure::new("no response")))),
        };
        self.command_ended();
        drop(shown);
        let Some(ended) = ended else {
            let message = format!("Canceled /{}", line.name);
            self.show(ExtensionEvent::Notify { message, notify_type: NotifyType::Info });
            return CommandDecision::Done;
        };
        match ended {
            Ok(raw) => match serde_json::from_str::<CommandAnswer>(raw.get()) {
                Ok(CommandAnswer { prompt: Some(prompt) }) if !prompt.trim().is_empty() => {
                    CommandDecision::Prompt(prompt)
                }
                _ => CommandDecision::Done,
            },
            // A command that loads extensions again ends with its process.
            Err(_) if self.is_closed() => CommandDecision::Done,
            Err(failure) => {
                self.report(&format!("command:{name}"), "command", &work.locate(failure));
                CommandDecision::Done
            }
        }
    }
}

/// A command that runs. When this is dropped, nobody waits for it any longer, but its code is stopped if it does not end.
#[derive(Debug)]
struct RunningCommand {
    task: JoinHandle<RequestResult>,
    _cancel: DropGuard,
}

impl RunningCommand {
    fn start(extension: Arc<Extension>, params: Value) -> RunningCommand {
        let cancel = CancellationToken::new();
        let (canceled, _cancel) = (cancel.clone(), cancel.drop_guard());
        let request = async move { extension.request("command", &params, TimeLimit::None, &canceled).await };
        RunningCommand { task: tokio::spawn(request), _cancel }
    }
}

#[derive(Debug, Deserialize)]
struct LogLine {
    text: String,
}

#[derive(Debug, Deserialize)]
struct ToolUpdate {
    token: u64,
    partial: PartialResult,
}

#[derive(Debug, Deserialize)]
struct PartialResult {
    #[serde(default)]
    content: Vec<ResultBlock>,
}

/// What a command returned: nothing, or a text to send.
#[derive(Debug, Deserialize)]
struct CommandAnswer {
    prompt: Option<String>,
}

#[derive(Debug, Deserialize)]
struct HandlerRegistration {
    #[serde(default)]
    event: String,
    handler: u64,
}

/// Where the code is that registers something.
#[derive(Debug, Deserialize)]
struct PlaceOfRegistration {
    #[serde(default)]
    place: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ShortcutRegistration {
    key: String,
    #[serde(default)]
    description: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RendererRegistration {
    target: RenderTarget,
    name: String,
    #[serde(default)]
    own_shell: bool,
}

#[derive(Debug, Deserialize)]
struct ProviderName {
    id: String,
}

#[derive(Debug, Deserialize)]
struct BusRegistration {
    name: String,
}

/// What clients learn about a registration.
fn shown_registration(
    extension: &Extension,
    method: &str,
    params: &RawValue,
) -> Result<Option<ExtensionEvent>, Failure> {
    let removed = false;
    Ok(match method {
        "registerShortcut" => {
            let ShortcutRegistration { key, description } = read_params(params)?;
            Some(ExtensionEvent::SetShortcut { key, description, removed })
        }
        "registerCommand" => {
            let command: super::extension::RegisteredCommand = read_params(params)?;
            let source = extension.source_name();
            command.completes.then_some(ExtensionEvent::SetAutocomplete { source, removed })
        }
        "registerRenderer" => {
            let RendererRegistration { target, name, own_shell } = read_params(params)?;
            Some(ExtensionEvent::SetRenderer { target, name, own_shell, removed })
        }
        "registerTool" => {
            let tool: super::extension::RegisteredTool = read_params(params)?;
            let (target, own_shell) = (RenderTarget::Tool, tool.own_shell);
            let event = ExtensionEvent::SetRenderer { target, name: tool.name, own_shell, removed };
            tool.renders.then_some(event)
        }
        _ => None,
    })
}

/// Records a registration. Most can be made at any time.
fn register(extension: &Extension, method: &str, params: &RawValue) -> Result<(), Failure> {
    let mut registrations = extension.registrations();
    if !matches!(method, "off" | "unregisterProvider") {
        registrations.check_room(method, params.get().len())?;
    }
    let PlaceOfRegistration { place } = read_params(params)?;
    match method {
        "on" => {
            let HandlerRegistration { event, handler } = read_params(params)?;
            registrations.keep_place(Registered::Handler(handler), place);
            registrations.handlers.push((handler, event));
        }
        "off" => {
            let HandlerRegistration { handler, .. } = read_params(params)?;
            registrations.places.remove(&Registered::Handler(handler));
            registrations.handlers.retain(|(id, _)| *id != handler);
        }
        "registerCommand" => {
            let command: super::extension::RegisteredCommand = read_params(params)?;
            registrations.keep_place(Registered::Command(command.name.clone()), place);
            registrations.commands.retain(|known| known.name != command.name);
            registrations.commands.push(command);
        }
        "registerTool" => {
            let tool: super::extension::RegisteredTool = read_params(params)?;
            registrations.keep_place(Registered::Tool(tool.name.clone()), place);
            registrations.tools.retain(|known| known.name != tool.name);
            registrations.tools.push(tool);
        }
        "registerShortcut" => {
            let ShortcutRegistration { key, .. } = read_params(params)?;
            registrations.keep_place(Registered::Shortcut(key.clone()), place);
            registrations.shortcuts.push(key);
        }
        "registerRenderer" => {
            let RendererRegistration { target, name, .. } = read_params(params)?;
            registrations.renderers.push((target, name));
        }
        "registerFlag" => {
            let flag: super::flags::RegisteredFlag = read_params(params)?;
            registrations.flags.retain(|known| known.name != flag.name);
            registrations.flags.push(flag);
        }
        "registerProvider" => {
            let provider: super::providers::RegisteredProvider = read_params(params)?;
            provider.check(extension)?;
            registrations.providers.retain(|known| known.id != provider.id);
            registrations.providers.push(provider);
        }
        "unregisterProvider" => {
            let ProviderName { id } = read_params(params)?;
            registrations.providers.retain(|known| known.id != id);
        }
        _ => {
            let BusRegistration { name } = read_params(params)?;
            registrations.bus.push(name);
        }
    }
    Ok(())
}

/// Answers a request.
async fn answer(method: &str, call: ExtensionCall) -> RequestResult {
    match method {
        "exec" => exec::exec(&call).await.map(|result| to_raw(&result)),
        "ui.component" => ui_calls::component(&call).await.map(|closed| to_raw(&closed)),
        "models.list" => Ok(to_raw(&model_calls::list(&call, false))),
        "models.all" => Ok(to_raw(&model_calls::list(&call, true))),
        "models.find" => model_calls::find(&call).map(|model| to_raw(&model)),
        "models.access" => key_calls::access(&call).await.map(|access| to_raw(&access)),
        "models.complete" => model_calls::complete(&call).await.map(|message| to_raw(&message)),
        "bus.emitNow" => bus::emit_now(&call).await.map(|calls| to_raw(&calls)),
        "tools.run" => toolbox::run_built_in(&call).await.map(|result| to_raw(&result)),
        "program.start" => programs::start(&call).map(|started| to_raw(&started)),
        "program.write" | "program.closeInput" | "program.kill" => {
            programs::order(&call, method).await.map(|()| null())
        }
        "program.run" => programs::run(&call).await.map(|result| to_raw(&result)),
        "fetch" => fetch::fetch(&call).await.map(|response| to_raw(&response)),
        "fetch.read" => fetch::read_body(&call).await.map(|chunk| to_raw(&chunk)),
        "fetch.close" => fetch::close_body(&call).map(|()| null()),
        "ui.dialog" => ui_calls::dialog(&call).await.map(|answer| to_raw(&answer)),
        "ui.footerData" => {
            Ok(to_raw(&call.session.screen.footer_data(call.session.session.header().cwd.as_ref())))
        }
        "ui.editorText" => Ok(to_raw(&editor_calls::text(&call).await)),
        _ => session_calls::answer(method, &call).await,
    }
}
