//! Leaving a session for another one: why, what happens to its turn, and what hooks learn about it.

use osier_engine::hooks::{SessionEndReason, SessionStartReason, SwitchReason};
use osier_engine::{AgentStart, Engine, LocalClient, session_location};
use osier_protocol::{Client, ClientCommand, ClientError, CommandReply, OpenTarget, Prompt, SessionRef};

use osier_tree::Header;

use crate::local_engine::LocalEngine;

/// The session that a client leaves, and why.
#[derive(Debug)]
pub(crate) struct LeftSession {
    pub(crate) client: LocalClient,
    reason: LeaveReason,
}

/// Why a client leaves a session.
#[derive(Debug, Clone, Copy)]
enum LeaveReason {
    Switch(SwitchReason),
    Fork,
}

/// What was going on in the session that a client left.
#[derive(Debug, Default)]
pub(crate) struct StoppedWork {
    pub(crate) turn_stopped: bool,
    /// Prompts that were queued.
    pub(crate) prompts: Vec<Prompt>,
}

impl LocalEngine {
    /// The session that the client leaves, if an agent works in it.
    pub(crate) async fn left_session(
        &self,
        leaving: Option<&SessionRef>,
        target: &OpenTarget,
    ) -> Option<LeftSession> {
        let (engine, session) = (self.engine(), leaving?);
        let live = engine.live_session(&session.store, &session.key)?;
        let client = engine.connect_if_running(&live).await?;
        let reason = match target {
            OpenTarget::New(_) => LeaveReason::Switch(SwitchReason::New),
            OpenTarget::Named { .. } | OpenTarget::Listed { .. } | OpenTarget::Latest { .. } => {
                LeaveReason::Switch(SwitchReason::Resume)
            }
            OpenTarget::Fork(_) => LeaveReason::Fork,
        };
        Some(LeftSession { client, reason })
    }
}

impl LeftSession {
    /// Why an agent starts in the other session.
    pub(crate) fn agent_start(&self) -> AgentStart {
        let reason = match self.reason {
            LeaveReason::Switch(SwitchReason::New) => SessionStartReason::New,
            LeaveReason::Switch(SwitchReason::Resume) => SessionStartReason::Resume,
            LeaveReason::Fork => SessionStartReason::Fork,
        };
        let left = session_location(self.client.live().session());
        AgentStart { reason, previous_session_file: Some(left) }
    }

    /// Why the agent in this session ends.
    fn end_reason(&self) -> SessionEndReason {
        match self.reason {
            LeaveReason::Switch(SwitchReason::New) => SessionEndReason::New,
            LeaveReason::Switch(SwitchReason::Resume) => SessionEndReason::Resume,
            LeaveReason::Fork => SessionEndReason::Fork,
        }
    }

    /// Asks the hooks whether the client may leave. Those of a fork are asked by the fork.
    pub(crate) async fn may_switch(&self, engine: &Engine, target: Option<String>) -> bool {
        engine.may_switch(self.client.live().session(), target).await
    }

    /// Whether one of the two sessions delegated a task to the other one, so that leaving stops nothing.
    pub(crate) fn is_task_of(&self, entered: &LocalClient) -> bool {
        let (left, entered) = (self.client.live().session().header(), entered.live().session().header());
        let is_child = |child: &Header, parent: &Header| {
            child.parent_tool_call_id.is_some() && child.parent_session_id.as_ref() == Some(&parent.id)
        };
        is_child(left, entered) || is_child(entered, left)
    }

    /// Cancels the turn, because nothing would show it or answer its questions.
    pub(crate) async fn stop_work(&self) -> Result<StoppedWork, ClientError> {
        let turn_stopped = self.client.attach(None).await?.state.turn_running;
        let prompts = match self.client.send(ClientCommand::Cancel).await? {
            CommandReply::Returned { prompts, .. } => prompts,
            _ => Vec::new(),
        };
        Ok(StoppedWork { turn_stopped, prompts })
    }

    /// Remembers why the agent of this session ends, for its hooks.
    pub(crate) fn end_agent(&self, entered: &LocalClient) {
        let location = session_location(entered.live().session());
        self.client.worker().set_end_reason(self.end_reason(), Some(location));
    }

    /// Sends the event of a switch to the hooks. That of a fork was sent with the fork.
    pub(crate) async fn announce(&self, engine: &Engine, entered: &LocalClient) {
        if let LeaveReason::Switch(reason) = self.reason {
            engine.announce_switch(self.client.live().session(), entered.live().session(), reason).await;
        }
    }
}
