//! Leaving a session of the terminal for another one: why, and what hooks learn about it.

use osier_engine::hooks::{SessionEndReason, SessionStartReason, SwitchReason};
use osier_engine::{Engine, LocalClient, session_location};
use osier_tui::msg::OpenTarget;

/// Why the user leaves a session.
#[derive(Debug, Clone, Copy)]
pub(super) enum LeaveReason {
    Switch(SwitchReason),
    Fork,
}

impl From<&OpenTarget> for LeaveReason {
    fn from(target: &OpenTarget) -> LeaveReason {
        match target {
            OpenTarget::New => LeaveReason::Switch(SwitchReason::New),
            OpenTarget::Named(_) | OpenTarget::Listed(_) => LeaveReason::Switch(SwitchReason::Resume),
            OpenTarget::Fork { .. } => LeaveReason::Fork,
        }
    }
}

impl LeaveReason {
    /// Why an agent starts in the other session.
    pub(super) fn start_reason(self) -> SessionStartReason {
        match self {
            LeaveReason::Switch(SwitchReason::New) => SessionStartReason::New,
            LeaveReason::Switch(SwitchReason::Resume) => SessionStartReason::Resume,
            LeaveReason::Fork => SessionStartReason::Fork,
        }
    }

    /// Why the agent in this session ends.
    fn end_reason(self) -> SessionEndReason {
        match self {
            LeaveReason::Switch(SwitchReason::New) => SessionEndReason::New,
            LeaveReason::Switch(SwitchReason::Resume) => SessionEndReason::Resume,
            LeaveReason::Fork => SessionEndReason::Fork,
        }
    }

    /// Sends the event of a switch to the hooks. That of a fork was sent with the fork.
    pub(super) async fn announce(self, engine: &Engine, from: &LocalClient, to: &LocalClient) {
        let (left, entered) = (from.live().session(), to.live().session());
        from.worker().set_end_reason(self.end_reason(), Some(session_location(entered)));
        if let LeaveReason::Switch(reason) = self {
            engine.announce_switch(left, entered, reason).await;
        }
    }
}
