//! Attaching clients: the state of the agent and all later events, without gaps or duplicates.

use osier_protocol::client::AttachedState;
use osier_protocol::{Attached, ClientEvent, LogPosition, OpenReply};
use osier_session::{Cursor, CursorId, OpenDraft, SessionState};
use osier_store::LogVersion;
use osier_tree::ReplyDelta;
use tokio::sync::broadcast;

use crate::client_position::ClientPosition;
use crate::context::AgentContext;
use crate::error::AgentError;
use crate::events::{AgentEvents, QueuedEvents};
use crate::live_events::LiveEvent;
use crate::missed_entries::MissedEntries;

/// Attaches to a session at a cursor where no agent works. The events are those of the session: entries, drafts and moves.
pub async fn attach_without_agent(
    cursor: &Cursor,
    after: Option<LogPosition>,
) -> Result<Attached, AgentError> {
    attach(cursor, after, None, AttachedState::default()).await
}

impl AgentContext {
    pub(crate) async fn attach(&self, after: Option<LogPosition>) -> Result<Attached, AgentError> {
        // Subscribe first: what happens in between is in both, and the order of events sorts it out.
        let (live, agent) = self.subscribe();
        {
            let mut agent_state = self.state();
            agent_state.has_clients = true;
            let kept = agent_state.kept.clone();
            for event in kept.into_iter().chain(agent_state.unseen.drain(..)) {
                self.live.send(ClientEvent::Extension(event));
            }
        }
        attach(&self.cursor, after, Some(live), agent).await
    }

    /// Attaches an observer that is not a client: what waits for the first client goes on waiting.
    pub(crate) async fn attach_observer(&self) -> Result<Attached, AgentError> {
        let (live, agent) = self.subscribe();
        attach(&self.cursor, None, Some(live), agent).await
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
}

async fn attach(
    cursor: &Cursor,
    after: Option<LogPosition>,
    live: Option<broadcast::Receiver<LiveEvent>>,
    agent: AttachedState,
) -> Result<Attached, AgentError> {
    let known = after.map(|LogPosition { generation, entries }| LogVersion { generation, entries });
    let osier_session::Attached { state, since, reset, drafts, events } =
        cursor.session().attach(known).await?;
    let at = state.cursor_state(cursor.id()).and_then(|cursor| cursor.position);
    let leaf = at.map(|seq| state.tree.id(seq).to_entry_id());
    let missed = after.and_then(|_| MissedEntries::new(cursor.session(), &state, at, since));
    let events = AgentEvents {
        missed,
        session: events,
        live,
        position: ClientPosition { cursor: cursor.id(), leaf: leaf.clone() },
        seen: state.age(),
        queued: QueuedEvents::default(),
    };
    let drafts = drafts.into_iter().map(|draft| open_reply(cursor.id(), draft)).collect();
    let state = AttachedState { position: log_position(&state), reset, leaf_id: leaf, drafts, ..agent };
    Ok(Attached { state, events: events.into_stream() })
}

fn open_reply(cursor: CursorId, draft: OpenDraft) -> OpenReply {
    let deltas = draft.deltas.iter().map(|delta| ReplyDelta::clone(delta)).collect();
    OpenReply { id: draft.id, off_path: draft.cursor != cursor, deltas }
}

fn log_position(state: &SessionState) -> LogPosition {
    LogPosition { generation: state.version.generation, entries: state.version.entries }
}
