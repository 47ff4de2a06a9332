//! The events of a session for one client. A client that falls behind reattaches and misses no entry.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use osier_agent::AgentError;
use osier_protocol::client::AttachedState;
use osier_protocol::{
    Attached, Client, ClientError, ClientEvent, EntryLine, LogPosition, OpenQuestion, Prompt, TurnOutcome,
};
use osier_tree::projection::entry_view::{EntryContent, MessageView};

use crate::error::EngineError;

/// A subscription to the events of a session that reattaches when it falls behind.
pub struct FollowedEvents {
    client: Arc<dyn Client>,
    events: osier_protocol::EventStream,
    /// The missed events that are not entries.
    waiting: VecDeque<ClientEvent>,
    position: LogPosition,
    running: bool,
    /// Events were lost.
    lagged: bool,
    /// The turn that ran when events were lost has ended since. The last reply tells how.
    missed_end: Option<LastReply>,
    /// Prompts that an earlier process queued but never sent.
    pub returned: Vec<Prompt>,
}

/// How the last reply among the missed entries ended.
#[derive(Default)]
struct LastReply {
    /// The missed entries end here.
    until: usize,
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
        Ok(FollowedEvents {
            client,
            events,
            waiting,
            position: position_before_missed(position, &state),
            running: state.turn_running,
            lagged: false,
            missed_end: None,
            returned: state.returned_prompts,
        })
    }

    /// Attaches at the current position. Returns the state there, too.
    pub async fn attach(client: Arc<dyn Client>) -> Result<(AttachedState, FollowedEvents), ClientError> {
        let Attached { state, events } = client.attach(None).await?;
        let followed = FollowedEvents {
            client,
            events,
            waiting: VecDeque::new(),
            position: state.position,
            running: state.turn_running,
            lagged: false,
            missed_end: None,
            returned: state.returned_prompts.clone(),
        };
        Ok((state, followed))
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
        if let Some(event) = self.waiting.pop_front().or_else(|| self.take_missed_end()) {
            return Ok(event);
        }
        let event = self.events.next().await.ok_or_else(closed)?;
        match &event {
            ClientEvent::Entry(entry) => {
                self.position.entries = entry.seq + 1;
                if let Some(last) = &mut self.missed_end {
                    last.read(&entry.entry);
                }
            }
            ClientEvent::Reset(position) => self.position = *position,
            ClientEvent::Lagged { .. } => self.lagged = true,
            ClientEvent::TurnStarted => self.running = true,
            ClientEvent::TurnEnded { .. } => self.running = false,
            _ => {}
        }
        Ok(event)
    }

    /// The entries that were missed arrive first; the rest of the state follows here.
    async fn reattach(&mut self) -> Result<(), ClientError> {
        let Attached { state, events } = self.client.attach(Some(self.position)).await?;
        self.waiting.extend(state.reset.then_some(ClientEvent::Reset(state.position)));
        self.position = position_before_missed(self.position, &state);
        for OpenQuestion { id, question } in state.open_questions {
            self.waiting.push_back(ClientEvent::Asked { id, question: Box::new(question) });
        }
        if self.running && !state.turn_running {
            self.missed_end = Some(LastReply { until: state.position.entries, ..LastReply::default() });
        }
        (self.running, self.lagged, self.events) = (state.turn_running, false, events);
        Ok(())
    }

    /// The end of a turn whose end was missed, once all its entries have arrived.
    fn take_missed_end(&mut self) -> Option<ClientEvent> {
        let last = self.missed_end.take_if(|last| last.until <= self.position.entries)?;
        Some(ClientEvent::TurnEnded { finished: last.outcome.or(Some(TurnOutcome::Done)), error: last.error })
    }
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
