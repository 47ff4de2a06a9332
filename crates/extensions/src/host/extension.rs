//! One extension of a session: what it registered, and requests to it with a limit on their time.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use osier_protocol::RenderTarget;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::action_queue::ActionQueue;
use super::flags::RegisteredFlag;
use super::process::{ExtensionProcess, RequestResult};
use super::providers::RegisteredProvider;
use super::session::ProcessNumber;
use crate::frame::{Failure, Frame, null, to_raw};
use crate::grants::{Grant, Grants};
use crate::inspect::{CodeHashes, ExtensionManifest, Inspection};
use crate::source::ExtensionSource;

/// After so many kills and crashes, an extension stays off.
const MAX_KILLS: u8 = 3;

/// Where an extension is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExtensionState {
    /// It waits for the decision of the user.
    Undecided,
    /// It is loaded, or will be.
    Loaded,
    /// It could not be loaded.
    Failed,
    /// It was stopped too often.
    Disabled,
}

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeLimit {
    /// A handler that only learns something.
    Notification,
    /// A handler that Osier waits for.
    Gate,
    /// Loading the extension.
    Load,
    /// Until it is canceled: a command or a tool.
    None,
}

/// The times of the limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimits {
    pub(crate) notification: Duration,
    pub(crate) gate: Duration,
    pub(crate) load: Duration,
    /// How long an extension may take to say that it is not stuck, and to stop after an interrupt.
    pub(crate) grace: Duration,
    /// How long an extension that runs without a limit may be silent before it is asked whether it is stuck. Its process
    /// interrupts code at the same time.
    pub(crate) liveness: Duration,
    /// The same after a cancellation.
    pub(crate) canceled: Duration,
    /// How long an extension in Node may be silent: its code may wait for a program, and cannot answer meanwhile.
    pub(crate) node_silence: Duration,
    /// How long it waits for the text of the editor.
    pub(crate) editor_text: Duration,
}

impl Default for TimeLimits {
    fn default() -> TimeLimits {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        TimeLimits {
            notification: 5 * second,
            gate: minute,
            load: minute,
            grace: 2 * second,
            liveness: 28 * second,
            canceled: 5 * second,
            node_silence: 10 * minute,
            editor_text: second / 2,
        }
    }
}

impl TimeLimits {
    fn silence(&self, is_canceled: bool) -> Duration {
        if is_canceled { self.canceled } else { self.liveness }
    }

    fn duration(&self, limit: TimeLimit) -> Option<Duration> {
        match limit {
            TimeLimit::Notification => Some(self.notification),
            TimeLimit::Gate => Some(self.gate),
            TimeLimit::Load => Some(self.load),
            TimeLimit::None => None,
        }
    }
}

/// See the module documentation. It has many fields because each is the state of one part of its life.
#[derive(Debug)]
pub(crate) struct Extension {
    pub(crate) path: PathBuf,
    pub(crate) source: ExtensionSource,
    pub(crate) manifest: ExtensionManifest,
    /// The code to which the user agreed.
    pub(crate) code: CodeHashes,
    pub(crate) grants: Grants,
    state: AtomicU8,
    /// How often its process was killed or crashed because of it.
    kills: AtomicU8,
    /// The number of its process, and its own number in it.
    pub(crate) process_number: ProcessNumber,
    pub(crate) number: u32,
    pub(crate) process: Arc<ExtensionProcess>,
    registrations: Mutex<Registrations>,
    /// The tools and providers that it had when its process ended, until it is loaded again: the model still knows the tools, and
    /// a prompt must not go to another provider meanwhile.
    last: Mutex<(Vec<RegisteredTool>, Vec<RegisteredProvider>)>,
    /// How many dialogs wait for the user. Time does not count meanwhile.
    open_dialogs: watch::Sender<usize>,
    /// Its code waits for a move or a fork, and can answer nothing.
    pub(crate) is_waiting: AtomicBool,
    /// Its code waits until others handled an event of the bus.
    pub(crate) emits: AtomicBool,
    /// It must be loaded, because it never was, or because its process has ended.
    is_to_load: AtomicBool,
    pub(crate) actions: ActionQueue,
    pub(crate) time_limits: Mutex<TimeLimits>,
    /// Since when an extension in Node does not answer.
    silent_since: Mutex<Option<Instant>>,
    /// Where the code is that does its work now, and that did when its process was killed.
    work: Mutex<Vec<String>>,
    stopped_work: Mutex<Vec<String>>,
}

/// What an extension registered, in the order of registration.
#[derive(Debug, Default)]
pub(crate) struct Registrations {
    /// Ids of handlers, with their events.
    pub(crate) handlers: Vec<(u64, String)>,
    pub(crate) commands: Vec<RegisteredCommand>,
    pub(crate) tools: Vec<RegisteredTool>,
    /// Keys, such as `ctrl+shift+p`.
    pub(crate) shortcuts: Vec<String>,
    /// What it renders, by name.
    pub(crate) renderers: Vec<(RenderTarget, String)>,
    /// It wants every key.
    pub(crate) listens_to_input: bool,
    /// It completes text in the editor.
    pub(crate) completes: bool,
    pub(crate) providers: Vec<RegisteredProvider>,
    pub(crate) flags: Vec<RegisteredFlag>,
    /// Events of the bus that it listens to.
    pub(crate) bus: Vec<String>,
    /// Where it registered handlers, commands, tools and shortcuts.
    pub(crate) places: HashMap<Registered, String>,
}

/// Something that an extension registered, whose code runs later.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Registered {
    Handler(u64),
    Command(String),
    Tool(String),
    Shortcut(String),
}

/// The most registrations of an extension, the most of them that are providers, and their sizes in bytes.
const MAX_REGISTRATIONS: usize = 1000;
const MAX_PROVIDERS: usize = 64;
const MAX_REGISTRATION_BYTES: usize = 64 << 10;
const MAX_PROVIDER_BYTES: usize = 1 << 20;

impl Registrations {
    pub(crate) fn keep_place(&mut self, registered: Registered, place: Option<String>) {
        if let Some(place) = place {
            self.places.insert(registered, place);
        }
    }

    /// Fails if there are too many, or if this one is too large.
    pub(crate) fn check_room(&self, method: &str, size: usize) -> Result<(), Failure> {
        let Registrations { handlers, commands, tools, shortcuts, renderers, flags, bus, providers, .. } =
            self;
        let count = handlers.len() + commands.len() + tools.len() + shortcuts.len();
        let count = count + renderers.len() + flags.len() + bus.len();
        let (is_full, max) = match method {
            "registerProvider" => (providers.len() >= MAX_PROVIDERS, MAX_PROVIDER_BYTES),
            _ => (count >= MAX_REGISTRATIONS, MAX_REGISTRATION_BYTES),
        };
        match () {
            () if is_full => Err(Failure::new("it registers too much")),
            () if size > max => Err(Failure::new(format!("a registration is larger than {max} bytes"))),
            () => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegisteredCommand {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// Whether it completes its arguments.
    #[serde(default)]
    pub(crate) completes: bool,
}

/// A tool, as far as it concerns Osier.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegisteredTool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
    /// A line about the tool for the system prompt.
    #[serde(default)]
    pub(crate) prompt_snippet: Option<String>,
    /// Rules for the system prompt.
    #[serde(default)]
    pub(crate) prompt_guidelines: Option<Vec<String>>,
    /// Its calls run alone.
    #[serde(default)]
    pub(crate) sequential: bool,
    /// Who may call it: `direct` if it is missing.
    #[serde(default)]
    pub(crate) exposure: Option<String>,
    /// Its group, and what it does, as it says itself.
    #[serde(default)]
    pub(crate) namespace: Option<Value>,
    #[serde(default)]
    pub(crate) annotations: Option<Value>,
    /// The model gets it only after an extension activates it.
    #[serde(default)]
    starts_inactive: bool,
    /// It draws its calls or their results.
    #[serde(default)]
    pub(crate) renders: bool,
    /// It also draws what usually surrounds a call.
    #[serde(default)]
    pub(crate) own_shell: bool,
}

impl RegisteredTool {
    pub(crate) fn exposure(&self) -> &str {
        self.exposure.as_deref().unwrap_or("direct")
    }

    /// Whether the model gets it without further ado.
    pub(crate) fn starts_active(&self) -> bool {
        !self.starts_inactive && matches!(self.exposure(), "direct" | "model-only")
    }
}

impl Extension {
    pub(crate) fn new(
        source: ExtensionSource,
        Inspection { manifest, code }: Inspection,
        (process_number, number): (ProcessNumber, u32),
        process: Arc<ExtensionProcess>,
        state: ExtensionState,
    ) -> Extension {
        Extension {
            path: source.path.clone(),
            grants: manifest.grants(),
            source,
            manifest,
            code,
            state: AtomicU8::new(state as u8),
            kills: AtomicU8::new(0),
            process_number,
            number,
            process,
            registrations: Mutex::default(),
            last: Mutex::default(),
            open_dialogs: watch::Sender::new(0),
            is_waiting: AtomicBool::new(false),
            emits: AtomicBool::new(false),
            is_to_load: AtomicBool::new(true),
            actions: ActionQueue::default(),
            time_limits: Mutex::default(),
            silent_since: Mutex::default(),
            work: Mutex::default(),
            stopped_work: Mutex::default(),
        }
    }

    pub(crate) fn set_state(&self, state: ExtensionState) {
        self.state.store(state as u8, Ordering::SeqCst);
    }

    pub(crate) fn is_in(&self, state: ExtensionState) -> bool {
        self.state.load(Ordering::SeqCst) == state as u8
    }

    /// Whether it is loaded and can be asked.
    pub(crate) fn is_running(&self) -> bool {
        self.is_in(ExtensionState::Loaded) && !self.is_to_load() && !self.process.has_ended()
    }

    /// Whether it will be loaded, for the first time or again.
    pub(crate) fn is_awaited(&self) -> bool {
        self.is_in(ExtensionState::Loaded) && (self.is_to_load() || self.process.has_ended())
    }

    pub(crate) fn set_to_load(&self, is_to_load: bool) {
        self.is_to_load.store(is_to_load, Ordering::SeqCst);
    }

    pub(crate) fn is_to_load(&self) -> bool {
        self.is_to_load.load(Ordering::SeqCst)
    }

    pub(crate) fn kills(&self) -> u8 {
        self.kills.load(Ordering::SeqCst)
    }

    /// Counts that its process ended because of it. Returns whether it is off now.
    pub(crate) fn count_kill(&self) -> bool {
        let kills = self.kills.fetch_add(1, Ordering::SeqCst) + 1;
        if kills >= MAX_KILLS {
            self.set_state(ExtensionState::Disabled);
        }
        kills >= MAX_KILLS
    }

    /// Forgets what it registered, before it is loaded again.
    pub(crate) fn clear_registrations(&self) {
        let old = std::mem::take(&mut *self.registrations());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if !old.tools.is_empty() {
            last.0 = old.tools;
        }
        if !old.providers.is_empty() {
            last.1 = old.providers;
        }
    }

    /// Its tools, or those that it had if it is being loaded again.
    pub(crate) fn tools(&self) -> Vec<RegisteredTool> {
        let last = self.last_if_awaited(|last| last.0.clone());
        last.unwrap_or_else(|| self.registrations().tools.clone())
    }

    /// Reads one of its tools, without copying it.
    pub(crate) fn with_tool<T>(&self, name: &str, read: impl FnOnce(&RegisteredTool) -> T) -> Option<T> {
        let find = |tools: &[RegisteredTool]| tools.iter().position(|tool| tool.name == name);
        if self.is_awaited() {
            let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            if !last.0.is_empty() {
                return find(&last.0).map(|at| read(&last.0[at]));
            }
        }
        let registrations = self.registrations();
        find(&registrations.tools).map(|at| read(&registrations.tools[at]))
    }

    /// Its providers, or those that it had if it is being loaded again.
    pub(crate) fn providers(&self) -> Vec<RegisteredProvider> {
        let last = self.last_if_awaited(|last| last.1.clone());
        last.unwrap_or_else(|| self.registrations().providers.clone())
    }

    /// `None` if there is nothing, so that what is registered now counts.
    fn last_if_awaited<T>(
        &self,
        read: impl Fn(&(Vec<RegisteredTool>, Vec<RegisteredProvider>)) -> Vec<T>,
    ) -> Option<Vec<T>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_awaited().then(|| read(&last)).filter(|found| !found.is_empty())
    }

    pub(crate) fn registrations(&self) -> MutexGuard<'_, Registrations> {
        self.registrations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a notice.
    pub(crate) fn notice(&self, method: &str, params: &impl Serialize) {
        let (extension, method) = (self.number, method.to_owned());
        self.process.send(&Frame::Notice { extension, method, params: to_raw(params) });
    }

    /// Sends a request and waits for the response, at most as long as the limit says. If the request is canceled, the extension
    /// learns it, and may still answer. If this future is dropped, the extension learns that too, and its answer is ignored.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: &impl Serialize,
        limit: TimeLimit,
        cancel: &CancellationToken,
    ) -> RequestResult {
        let (id, mut response) = self.process.request(Some(self.number), method, to_raw(params));
        let mut open =
            UnansweredRequest { extension: self, id, limit, is_canceled: false, is_answered: false };
        let times = self.times();
        let time = times.duration(limit);
        let late = time_is_over(time, self.open_dialogs.subscribe(), cancel);
        tokio::pin!(late);
        // An observer is not asked to stop, but gets no more time than the others.
        let can_be_canceled = limit != TimeLimit::Notification;
        loop {
            tokio::select! {
                response = &mut response => {
                    open.is_answered = true;
                    self.set_answering();
                    return response.unwrap_or_else(|_| Err(Failure::new("no response")));
                }
                () = cancel.cancelled(), if can_be_canceled && !open.is_canceled => open.cancel(),
                () = tokio::time::sleep(times.silence(open.is_canceled)), if limit == TimeLimit::None => {
                    if self.stop_if_stuck(open.is_canceled).await {
                        return Err(Failure::new("its code did not end and was stopped"));
                    }
                }
                () = &mut late => {
                    // Nothing else runs in a process that loads.
                    self.stop_if_stuck(cancel.is_cancelled() || limit == TimeLimit::Load).await;
                    let seconds = time.unwrap_or_default().as_secs();
                    return Err(Failure::new(format!("no answer within {seconds} s")));
                }
            }
        }
    }

    /// Its file, with the folder if the name of the file says nothing.
    pub(crate) fn shown_name(&self) -> String {
        let text = |name: Option<&OsStr>| name.unwrap_or_default().to_string_lossy().into_owned();
        let file = text(self.path.file_name());
        match self.path.parent().filter(|_| file.starts_with("index.")) {
            Some(folder) => format!("{}/{file}", text(folder.file_name())),
            None => file,
        }
    }

    /// Counts a dialog as open until the result is dropped.
    pub(crate) fn open_dialog(&self) -> OpenDialog {
        self.open_dialogs.send_modify(|open| *open += 1);
        OpenDialog(self.open_dialogs.clone())
    }

    /// Waits until it has a dialog open.
    pub(crate) async fn dialog_opened(&self) {
        until(&mut self.open_dialogs.subscribe(), true).await;
    }

    /// If the code of the extension runs without end, interrupts it, and then kills its process. Returns whether it was stuck. In
    /// Node, it may be silent for long, unless somebody gave it up.
    async fn stop_if_stuck(&self, is_given_up: bool) -> bool {
        if self.responds().await {
            self.set_answering();
            return false;
        }
        if self.grants.has(Grant::Node) {
            if !is_given_up && self.silence() < self.times().node_silence {
                return false;
            }
        } else {
            self.process.send(&Frame::Interrupt { extension: self.number });
            if self.responds().await {
                return true;
            }
        }
        tracing::warn!(extension = %self.path.display(), "killing a process of extensions that is stuck");
        self.set_answering();
        *self.stopped_work.lock().unwrap_or_else(PoisonError::into_inner) = self.places_of_work();
        self.process.kill_for(self.number, "its code did not end");
        true
    }

    /// How long it has not answered, from the first time on that somebody noticed.
    fn silence(&self) -> Duration {
        let mut since = self.silent_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.get_or_insert_with(Instant::now).elapsed()
    }

    /// It is not silent, or its process starts again.
    fn set_answering(&self) {
        *self.silent_since.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    #[cfg(test)]
    pub(crate) fn is_silent(&self) -> bool {
        self.silent_since.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(super) fn times(&self) -> TimeLimits {
        *self.time_limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn responds(&self) -> bool {
        responds(&self.process, self.number, self.times().grace).await
    }

    /// Notes which code works until the result is dropped, so that a failure without a stack has a place.
    pub(crate) fn begin_work(&self, registered: &Registered) -> ExtensionWork<'_> {
        let place = self.registrations().places.get(registered).cloned();
        self.work().extend(place.clone());
        ExtensionWork { extension: self, place }
    }

    /// Where the code was registered that works now, the last one first.
    pub(crate) fn places_of_work(&self) -> Vec<String> {
        self.work().iter().rev().cloned().collect()
    }

    /// The same for a process that has ended.
    pub(crate) fn places_of_ended_work(&self) -> Vec<String> {
        let stopped = std::mem::take(&mut *self.stopped_work.lock().unwrap_or_else(PoisonError::into_inner));
        if stopped.is_empty() { self.places_of_work() } else { stopped }
    }

    fn work(&self) -> MutexGuard<'_, Vec<String>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Code of an extension that works.
pub(crate) struct ExtensionWork<'a> {
    extension: &'a Extension,
    place: Option<String>,
}

impl ExtensionWork<'_> {
    /// The failure with the place where the code was registered, if it has no other.
    pub(crate) fn locate(&self, mut failure: Failure) -> Failure {
        if failure.stack.is_empty() {
            failure.stack.extend(self.place.clone());
        }
        failure
    }
}

impl Drop for ExtensionWork<'_> {
    fn drop(&mut self) {
        let mut work = self.extension.work();
        let at = work.iter().rposition(|known| Some(known) == self.place.as_ref());
        at.map(|at| work.remove(at));
    }
}

async fn responds(process: &ExtensionProcess, number: u32, time: Duration) -> bool {
    let (id, response) = process.request(Some(number), "ping", null());
    let in_time = tokio::time::timeout(time, response).await.is_ok();
    process.forget(id);
    in_time
}

/// Kills the process of an extension in Node if it is still silent some time after its work was canceled.
async fn end_if_silent(process: Arc<ExtensionProcess>, number: u32, times: TimeLimits) {
    tokio::time::sleep(times.canceled).await;
    if !responds(&process, number, times.grace).await {
        process.kill_for(number, "its code did not end");
    }
}

/// A request that is not answered. Dropping it cancels and forgets it.
struct UnansweredRequest<'a> {
    extension: &'a Extension,
    id: u64,
    limit: TimeLimit,
    is_canceled: bool,
    is_answered: bool,
}

impl UnansweredRequest<'_> {
    fn cancel(&mut self) {
        self.is_canceled = true;
        self.extension.process.send(&Frame::Cancel { extension: self.extension.number, id: self.id });
    }
}

impl Drop for UnansweredRequest<'_> {
    fn drop(&mut self) {
        if !self.is_answered && !self.is_canceled {
            self.cancel();
            // Nobody looks any longer whether this code ends.
            if self.limit == TimeLimit::None && self.extension.grants.has(Grant::Node) {
                let Extension { process, number, .. } = self.extension;
                let watch = end_if_silent(process.clone(), *number, self.extension.times());
                tokio::runtime::Handle::try_current().map(|runtime| runtime.spawn(watch)).ok();
            }
        }
        self.extension.process.forget(self.id);
    }
}

/// Waits for the end of a time that does not pass while a dialog is open. After a cancellation, it passes in any case.
async fn time_is_over(time: Option<Duration>, mut open: watch::Receiver<usize>, cancel: &CancellationToken) {
    let Some(mut left) = time else { return std::future::pending().await };
    while !cancel.is_cancelled() {
        let started = Instant::now();
        tokio::select! {
            () = tokio::time::sleep(left) => return,
            () = until(&mut open, true) => {}
            () = cancel.cancelled() => {}
        }
        left = left.saturating_sub(started.elapsed());
        tokio::select! {
            () = until(&mut open, false) => {}
            () = cancel.cancelled() => {}
        }
    }
    tokio::time::sleep(left).await;
}

/// Waits until a dialog is open, or none is.
async fn until(open: &mut watch::Receiver<usize>, is_open: bool) {
    // It fails only if the extension is gone.
    let _ = open.wait_for(|count| (*count != 0) == is_open).await;
}

/// A dialog that waits for the user.
#[derive(Debug)]
pub(crate) struct OpenDialog(watch::Sender<usize>);

impl Drop for OpenDialog {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_passes_only_while_no_dialog_is_open_or_after_a_cancellation() {
        let second = Duration::from_secs(1);
        let (open, cancel) = (watch::Sender::new(0), CancellationToken::new());
        let late = async || {
            let started = Instant::now();
            time_is_over(Some(5 * second), open.subscribe(), &cancel).await;
            started.elapsed().as_secs()
        };
        let user = async {
            for _ in 0..2 {
                tokio::time::sleep(second).await;
                open.send_modify(|open| *open += 1);
                tokio::time::sleep(60 * second).await;
                open.send_modify(|open| *open -= 1);
            }
        };
        assert_eq!(tokio::join!(late(), user).0, 125);
        assert_eq!(late().await, 5);
        open.send_modify(|open| *open += 1);
        let stops = async {
            tokio::time::sleep(10 * second).await;
            cancel.cancel();
        };
        assert_eq!(tokio::join!(late(), stops).0, 15);
        assert_eq!(late().await, 5);
    }
}
