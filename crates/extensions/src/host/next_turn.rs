//! Messages of extensions for the next turn. They are stored in their order when nothing runs, at the latest when the agent ends.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use osier_agent::Worker;
use osier_protocol::CustomMessage;

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct NextTurnMessages {
    waiting: Mutex<VecDeque<CustomMessage>>,
    /// Held while messages are stored, so that they stay in order.
    storing: tokio::sync::Mutex<()>,
}

impl NextTurnMessages {
    pub(super) fn add(&self, message: CustomMessage) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(message);
    }

    /// Stores all that wait.
    pub(super) async fn store(&self, worker: &Worker) {
        let _storing = self.storing.lock().await;
        let next = || self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        while let Some(message) = next() {
            if let Err(error) = worker.store_from_hook(message).await {
                tracing::warn!(error = %osier_engine::error_chain(&error), "cannot store a message of an extension");
            }
        }
    }
}
