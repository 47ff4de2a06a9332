//! One extension of a session: what it registered, and requests to it with a limit on their time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::process::{ExtensionProcess, RequestResult};
use super::session::ProcessNumber;
use crate::frame::{Failure, Frame, null, to_raw};
use crate::grants::Grants;
use crate::inspect::ExtensionManifest;
use crate::source::ExtensionSource;

/// How long an extension may take to say that it is not stuck, and to stop after an interrupt.
const GRACE: Duration = Duration::from_secs(2);

/// How long an extension that runs without a limit may be silent before it is asked whether it is stuck.
const LIVENESS_INTERVAL: Duration = Duration::from_secs(10);

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

impl TimeLimit {
    fn duration(self) -> Option<Duration> {
        match self {
            TimeLimit::Notification => Some(Duration::from_secs(5)),
            TimeLimit::Gate | TimeLimit::Load => Some(Duration::from_secs(60)),
            TimeLimit::None => None,
        }
    }
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Extension {
    pub(crate) path: PathBuf,
    pub(crate) source: ExtensionSource,
    pub(crate) manifest: ExtensionManifest,
    pub(crate) grants: Grants,
    state: AtomicU8,
    /// How often its process was killed or crashed because of it.
    kills: AtomicU8,
    /// The number of its process, and its own number in it.
    pub(crate) process_number: ProcessNumber,
    pub(crate) number: u32,
    pub(crate) process: Arc<ExtensionProcess>,
    registrations: Mutex<Registrations>,
    /// Dialogs that wait for the user. Time does not count meanwhile.
    pub(crate) open_dialogs: AtomicUsize,
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
    /// Events of the bus that it listens to.
    pub(crate) bus: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegisteredCommand {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: Option<String>,
}

/// A tool, as far as it concerns Osier.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegisteredTool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
}

impl Extension {
    pub(crate) fn new(
        source: ExtensionSource,
        manifest: ExtensionManifest,
        (process_number, number): (ProcessNumber, u32),
        process: Arc<ExtensionProcess>,
        state: ExtensionState,
    ) -> Extension {
        Extension {
            path: source.path.clone(),
            grants: manifest.grants(),
            source,
            manifest,
            state: AtomicU8::new(state as u8),
            kills: AtomicU8::new(0),
            process_number,
            number,
            process,
            registrations: Mutex::default(),
            open_dialogs: AtomicUsize::new(0),
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
        self.is_in(ExtensionState::Loaded) && !self.process.has_ended()
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
        *self.registrations() = Registrations::default();
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
    /// learns it, and may still answer.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: &impl Serialize,
        limit: TimeLimit,
        cancel: &CancellationToken,
    ) -> RequestResult {
        let (id, mut response) = self.process.request(self.number, method, to_raw(params));
        let mut is_canceled = false;
        loop {
            tokio::select! {
                response = &mut response => return response.unwrap_or_else(|_| Err(Failure::new("no response"))),
                () = cancel.cancelled(), if !is_canceled => {
                    is_canceled = true;
                    self.process.send(&Frame::Cancel { extension: self.number, id });
                }
                () = tokio::time::sleep(LIVENESS_INTERVAL), if limit == TimeLimit::None => {
                    if self.stop_if_stuck().await {
                        self.process.forget(id);
                        return Err(Failure::new("its code did not end and was stopped"));
                    }
                }
                () = wait(limit) => if self.open_dialogs.load(Ordering::Relaxed) == 0 {
                    self.process.forget(id);
                    self.stop_if_stuck().await;
                    let seconds = limit.duration().unwrap_or_default().as_secs();
                    return Err(Failure::new(format!("no answer within {seconds} s")));
                }
            }
        }
    }

    /// If the code of the extension runs without end, interrupts it, and then kills its process. Returns whether it was stuck.
    async fn stop_if_stuck(&self) -> bool {
        if self.responds().await {
            return false;
        }
        self.process.send(&Frame::Interrupt { extension: self.number });
        if !self.responds().await {
            tracing::warn!(extension = %self.path.display(), "killing a process of extensions that is stuck");
            self.process.kill_for(self.number, "its code did not end");
        }
        true
    }

    async fn responds(&self) -> bool {
        let (id, response) = self.process.request(self.number, "ping", null());
        let in_time = tokio::time::timeout(GRACE, response).await.is_ok();
        self.process.forget(id);
        in_time
    }
}

async fn wait(limit: TimeLimit) {
    match limit.duration() {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}
