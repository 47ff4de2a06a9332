//! Attaching clients: the state of the agent and all later events, without gaps or duplicates.

use std::collections::VecDeque;

use osier_protocol::client::AttachedState;
use osier_protocol::{Attached, ExtensionEvent, LogPosition, OpenReply};
use osier_session::{Cursor, CursorId, OpenDraft, SessionState};
use osier_store::LogVersion;
use osier_tree::ReplyDelta;
use tokio::sync::broadcast;

use crate::attached_clients::AttachedClient;
use crate::client_position::ClientPosition;
use crate::context::{AgentContext, AgentState};
use crate::error::AgentError;
use crate::events::{AgentEvents, QueuedEvents};
use crate::leftover_queue::read_leftover_queue;
use crate::live_events::{ClientId, LiveEvent};
use crate::missed_entries::MissedEntries;

/// Attaches to a session at a cursor where no agent works. The events are those of the session: entries, drafts and moves.
pub async fn attach_without_agent(
    cursor: &Cursor,
    after: Option<LogPosition>,
) -> Result<Attached, AgentError> {
    let returned_prompts = read_leftover_queue(cursor).await?.unwrap_or_default();
    let agent = AttachedState { returned_prompts, ..AttachedState::default() };
    attach(cursor, after, None, agent, VecDeque::new(), None).await
}

impl AgentContext {
    pub(crate) async fn attach(
        &self,
        after: Option<LogPosition>,
        client: Option<ClientId>,
    ) -> Result<Attached, AgentError> {
        self.read_returned_prompts().await?;
        let client = client.map(|client| self.live.clients.add(client));
        // Subscribe first: what happens in between is in both, and the order of events sorts it out.
        let (live, agent, shown, mut unseen) = {
            let mut agent_state = self.state();
            agent_state.has_clients = true;
            let events = std::mem::take(&mut agent_state.unseen);
            let shown = agent_state.kept.iter().chain(&events).cloned().collect();
            let (live, agent) = self.subscribe(&agent_state);
            (live, agent, shown, UnseenEvents { agent: self, events: Some(events) })
        };
        let mut attached = attach(&self.cursor, after, Some(live), agent, shown, client).await?;
        unseen.events = None;
        // What ended meanwhile may be in the session's part of the state, so that no event would end it.
        attached.state.running.retain(|event| self.live.still_runs(event));
        Ok(attached)
    }

    /// Attaches an observer that is not a client: what waits for the first client goes on waiting.
    pub(crate) async fn attach_observer(&self) -> Result<Attached, AgentError> {
        let (live, agent) = self.subscribe(&self.state());
        attach(&self.cursor, None, Some(live), agent, VecDeque::new(), None).await
    }

    /// The agent's part of the state, and the live events after it.
    fn subscribe(&self, agent_state: &AgentState) -> (broadcast::Receiver<LiveEvent>, AttachedState) {
        let (running, live) = self.live.subscribe();
        let attached = AttachedState {
            running,
            turn_running: agent_state.turn_running,
            turn_started: agent_state.turn_started,
            last_turn: agent_state.last_turn.clone(),
            open_questions: agent_state.questions.list(),
            queue: agent_state.prompts.queue().clone(),
            returned_prompts: agent_state.prompts.returned().to_vec(),
            ..AttachedState::default()
        };
        (live, attached)
    }
}

/// The events that wait for the first client. They go on waiting if it cannot be attached.
struct UnseenEvents<'a> {
    agent: &'a AgentContext,
    /// `None` if the client has them.
    events: Option<Vec<ExtensionEvent>>,
}

impl Drop for UnseenEvents<'_> {
    fn drop(&mut self) {
        let Some(mut events) = self.events.take() else { return };
        let mut agent_state = self.agent.state();
        events.append(&mut agent_state.unseen);
        agent_state.unseen = events;
    }
}

async fn attach(
    cursor: &Cursor,
    after: Option<LogPosition>,
    live: Option<broadcast::Receiver<LiveEvent>>,
    agent: AttachedState,
    shown: VecDeque<ExtensionEvent>,
    client: Option<AttachedClient>,
) -> Result<Attached, AgentError> {
    let known = after.map(|LogPosition { generation, entries }| LogVersion { generation, entries });
    let osier_session::Attached { state, since, reset, drafts, events } =
        cursor.session().attach(known).await?;
    let at = state.cursor_state(cursor.id()).and_then(|cursor| cursor.position);
    let leaf = at.map(|seq| state.tree.id(seq).to_entry_id());
    let missed = after.and_then(|_| MissedEntries::new(cursor.session(), &state, at, since));
    let events = AgentEvents {
        missed,
        shown,
        session: events,
        live,
        client,
        position: ClientPosition::new(cursor.id(), leaf.clone()),
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
