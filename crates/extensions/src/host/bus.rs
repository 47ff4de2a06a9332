//! `pi.events`: events that extensions send each other, and calls of functions in them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::calls::ExtensionCall;
use super::extension::{Extension, TimeLimit};
use super::screen::ExtensionPlace;
use super::session::SessionExtensions;
use crate::frame::Failure;

/// An event. Its data is JSON text, which only extensions read.
#[derive(Debug, Deserialize)]
pub(super) struct BusEvent {
    name: String,
    #[serde(default)]
    data: String,
}

/// A call of a function that an extension sent. Whoever asks for a call gets it from Osier where it came from.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct BusCall {
    /// The owner of the function; for the owner, the caller.
    from: ExtensionPlace,
    id: u64,
    args: String,
}

impl SessionExtensions {
    fn listeners(&self, from: &Arc<Extension>, event: &BusEvent) -> Vec<Arc<Extension>> {
        let listens = |extension: &&Arc<Extension>| {
            !Arc::ptr_eq(extension, from) && extension.registrations().bus.contains(&event.name)
        };
        self.running().filter(listens).cloned().collect()
    }

    /// Passes an event on to the other extensions.
    pub(super) fn emit(&self, from: &Arc<Extension>, event: &BusEvent) {
        let message = json!({ "name": event.name, "data": event.data, "from": from.place() });
        self.listeners(from, event).iter().for_each(|extension| extension.notice("bus", &message));
    }

    /// Passes a call on to the owner of the function.
    pub(super) fn call_function(&self, caller: &Extension, call: BusCall) {
        let (process, number) = call.from;
        if let Some(owner) = self.find(process, number) {
            owner.notice("bus.call", &BusCall { from: caller.place(), ..call });
        }
    }
}

/// Passes an event on and waits for the handlers. Returns the calls of the sender's functions that they made at once. An extension
/// that waits here itself gets the event later.
pub(super) async fn emit_now(call: &ExtensionCall) -> Result<Vec<BusCall>, Failure> {
    let event: BusEvent = call.params()?;
    let sender = &call.extension;
    let message = json!({ "name": event.name, "data": event.data, "from": sender.place() });
    sender.emits.store(true, Ordering::SeqCst);
    let mut calls = Vec::new();
    for extension in call.session.listeners(sender, &event) {
        if extension.emits.load(Ordering::SeqCst) {
            extension.notice("bus", &message);
            continue;
        }
        let cancel = CancellationToken::new();
        let answer = extension.request("bus.now", &message, TimeLimit::Notification, &cancel).await;
        let made = answer.ok().and_then(|raw| serde_json::from_str::<Vec<BusCall>>(raw.get()).ok());
        for one in made.into_iter().flatten() {
            // It may also call functions of others, which it got earlier.
            match one.from == sender.place() {
                true => calls.push(BusCall { from: extension.place(), ..one }),
                false => call.session.call_function(&extension, one),
            }
        }
    }
    sender.emits.store(false, Ordering::SeqCst);
    Ok(calls)
}
