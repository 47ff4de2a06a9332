//! Loading the extensions of a session: inspecting them, asking for grants, starting their processes, and starting a process
//! again that ended.
//!
//! Extensions share a process only if their origin and their grants are equal.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use osier_agent::Worker;
use osier_protocol::{Dialog, DialogQuestion, ExtensionEvent, NotifyType, UserAnswer, visible_line};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::extension::{Extension, ExtensionState, TimeLimit};
use super::flood::{FloodDecision, FloodGuard};
use super::launcher::ExtensionEngine;
use super::node::NodeCommand;
use super::process::{ExtensionProcess, FrameReceiver, ProcessEnd, RequestResult};
use super::session::{Handler, ProcessNumber, SessionExtensions};
use super::system::system_facts;
use super::{ExtensionMode, ExtensionOptions};
use crate::child::Confinement;
use crate::file_rules::FileRules;
use crate::frame::{Failure, Frame, to_raw};
use crate::grants::{Grant, Grants};
use crate::inspect::{ExtensionManifest, Inspection};
use crate::source::{ExtensionOrigin, ExtensionSource, GrantDecision, module_root};

/// Gives the frames of one process to the session.
#[derive(Debug)]
struct ProcessReceiver {
    session: Weak<SessionExtensions>,
    process: ProcessNumber,
    flood: FloodGuard,
}

impl FrameReceiver for ProcessReceiver {
    fn receive(&self, frame: Frame) {
        let Some(session) = self.session.upgrade() else { return };
        match &frame {
            Frame::Notice { extension, method, params } => {
                match self.flood.count_notice(*extension, method, params.get().len()) {
                    FloodDecision::Handle => session.receive(self.process, frame),
                    FloodDecision::Report => session.report_flood(self.process, *extension),
                    FloodDecision::Drop => {}
                }
            }
            _ => session.receive(self.process, frame),
        }
    }

    fn process_ended(&self, end: ProcessEnd) {
        tracing::debug!(reason = end.reason, "a process of extensions ended");
        // After the end of the session, nobody is interested.
        if let Some(session) = self.session.upgrade().filter(|session| !session.is_closed()) {
            session.handle_process_end(self.process, &end);
        }
    }
}

/// See [`SessionExtensions::restarting`].
struct Restarting<'a> {
    _lock: tokio::sync::MutexGuard<'a, ()>,
    changed: &'a tokio::sync::Notify,
}

impl Drop for Restarting<'_> {
    fn drop(&mut self) {
        self.changed.notify_waiters();
    }
}

/// The extensions of one process. One in Node has a process of its own.
#[derive(Debug)]
struct ProcessGroup {
    /// `None` in Node.
    key: Option<(ExtensionOrigin, Grants)>,
    number: ProcessNumber,
    process: Arc<ExtensionProcess>,
    count: u32,
}

impl SessionExtensions {
    /// The folder must exist before a process is confined to it.
    fn create_data_folder(&self) {
        use std::os::unix::fs::DirBuilderExt;
        let created =
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.options.data_folder);
        if let Err(error) = created {
            tracing::warn!(%error, "cannot create the folder for the data of extensions");
        }
    }

    /// Inspects and loads extensions, in this order. Failures are reported, and the rest load.
    pub(super) async fn load_all(self: &Arc<SessionExtensions>, sources: Vec<ExtensionSource>) {
        if sources.is_empty() {
            return;
        }
        self.create_data_folder();
        // The process that inspects becomes the first one that runs extensions in the sandbox.
        let inspector = self.new_process(0, ExtensionEngine::Sandbox);
        let mut groups: Vec<ProcessGroup> = Vec::new();
        let mut extensions = Vec::new();
        for source in sources {
            let Some((inspection, state)) = self.inspect(&inspector, &source).await else { continue };
            let group = match self.group_of(&mut groups, &inspector, &source, &inspection.manifest).await {
                Ok(group) => group,
                Err(failure) => {
                    self.report_load_failure(&source, failure);
                    continue;
                }
            };
            let place = (group.number, group.count);
            group.count += 1;
            extensions.push(Arc::new(Extension::new(
                source,
                inspection,
                place,
                group.process.clone(),
                state,
            )));
        }
        self.set_extensions(extensions);
        let restarting = self.restarting().await;
        for group in &groups {
            self.prepare_process(group.number).await;
        }
        self.all().iter().for_each(|extension| self.say_if_not_confined(extension));
        for extension in self.all() {
            if extension.is_in(ExtensionState::Loaded) && extension.is_to_load() {
                self.load_or_report(extension).await;
                if extension.process.has_ended() {
                    self.load_group(extension.process_number).await;
                }
            }
        }
        // A process may have ended while another one loaded its extensions.
        for group in &groups {
            self.load_group(group.number).await;
        }
        drop(restarting);
        self.finish_loading();
    }

    /// `-e FILE` asks nothing, so it says what the user would be asked.
    fn say_if_not_confined(&self, extension: &Extension) {
        let place = extension.manifest.needs.get(&Grant::Node);
        let is_asked = extension.source.origin != ExtensionOrigin::CommandLine;
        let Some(place) = place.filter(|_| !is_asked && extension.is_in(ExtensionState::Loaded)) else {
            return;
        };
        let message =
            visible_line(&format!("{} {} ({place})", extension.path.display(), Grant::Node.description()));
        self.show(match self.options.mode {
            ExtensionMode::Terminal => ExtensionEvent::Notify { message, notify_type: NotifyType::Warning },
            // Programs that read the output do not expect a notice there.
            _ => ExtensionEvent::Log { extension_path: extension.path.display().to_string(), text: message },
        });
    }

    /// The process for an extension: one that it can share, or a new one.
    async fn group_of<'a>(
        self: &Arc<SessionExtensions>,
        groups: &'a mut Vec<ProcessGroup>,
        inspector: &Arc<ExtensionProcess>,
        source: &ExtensionSource,
        manifest: &ExtensionManifest,
    ) -> Result<&'a mut ProcessGroup, Failure> {
        let grants = manifest.grants();
        let in_node = manifest.needs.get(&Grant::Node);
        let key = in_node.is_none().then(|| (source.origin, grants.clone()));
        let known = groups.iter().position(|group| key.is_some() && group.key == key);
        let at = match known {
            Some(at) => at,
            None => {
                let number = groups.len() + 1;
                let (number, process) = match in_node {
                    Some(place) => {
                        let directory = self.session.header().cwd.as_ref();
                        let command = NodeCommand::new(&self.options, directory, &source.path, &grants).await;
                        let command = command.map_err(|reason| {
                            Failure::new(format!("it needs Node ({place}), and {reason}"))
                        })?;
                        (number, self.new_process(number, ExtensionEngine::Node(command)))
                    }
                    None if groups.iter().any(|group| group.number == 0) => {
                        (number, self.new_process(number, ExtensionEngine::Sandbox))
                    }
                    None => (0, inspector.clone()),
                };
                groups.push(ProcessGroup { key, number, process, count: 0 });
                groups.len() - 1
            }
        };
        Ok(&mut groups[at])
    }

    fn report_flood(&self, process: ProcessNumber, number: u32) {
        if let Some(extension) = self.find(process, number) {
            let failure = Failure::new("it sends too many messages; some of them are dropped");
            self.report(&extension.path.display().to_string(), "flood", &failure);
        }
    }

    fn new_process(
        self: &Arc<SessionExtensions>,
        number: ProcessNumber,
        engine: ExtensionEngine,
    ) -> Arc<ExtensionProcess> {
        let receiver =
            ProcessReceiver { session: Arc::downgrade(self), process: number, flood: FloodGuard::default() };
        Arc::new(ExtensionProcess::new(&self.options.launcher, engine, Arc::new(receiver)))
    }

    /// What an extension needs, and whether it may run. `None` if it cannot.
    async fn inspect(
        &self,
        process: &ExtensionProcess,
        source: &ExtensionSource,
    ) -> Option<(Inspection, ExtensionState)> {
        let inspected = async {
            let started = process.start().await;
            started.map_err(|error| Failure::new(format!("cannot start a process: {error}")))?;
            let raw = process.ask("inspect", to_raw(&source.path)).await?;
            serde_json::from_str::<Inspection>(raw.get()).map_err(|error| Failure::new(error.to_string()))
        };
        match inspected.await {
            Ok(inspection) => self.decide(source, &inspection.manifest).map(|state| (inspection, state)),
            Err(failure) => {
                self.report_load_failure(source, failure);
                None
            }
        }
    }

    fn decide(&self, source: &ExtensionSource, manifest: &ExtensionManifest) -> Option<ExtensionState> {
        let path = source.path.display().to_string();
        let refuse = |text: String| self.report(&path, "load", &Failure::new(text));
        let decision = match source.origin {
            ExtensionOrigin::CommandLine => GrantDecision::Allowed,
            _ if manifest.needs.is_empty() => GrantDecision::Allowed,
            _ => self.options.catalog.decision(source, manifest),
        };
        let since = match decision {
            GrantDecision::Allowed => return Some(ExtensionState::Loaded),
            // The user knows.
            GrantDecision::Refused => return None,
            GrantDecision::Undecided => "you have not allowed it yet",
            GrantDecision::Changed => "its code changed since you allowed it",
        };
        if self.options.mode == ExtensionMode::Terminal {
            return Some(ExtensionState::Undecided);
        }
        let needs = manifest.description();
        refuse(format!("not loaded: {since}. It {needs}. To allow it, run `osier extensions enable {path}`"));
        None
    }

    /// Starts a process if it does not run, and confines it to what its extensions may do.
    async fn prepare_process(&self, number: ProcessNumber) {
        let group: Vec<&Arc<Extension>> =
            self.all().iter().filter(|extension| extension.process_number == number).collect();
        let is_wanted = group.iter().any(|extension| extension.is_in(ExtensionState::Loaded));
        let Some(first) = group.first().filter(|_| is_wanted) else { return };
        if let Err(error) = first.process.start().await {
            let failure = Failure::new(format!("cannot start a process: {error}"));
            group.iter().for_each(|extension| extension.set_state(ExtensionState::Failed));
            self.report(&first.path.display().to_string(), "load", &failure);
            return;
        }
        let directory = self.session.header().cwd.as_ref();
        let rules = group.iter().filter_map(|extension| {
            let path = extension.path.canonicalize().ok()?;
            Some(self.options.file_rules(directory, &path, &extension.grants))
        });
        let confinement = Confinement { rules: rules.collect() };
        let in_force = match first.process.ask("confine", to_raw(&confinement)).await {
            Ok(in_force) => in_force,
            // Nothing loads in a process that has ended.
            Err(_) if first.process.has_ended() => return,
            Err(failure) => {
                // It would load extensions without any limits.
                first.process.end();
                let failure = Failure::new(format!("its process cannot be confined: {}", failure.message));
                group.iter().for_each(|extension| extension.set_state(ExtensionState::Failed));
                return self.report(&first.path.display().to_string(), "load", &failure);
            }
        };
        let in_force = in_force.get();
        let is_complete = in_force.contains("seccomp") && in_force.contains("Landlock");
        match is_complete || cfg!(not(target_os = "linux")) {
            true => tracing::debug!(in_force, "a process of extensions is confined"),
            false => tracing::warn!(
                in_force,
                "this system confines a process of extensions in part only; see `osier doctor`"
            ),
        }
    }

    /// Loads one extension. If its process ends because of another one, it stays to be loaded.
    async fn load_or_report(&self, extension: &Arc<Extension>) {
        let kills = extension.kills();
        let Err(failure) = self.load_one(extension).await else { return extension.set_to_load(false) };
        extension.clear_registrations();
        let process = &extension.process;
        let is_culprit = extension.kills() > kills || process.was_killed_for(extension.number);
        if process.has_ended() && !is_culprit {
            return;
        }
        extension.set_to_load(false);
        extension.set_state(ExtensionState::Failed);
        self.report_load_failure(&extension.source, failure);
    }

    /// Starts a process if it does not run, and loads those of its extensions that are not loaded. Returns them. Each time that the
    /// process ends meanwhile, that counts as a kill of an extension, so this ends.
    async fn load_group(&self, number: ProcessNumber) -> Vec<Arc<Extension>> {
        let mut loaded = Vec::new();
        loop {
            let is_meant = |extension: &&Arc<Extension>| extension.process_number == number;
            let waits = |extension: &&Arc<Extension>| extension.is_awaited() && !self.is_closed();
            let group: Vec<Arc<Extension>> =
                self.all().iter().filter(is_meant).filter(waits).cloned().collect();
            if group.is_empty() {
                return loaded;
            }
            group.iter().for_each(|extension| extension.clear_registrations());
            self.prepare_process(number).await;
            for extension in &group {
                if extension.is_in(ExtensionState::Loaded) && !extension.process.has_ended() {
                    self.load_or_report(extension).await;
                }
            }
            loaded.retain(|known: &Arc<Extension>| known.is_running());
            loaded.extend(group.into_iter().filter(|extension| extension.is_running()));
        }
    }

    /// Counts the end of a process against the extensions that were at work, and starts it again for the others.
    fn handle_process_end(self: &Arc<SessionExtensions>, number: ProcessNumber, end: &ProcessEnd) {
        let group = || self.all().iter().filter(|extension| extension.process_number == number);
        group().for_each(|extension| {
            extension.set_to_load(true);
            self.take_back(extension);
        });
        let is_culprit =
            |extension: &&Arc<Extension>| end.busy.is_empty() || end.busy.contains(&extension.number);
        for extension in
            group().filter(|extension| extension.is_in(ExtensionState::Loaded)).filter(is_culprit)
        {
            let then = match extension.count_kill() {
                true => format!(
                    "this happened three times, so the extension is off in this session{}",
                    self.lost_guard(extension)
                ),
                false => "the extension is started again".to_owned(),
            };
            let message = format!("{}; {then}", end.reason);
            let failure = Failure { message, stack: extension.places_of_ended_work() };
            self.report(&extension.path.display().to_string(), "process", &failure);
        }
        if !self.is_loaded() {
            // `load_all` starts it again.
            return;
        }
        let session = self.clone();
        tokio::spawn(async move {
            let restarting = session.restarting().await;
            let loaded = session.load_group(number).await;
            drop(restarting);
            session.follow_if_wanted();
            for extension in &loaded {
                session.announce_restart(extension).await;
            }
        });
    }

    /// What the user must know when an extension stays off.
    fn lost_guard(&self, extension: &Extension) -> &'static str {
        let registrations = extension.registrations();
        let guards = ["tool_call", "user_bash"];
        match registrations.handlers.iter().any(|(_, event)| guards.contains(&event.as_str())) {
            true => ". Its checks of tool calls and commands no longer run",
            false => "",
        }
    }

    /// Held while extensions are loaded. Dropping it lets gates go on that wait for them.
    async fn restarting(&self) -> Restarting<'_> {
        Restarting { _lock: self.restart_lock.lock().await, changed: &self.restart_ended }
    }

    /// Waits for extensions that are loaded again after their process ended: nothing that they guard happens meanwhile.
    pub(super) async fn wait_for_restarts(&self, cancel: &CancellationToken) {
        let is_waiting = || !self.is_closed() && self.all().iter().any(|extension| extension.is_awaited());
        loop {
            let changed = self.restart_ended.notified();
            if !self.is_loaded() || !is_waiting() {
                return;
            }
            tokio::select! {
                () = changed => {}
                () = cancel.cancelled() => return,
            }
        }
    }

    /// Sends `session_start` to an extension that was loaded while the session was open.
    async fn announce_restart(&self, extension: &Arc<Extension>) {
        let event = json!({ "type": "session_start", "reason": "reload" });
        let cancel = CancellationToken::new();
        for handler in self.handlers("session_start") {
            if Arc::ptr_eq(&handler.extension, extension) {
                // The failure is reported, and there is nothing to decide.
                let _ =
                    Handler::call(&handler, self, &event, "session_start", TimeLimit::Notification, &cancel)
                        .await;
            }
        }
    }

    async fn load_one(&self, extension: &Extension) -> RequestResult {
        let not_found = |error| Failure::new(format!("{}: {error}", extension.path.display()));
        let path = extension.path.canonicalize().map_err(not_found)?;
        if self.is_loaded() && extension.grants.has(Grant::Node) {
            self.check_code_for_node(extension).await?;
        }
        let (directory, mode) = (&self.session.header().cwd, self.options.mode);
        let params = json!({
            "path": path,
            "code": extension.code,
            "fileRules": self.options.file_rules(directory.as_ref(), &path, &extension.grants),
            "environment": {
                "cwd": directory,
                "mode": mode.name(),
                "hasUI": mode.has_user(),
                "system": system_facts(&self.options.launcher),
                "agentDir": self.options.data_folder,
                "variables": self.options.visible_variables(&extension.grants),
                "isProjectTrusted": self.options.catalog.is_trusted(directory.as_ref()),
                "themes": self.options.themes,
                "themeTokens": osier_protocol::THEME_TOKENS,
            },
        });
        extension.request("load", &params, TimeLimit::Load, &CancellationToken::new()).await
    }

    /// Node reads modules by itself, so the code is compared before they are read again. The sandbox compares each file.
    async fn check_code_for_node(&self, extension: &Extension) -> Result<(), Failure> {
        let now =
            super::inspect_in_process(&self.options.launcher, &extension.path).await.map_err(Failure::new)?;
        match now.hash == extension.manifest.hash {
            true => Ok(()),
            false => Err(Failure::new(
                "its code changed after Osier inspected it; /reload loads the extensions again",
            )),
        }
    }

    fn report_load_failure(&self, source: &ExtensionSource, failure: Failure) {
        let message = format!("Failed to load extension: {}", failure.message);
        let failure = Failure { message, ..failure };
        if source.origin == ExtensionOrigin::CommandLine {
            self.command_line_failures().push(failure.with_place());
        }
        self.report(&source.path.display().to_string(), "load", &failure);
    }

    /// Asks the user about extensions that wait for a decision, one after another.
    pub(super) async fn ask_for_grants(self: Arc<SessionExtensions>, worker: Worker) {
        for extension in self.all().iter().filter(|extension| extension.is_in(ExtensionState::Undecided)) {
            let answer = worker.ask_question(grant_question(extension), &CancellationToken::new()).await;
            // Without an answer, the user is asked again in the next session.
            let Some(answer) = answer else { return };
            let allowed = !matches!(answer, UserAnswer::No { .. });
            let stored = self.options.catalog.store_decision(&extension.source, &extension.manifest, allowed);
            if let Err(reason) = stored {
                self.report(&extension.path.display().to_string(), "load", &Failure::new(reason));
            }
            if !allowed {
                extension.set_state(ExtensionState::Failed);
                let message = format!(
                    "{} is not loaded. To change that, run `osier extensions enable {}`",
                    extension.path.display(),
                    extension.path.display()
                );
                self.show(ExtensionEvent::Notify { message, notify_type: NotifyType::Info });
                continue;
            }
            extension.set_state(ExtensionState::Loaded);
            let restarting = self.restarting().await;
            let loaded = self.load_group(extension.process_number).await;
            drop(restarting);
            self.follow_if_wanted();
            for extension in &loaded {
                self.announce_restart(extension).await;
            }
        }
    }
}

/// The question whether an extension may run.
fn grant_question(extension: &Extension) -> DialogQuestion {
    let manifest = &extension.manifest;
    let needs = manifest
        .needs
        .iter()
        .map(|(grant, place)| format!("• {} ({})", grant.description(), visible_line(place)));
    let needs: Vec<String> = needs.collect();
    DialogQuestion {
        title: format!("Allow the extension {}?", visible_line(&extension.path.to_string_lossy())),
        dialog: Dialog::Confirm { message: format!("It\n{}", needs.join("\n")) },
        timeout: None,
        extension: None,
    }
}

impl ExtensionOptions {
    pub(super) fn file_rules(&self, directory: &Path, entry: &Path, grants: &Grants) -> FileRules {
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        FileRules {
            cwd: directory.to_owned(),
            roots: vec![module_root(entry)],
            data_folder: real(&self.data_folder),
            protected: self.protected.iter().map(real).collect(),
            grants: grants.clone(),
        }
    }
}
