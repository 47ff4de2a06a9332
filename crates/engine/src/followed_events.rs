//! The events of a session for one client. A client that falls behind reattaches: it misses no entry, and the other events that
//! it missed are made up from the state of the session.

mod known_outputs;
mod known_state;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use osier_agent::AgentError;
use osier_protocol::client::AttachedState;
use osier_protocol::{Attached, Client, ClientError, ClientEvent, LogPosition, Prompt};

use self::known_state::{KnownState, MissedState};
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

    /// Whether events were missed that have not been made up yet.
    pub(crate) fn is_behind(&self) -> bool {
        self.lagged || self.missed.is_some() || !self.waiting.is_empty()
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
        let missed_turn = !state.reset
            && state.last_turn.as_ref().is_some_and(|turn| turn.revision > self.position.entries);
        self.position = position_before_missed(self.position, &state);
        if !self.known.running && (state.turn_running || missed_turn) {
            self.waiting.push_back(ClientEvent::TurnStarted);
        }
        let ended = !state.turn_running && (self.known.running || missed_turn);
        self.missed = Some(MissedState::new(state, ended));
        (self.lagged, self.events) = (false, events);
        Ok(())
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
