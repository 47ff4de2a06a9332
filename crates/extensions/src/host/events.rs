//! Asking the handlers of gates, one after another, and what their answers mean together.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::extension::TimeLimit;
use super::session::{Handler, SessionExtensions};
use crate::frame::Failure;

impl SessionExtensions {
    /// Tells all handlers of an event. The event is built only if there are handlers.
    pub(crate) async fn observe<T: Serialize>(&self, name: &str, event: impl FnOnce() -> T) {
        self.observe_until(name, event, &CancellationToken::new()).await;
    }

    /// Like [`SessionExtensions::observe`]. After a cancellation, dialogs give handlers no more time.
    pub(crate) async fn observe_until<T: Serialize>(
        &self,
        name: &str,
        event: impl FnOnce() -> T,
        cancel: &CancellationToken,
    ) {
        let handlers = self.handlers(name);
        if handlers.is_empty() {
            return;
        }
        let event = event();
        for handler in handlers {
            // The failure is reported, and there is nothing to decide.
            let _ = handler.call(self, &event, name, TimeLimit::Notification, cancel).await;
        }
    }

    /// Asks all handlers of a `session_before_…` event. The last answer wins, and the first one that cancels ends it.
    pub(crate) async fn ask_before<A: DeserializeOwned>(
        &self,
        name: &str,
        event: &impl Serialize,
        cancel: &CancellationToken,
    ) -> Option<A> {
        let mut decision = None;
        for handler in self.handlers(name) {
            let Ok(Some(answer)) = handler.call(self, event, name, TimeLimit::Gate, cancel).await else {
                continue;
            };
            let cancels = answer.get("cancel").and_then(Value::as_bool) == Some(true);
            decision = self.read_answer(&handler, name, answer).or(decision);
            if cancels {
                break;
            }
        }
        decision
    }

    /// The answer of a handler as its type. A wrong shape is reported and counts as no answer.
    pub(crate) fn read_answer<A: DeserializeOwned>(
        &self,
        handler: &Handler,
        name: &str,
        answer: Value,
    ) -> Option<A> {
        match serde_json::from_value(answer) {
            Ok(answer) => Some(answer),
            Err(error) => {
                let failure = Failure::new(format!("it returned an unexpected value: {error}"));
                self.report(&handler.extension.path.display().to_string(), name, &failure);
                None
            }
        }
    }
}
