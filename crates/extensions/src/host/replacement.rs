//! Replacing the session: `ctx.newSession`, `ctx.fork` and `ctx.switchSession`. The client opens the other session. From then on, what
//! the extensions of the old session ask for concerns the new one, until their commands have ended.

use std::sync::Arc;
use std::time::Duration;

use osier_engine::{FindOptions, session_location};
use osier_protocol::{Dialog, DialogQuestion, EntryId, RequestedSession, visible_line};
use osier_session::Session;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::calls::ExtensionCall;
use super::session::SessionExtensions;
use super::{ExtensionHost, ExtensionMode};
use crate::frame::Failure;

/// How long a client may take to open a session.
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);

/// How far a session is on its way to be replaced.
#[derive(Debug, Default)]
pub(crate) struct Replacement {
    /// Learns whether the other session was opened.
    waiting: Option<oneshot::Sender<bool>>,
    /// The extensions of the session that was opened instead.
    successor: Option<Arc<SessionExtensions>>,
    /// Commands that run.
    commands: usize,
    /// The processes end with the last command.
    ends: bool,
}

#[derive(Debug, Deserialize)]
struct SwitchParams {
    path: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ForkParams {
    entry_id: EntryId,
    #[serde(default)]
    position: Option<String>,
}

/// Opens another session. `cancelled` if a handler refused it, or if no client can.
pub(super) async fn replace(call: &ExtensionCall, method: &str) -> Result<Value, Failure> {
    let wanted = match method {
        "agent.newSession" => RequestedSession::New,
        "agent.switchSession" => {
            let SwitchParams { path } = call.params()?;
            if !may_open(call, &path).await {
                return Ok(json!({ "cancelled": true }));
            }
            RequestedSession::Named { name: path }
        }
        _ => {
            let ForkParams { entry_id, position } = call.params()?;
            RequestedSession::Fork { entry_id, includes_entry: position.as_deref() == Some("at") }
        }
    };
    let can_open = matches!(call.session.options.mode, ExtensionMode::Terminal | ExtensionMode::Rpc);
    let Some(worker) = call.session.worker().filter(|_| can_open) else {
        return Ok(json!({ "cancelled": true }));
    };
    let (sender, opened) = oneshot::channel();
    call.session.replacement().waiting = Some(sender);
    worker.request_session(wanted);
    drop(worker);
    let opened = tokio::time::timeout(OPEN_TIMEOUT, opened).await;
    let Ok(opened) = opened else {
        // A session that is opened later has nothing to do with this.
        call.session.replacement().waiting = None;
        return Err(Failure::new("no client opened the session"));
    };
    let opened = opened.unwrap_or(false);
    Ok(json!({ "cancelled": !opened }))
}

/// Whether an extension may open a session, whose entries it can then read. It knows those of its own directory; about others, the
/// user decides.
async fn may_open(call: &ExtensionCall, name: &str) -> bool {
    let Some(engine) = call.session.engine() else { return true };
    let own = &call.session.session.header().cwd;
    let directory = match engine.find(name, FindOptions::default()).await {
        Ok(found) => found.read().await.map(|stored| stored.opened.header.cwd.clone()).unwrap_or_default(),
        // The client says what is wrong with the name.
        Err(_) => return true,
    };
    if directory == *own {
        return true;
    }
    let Some(worker) = call.session.worker() else { return false };
    let message = format!(
        "{} can then read the session. It belongs to {}",
        visible_line(&call.extension.path.to_string_lossy()),
        visible_line(&directory)
    );
    let title = format!("Open the session {} of another directory?", visible_line(name));
    let question =
        DialogQuestion { title, dialog: Dialog::Confirm { message }, timeout: None, extension: None };
    let _open = call.extension.open_dialog();
    let answer = worker.ask_dialog(question, &call.cancel).await;
    answer.is_some()
}

impl SessionExtensions {
    /// The extensions that calls of this session's extensions concern.
    pub(super) fn current(self: &Arc<SessionExtensions>) -> Arc<SessionExtensions> {
        self.replacement().successor.clone().unwrap_or_else(|| self.clone())
    }

    /// A handler refused to leave the session.
    pub(super) fn refuse_replacement(&self) {
        if let Some(waiting) = self.replacement().waiting.take() {
            // The command may have ended.
            let _ = waiting.send(false);
        }
    }

    pub(super) fn command_started(&self) {
        self.replacement().commands += 1;
    }

    /// Waits until the user cancels a command. One that opens another session goes on there, although the client stops what runs in
    /// the session that it leaves.
    pub(super) async fn command_canceled(&self, cancel: &CancellationToken) {
        cancel.cancelled().await;
        let is_replaced = {
            let replacement = self.replacement();
            replacement.waiting.is_some() || replacement.successor.is_some()
        };
        if is_replaced {
            std::future::pending::<()>().await;
        }
    }

    pub(super) fn command_ended(&self) {
        let ends = {
            let mut replacement = self.replacement();
            replacement.commands -= 1;
            if replacement.commands == 0 {
                // Other clients may still use the old session.
                replacement.successor = None;
            }
            replacement.ends && replacement.commands == 0
        };
        if ends {
            self.close();
        }
    }

    /// Ends the processes, at the latest when the commands have ended that replaced the session.
    pub(super) fn close_after_commands(&self) {
        let now = {
            let mut replacement = self.replacement();
            replacement.ends = true;
            replacement.successor.is_none() || replacement.commands == 0
        };
        if now {
            self.close();
        }
    }
}

impl ExtensionHost {
    /// A client opened a session after it left another one.
    pub(super) fn connect_successor(&self, previous: &str, new: &Arc<SessionExtensions>) {
        let slots: Vec<_> = self.lock().values().cloned().collect();
        let is_previous = |session: &Session| session_location(session) == previous;
        let old = slots.iter().filter_map(|slot| slot.get()).find(|old| is_previous(&old.session));
        let Some(old) = old.filter(|old| !Arc::ptr_eq(old, new)) else { return };
        let waiting = {
            let mut replacement = old.replacement();
            let waiting = replacement.waiting.take();
            if waiting.is_some() && replacement.commands > 0 {
                replacement.successor = Some(new.clone());
            }
            waiting
        };
        if let Some(waiting) = waiting {
            let _ = waiting.send(true);
        }
    }
}
