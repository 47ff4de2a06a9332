//! The events of a session for one client. A client that falls behind reattaches: it misses no entry, and the other events that
//! it missed are made up from the state of the session.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use osier_agent::AgentError;
use osier_protocol::client::AttachedState;
use osier_protocol::{
    Attached, Client, ClientError, ClientEvent, EntryId, EntryLine, LogPosition, OpenQuestion, OpenReply,
    Prompt, PromptQueue, TurnOutcome,
};
use osier_tree::projection::entry_view::{EntryContent, MessageView};

use crate::error::EngineError;

/// A subscription to the events of a session that reattaches when it falls behind.
pub struct FollowedEvents {
    client: Arc<dyn Client>,
    events: osier_protocol::EventStream,
    waiting: VecDeque<ClientEvent>,
    position: LogPosition,
    known: KnownState,
    /// Events were lost.
    lagged: bool,
    /// What else was missed. It follows the missed entries.
    missed: Option<MissedState>,
    /// Prompts that an earlier process queued but never sent.
    pub returned: Vec<Prompt>,
}

/// What the client knows from the events so far.
#[derive(Default)]
struct KnownState {
    running: bool,
    questions: BTreeSet<u64>,
    /// The open drafts, with the number of deltas.
    drafts: BTreeMap<EntryId, usize>,
    steering: Vec<String>,
    follow_up: Vec<String>,
}

/// The state of the session when the client reattached.
struct MissedState {
    /// The missed entries end here.
    until: usize,
    /// The turn that ran when events were lost has ended since.
    ended: bool,
    last_reply: LastReply,
    questions: Vec<OpenQuestion>,
    drafts: Vec<OpenReply>,
    queue: PromptQueue,
}

/// How the last reply among the missed entries ended.
#[derive(Default)]
struct LastReply {
    outcome: Option<TurnOutcome>,
    error: Option<String>,
}

impl fmt::Debug for FollowedEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedEvents").field("position", &self.position).finish_non_exhaustive()
    }
}

impl FollowedEvents {
    /// Follows from a position of the log on.
    pub async fn subscribe(
        client: Arc<dyn Client>,
        position: LogPosition,
    ) -> Result<FollowedEvents, ClientError> {
        let Attached { state, events } = client.attach(Some(position)).await?;
        let waiting = VecDeque::from_iter(state.reset.then_some(ClientEvent::Reset(state.position)));
        let position = position_before_missed(position, &state);
        Ok(FollowedEvents { waiting, position, ..FollowedEvents::new(client, events, &state) })
    }

    /// Attaches at the current position. Returns the state there, too.
    pub async fn attach(client: Arc<dyn Client>) -> Result<(AttachedState, FollowedEvents), ClientError> {
        let Attached { state, events } = client.attach(None).await?;
        let followed = FollowedEvents::new(client, events, &state);
        Ok((state, followed))
    }

    fn new(
        client: Arc<dyn Client>,
        events: osier_protocol::EventStream,
        state: &AttachedState,
    ) -> FollowedEvents {
        FollowedEvents {
            client,
            events,
            waiting: VecDeque::new(),
            position: state.position,
            known: KnownState::new(state),
            lagged: false,
            missed: None,
            returned: state.returned_prompts.clone(),
        }
    }

    /// The position up to which entries have arrived.
    pub fn position(&self) -> LogPosition {
        self.position
    }

    /// The next event. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Result<ClientEvent, ClientError> {
        if self.lagged {
            self.reattach().await?;
        }
        if self.waiting.is_empty()
            && let Some(missed) = self.missed.take_if(|missed| missed.until <= self.position.entries)
        {
            self.waiting = self.known.missed_events(missed);
        }
        let event = match self.waiting.pop_front() {
            Some(event) => event,
            None => self.next_received().await?,
        };
        self.known.follow(&event);
        Ok(event)
    }

    async fn next_received(&mut self) -> Result<ClientEvent, ClientError> {
        let event = self.events.next().await.ok_or_else(closed)?;
        match &event {
            ClientEvent::Entry(entry) => {
                self.position.entries = entry.seq.saturating_add(1);
                self.position.generation = entry.generation.unwrap_or(self.position.generation);
                if let Some(missed) = &mut self.missed {
                    missed.last_reply.read(&entry.entry);
                }
            }
            ClientEvent::Reset(position) => self.position = *position,
            ClientEvent::Lagged { .. } => self.lagged = true,
            _ => {}
        }
        Ok(event)
    }

    /// The missed entries arrive first; what else was missed follows them.
    async fn reattach(&mut self) -> Result<(), ClientError> {
        let Attached { state, events } = self.client.attach(Some(self.position)).await?;
        self.waiting.extend(state.reset.then_some(ClientEvent::Reset(state.position)));
        self.position = position_before_missed(self.position, &state);
        if state.turn_running && !self.known.running {
            self.waiting.push_back(ClientEvent::TurnStarted);
        }
        self.missed = Some(MissedState {
            until: state.position.entries,
            ended: self.known.running && !state.turn_running,
            last_reply: LastReply::default(),
            questions: state.open_questions,
            drafts: state.drafts,
            queue: state.queue,
        });
        (self.lagged, self.events) = (false, events);
        Ok(())
    }
}

impl KnownState {
    fn new(state: &AttachedState) -> KnownState {
        KnownState {
            running: state.turn_running,
            questions: state.open_questions.iter().map(|question| question.id).collect(),
            drafts: state.drafts.iter().map(|draft| (draft.id.clone(), draft.deltas.len())).collect(),
            steering: texts(&state.queue.steering),
            follow_up: texts(&state.queue.follow_up),
        }
    }

    fn follow(&mut self, event: &ClientEvent) {
        match event {
            ClientEvent::TurnStarted => self.running = true,
            ClientEvent::TurnEnded { .. } => self.running = false,
            ClientEvent::Asked { id, .. } => drop(self.questions.insert(*id)),
            ClientEvent::Answered { id, .. } => drop(self.questions.remove(id)),
            ClientEvent::DraftStarted { id, .. } => drop(self.drafts.insert(id.clone(), 0)),
            ClientEvent::DraftDelta { id, index, .. } => drop(self.drafts.insert(id.clone(), index + 1)),
            ClientEvent::DraftDropped { id } => drop(self.drafts.remove(id)),
            ClientEvent::Entry(entry) => {
                self.drafts.remove(entry.draft_id.as_ref().unwrap_or(&entry.id));
            }
            ClientEvent::Queue { steering, follow_up } => {
                (self.steering, self.follow_up) = (steering.clone(), follow_up.clone());
            }
            _ => {}
        }
    }

    /// The events between what is known and the state of the session.
    fn missed_events(&self, missed: MissedState) -> VecDeque<ClientEvent> {
        let mut events = VecDeque::new();
        let is_open = |id: &EntryId| missed.drafts.iter().any(|draft| draft.id == *id);
        let dropped = self.drafts.keys().filter(|id| !is_open(id));
        events.extend(dropped.map(|id| ClientEvent::DraftDropped { id: id.clone() }));
        // Nobody knows how they were answered.
        let closed = self.questions.iter().filter(|id| missed.questions.iter().all(|open| open.id != **id));
        events.extend(closed.map(|id| ClientEvent::Answered { id: *id, allowed: false }));
        if missed.ended {
            let LastReply { outcome, error } = missed.last_reply;
            events.push_back(ClientEvent::TurnEnded { finished: outcome.or(Some(TurnOutcome::Done)), error });
        }
        for OpenReply { id, off_path, deltas } in missed.drafts {
            let known = self.drafts.get(&id).copied();
            if known.is_none() {
                events.push_back(ClientEvent::DraftStarted { id: id.clone(), off_path });
            }
            let new = deltas.into_iter().enumerate().skip(known.unwrap_or_default());
            events.extend(new.map(|(index, delta)| ClientEvent::DraftDelta {
                id: id.clone(),
                index,
                delta: Arc::new(delta),
            }));
        }
        for OpenQuestion { id, question, agent } in missed.questions {
            if !self.questions.contains(&id) {
                events.push_back(ClientEvent::Asked { id, question: Box::new(question), agent });
            }
        }
        let (steering, follow_up) = (texts(&missed.queue.steering), texts(&missed.queue.follow_up));
        if (&steering, &follow_up) != (&self.steering, &self.follow_up) {
            events.push_back(ClientEvent::Queue { steering, follow_up });
        }
        events
    }
}

fn texts(prompts: &[Prompt]) -> Vec<String> {
    prompts.iter().map(|prompt| prompt.text.clone()).collect()
}

impl LastReply {
    fn read(&mut self, line: &EntryLine) {
        let Some(EntryContent::Message(MessageView::Assistant(reply))) =
            line.view().map(|view| &view.content)
        else {
            return;
        };
        self.outcome = Some(match reply.stop_reason.as_deref() {
            Some("error") => TurnOutcome::Failed,
            Some("aborted") => TurnOutcome::Cancelled,
            Some("length") => TurnOutcome::CutOff,
            _ => TurnOutcome::Done,
        });
        self.error.clone_from(&reply.error);
    }
}

/// The position of a client that has attached but not read the missed entries. After a reset it misses all of them.
fn position_before_missed(known: LogPosition, state: &AttachedState) -> LogPosition {
    let entries = if state.reset { 0 } else { known.entries };
    LogPosition { generation: state.position.generation, entries }
}

fn closed() -> ClientError {
    EngineError::Agent(AgentError::Closed).into()
}
