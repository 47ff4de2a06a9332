//! Attaching clients: the state of the agent and all later events, without gaps or duplicates.

use osier_protocol::client::AttachedState;
use osier_protocol::{Attached, LogPosition, OpenReply};
use osier_session::{OpenDraft, SessionState};
use osier_store::LogVersion;
use osier_tree::ReplyDelta;
use tokio::sync::broadcast;

use crate::client_position::ClientPosition;
use crate::context::AgentContext;
use crate::error::AgentError;
use crate::events::{AgentEvents, QueuedEvents};
use crate::live_events::LiveEvent;
use crate::missed_entries::MissedEntries;

impl AgentContext {
    pub(crate) async fn attach(&self, after: Option<LogPosition>) -> Result<Attached, AgentError> {
        // Subscribe first: what happens in between is in both, and the order of events sorts it out.
        let (live, agent) = self.subscribe();
        let known = after.map(|LogPosition { generation, entries }| LogVersion { generation, entries });
        let osier_session::Attached { state, since, reset, drafts, events } =
            self.session.attach(known).await?;
        let at = state.cursor_state(self.cursor.id()).and_then(|cursor| cursor.position);
        let leaf = at.map(|seq| state.tree.id(seq).to_entry_id());
        let missed = after.and_then(|_| MissedEntries::new(&self.session, &state, at, since));
        let events = AgentEvents {
            missed,
            session: events,
            live,
            position: ClientPosition { cursor: self.cursor.id(), leaf: leaf.clone() },
            seen: state.age(),
            queued: QueuedEvents::default(),
        };
        let drafts = drafts.into_iter().map(|draft| self.open_reply(draft)).collect();
        let state = AttachedState { position: log_position(&state), reset, leaf_id: leaf, drafts, ..agent };
        Ok(Attached { state, events: events.into_stream() })
    }

    /// The agent's part of the state, and the live events after it.
    fn subscribe(&self) -> (broadcast::Receiver<LiveEvent>, AttachedState) {
        let agent_state = self.state();
        let attached = AttachedState {
            turn_running: agent_state.turn_running,
            open_questions: agent_state.questions.list(),
            queue: agent_state.prompts.queue().clone(),
            returned_prompts: agent_state.prompts.returned().to_vec(),
            ..AttachedState::default()
        };
        (self.live.subscribe(), attached)
    }

    fn open_reply(&self, draft: OpenDraft) -> OpenReply {
        let deltas = draft.deltas.iter().map(|delta| ReplyDelta::clone(delta)).collect();
        OpenReply { id: draft.id, off_path: draft.cursor != self.cursor.id(), deltas }
    }
}

fn log_position(state: &SessionState) -> LogPosition {
    LogPosition { generation: state.version.generation, entries: state.version.entries }
}
