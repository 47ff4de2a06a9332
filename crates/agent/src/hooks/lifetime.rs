//! The events of the start and the end of an agent, each sent once.

use super::event::{HookEvent, SessionEndReason, SessionStartReason};
use crate::context::AgentContext;
use crate::worker::Worker;

/// What hooks know about the life of an agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct HookLifetime {
    started: bool,
    /// Why the agent will end, and the session that the client goes to.
    end: (SessionEndReason, Option<String>),
}

impl Worker {
    /// Sends the event of the agent's start to the hooks. The end of an agent is announced only if its start was.
    pub async fn announce_start(&self, reason: SessionStartReason, previous_session_file: Option<String>) {
        self.agent.state().lifetime.started = true;
        self.agent.observe(|| HookEvent::AgentStarted { reason, previous_session_file }).await;
    }

    /// Sets the reason that hooks get when the agent ends.
    pub fn set_end_reason(&self, reason: SessionEndReason, target_session_file: Option<String>) {
        self.agent.state().lifetime.end = (reason, target_session_file);
    }
}

impl AgentContext {
    /// Sends the event of the agent's end, if its start was announced.
    pub(crate) async fn announce_end(&self) {
        let lifetime = std::mem::take(&mut self.state().lifetime);
        if lifetime.started {
            let (reason, target_session_file) = lifetime.end;
            self.observe(|| HookEvent::AgentEnded { reason, target_session_file }).await;
        }
    }
}
