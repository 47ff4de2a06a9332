//! The events of a session for one client. A client that falls behind reattaches and misses no entry.

use std::collections::VecDeque;

use anyhow::{Context, Result};
use osier_agent::{AgentEvent, AgentEvents, Attached, Client, LiveUpdate, Prompt, TurnOutcome, Worker};
use osier_session::{Session, SessionEvent};
use osier_store::{LogVersion, StoreError};
use osier_tree::Seq;

use super::answer::assistant_message;

/// A subscription to the events of a session that reattaches when it falls behind.
#[derive(Debug)]
pub(crate) struct EventStream {
    worker: Worker,
    session: Session,
    events: AgentEvents,
    /// Missed events, to deliver first.
    pending: VecDeque<AgentEvent>,
    version: LogVersion,
    running: bool,
    /// Events were lost.
    lagged: bool,
    /// The prompts that were queued when a previous process died.
    pub(crate) returned: Vec<Prompt>,
}

impl EventStream {
    /// Subscribes from a version of the session on.
    pub(crate) async fn subscribe(
        worker: &Worker,
        session: &Session,
        version: LogVersion,
    ) -> Result<EventStream> {
        let attached = worker.attach(Some(version)).await?;
        let mut waiting = VecDeque::new();
        queue_missed_entries(session, &attached, &mut waiting).await?;
        Ok(EventStream {
            worker: worker.clone(),
            session: session.clone(),
            pending: waiting,
            version: attached.state.version,
            running: attached.turn_running,
            lagged: false,
            returned: attached.returned_prompts,
            events: attached.events,
        })
    }

    /// The next event. Cancel-safe: dropping the future loses no event.
    pub(crate) async fn next(&mut self) -> Result<AgentEvent> {
        if self.lagged {
            self.reattach().await?;
        }
        if let Some(event) = self.pending.pop_front() {
            return Ok(event);
        }
        let event = self.events.next().await.context("the agent has ended")?;
        match &event {
            AgentEvent::Session(SessionEvent::Committed { seq, .. }) => {
                self.version.entries = seq.index() + 1;
            }
            AgentEvent::Session(SessionEvent::Reset { version }) => self.version = *version,
            AgentEvent::Session(SessionEvent::Lagged { .. }) => self.lagged = true,
            AgentEvent::Live(LiveUpdate::TurnStarted) => self.running = true,
            AgentEvent::Live(LiveUpdate::TurnEnded { .. }) => self.running = false,
            _ => {}
        }
        Ok(event)
    }

    async fn reattach(&mut self) -> Result<()> {
        let attached = self.worker.attach(Some(self.version)).await?;
        let mut news = VecDeque::new();
        queue_missed_entries(&self.session, &attached, &mut news).await?;
        for (id, question) in &attached.open_questions {
            let question = Box::new(question.clone());
            news.push_back(AgentEvent::Live(LiveUpdate::Asked { id: *id, question }));
        }
        if self.running && !attached.turn_running {
            news.push_back(AgentEvent::Live(missed_turn_end(&news)));
        }
        self.pending.append(&mut news);
        (self.version, self.running, self.lagged) = (attached.state.version, attached.turn_running, false);
        self.events = attached.events;
        Ok(())
    }
}

/// Queues the entries that were appended since the client's version.
async fn queue_missed_entries(
    session: &Session,
    attached: &Attached,
    waiting: &mut VecDeque<AgentEvent>,
) -> Result<()> {
    let tree = &attached.state.tree;
    let wanted: Vec<Seq> = (attached.new_from..attached.state.version.entries).map(Seq::new).collect();
    session
        .for_each_line(attached.state.version, &wanted, |seq, line| {
            waiting.push_back(AgentEvent::Session(SessionEvent::Committed {
                seq,
                id: tree.id(seq).to_string().into(),
                draft_id: None,
                foreign: false,
                cursor: None,
                line: line.into(),
            }));
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok(())
}

/// Derives how a turn ended from the last assistant message, for a client that missed the event.
fn missed_turn_end(missed: &VecDeque<AgentEvent>) -> LiveUpdate {
    let said = missed.iter().rev().find_map(|event| match event {
        AgentEvent::Session(SessionEvent::Committed { line, .. }) => assistant_message(line),
        _ => None,
    });
    let word = |key: &str| said.as_ref().and_then(|said| said[key].as_str());
    let finished = match word("stopReason") {
        Some("error") => TurnOutcome::Failed,
        Some("aborted") => TurnOutcome::Cancelled,
        Some("length") => TurnOutcome::CutOff,
        _ => TurnOutcome::Done,
    };
    LiveUpdate::TurnEnded { finished: Some(finished), error: word("errorMessage").map(str::to_owned) }
}
