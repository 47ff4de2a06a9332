//! The events of a session for one client. A client that falls behind reattaches and misses no entry.

use std::collections::VecDeque;

use anyhow::{Context, Result};
use osier_agent::{Attached, Client, Event, Events, Finished, Live, Said, Worker};
use osier_session::{Event as SessionEvent, Session};
use osier_store::{StoreError, Version};
use osier_tree::Seq;

use super::answer::assistant;

/// A subscription to the events of a session that reattaches when it falls behind.
#[derive(Debug)]
pub(crate) struct Follow {
    worker: Worker,
    session: Session,
    events: Events,
    /// Missed events, to deliver first.
    waiting: VecDeque<Event>,
    version: Version,
    running: bool,
    /// Events were lost.
    behind: bool,
    /// The prompts that were queued when a previous process died.
    pub(crate) returned: Vec<Said>,
}

impl Follow {
    /// Subscribes from a version of the session on.
    pub(crate) async fn since(worker: &Worker, session: &Session, version: Version) -> Result<Follow> {
        let attached = worker.attach(Some(version)).await?;
        let mut waiting = VecDeque::new();
        missed(session, &attached, &mut waiting).await?;
        Ok(Follow {
            worker: worker.clone(),
            session: session.clone(),
            waiting,
            version: attached.state.version,
            running: attached.running,
            behind: false,
            returned: attached.returned,
            events: attached.events,
        })
    }

    /// The next event. Cancel-safe: dropping the future loses no event.
    pub(crate) async fn next(&mut self) -> Result<Event> {
        if self.behind {
            self.join_again().await?;
        }
        if let Some(event) = self.waiting.pop_front() {
            return Ok(event);
        }
        let event = self.events.next().await.context("the agent has ended")?;
        match &event {
            Event::Session(SessionEvent::Committed { seq, .. }) => self.version.entries = seq.index() + 1,
            Event::Session(SessionEvent::Reset { version }) => self.version = *version,
            Event::Session(SessionEvent::Lagged { .. }) => self.behind = true,
            Event::Live(Live::TurnStarted) => self.running = true,
            Event::Live(Live::TurnEnded { .. }) => self.running = false,
            _ => {}
        }
        Ok(event)
    }

    async fn join_again(&mut self) -> Result<()> {
        let attached = self.worker.attach(Some(self.version)).await?;
        let mut news = VecDeque::new();
        missed(&self.session, &attached, &mut news).await?;
        for (id, question) in &attached.asked {
            let question = Box::new(question.clone());
            news.push_back(Event::Live(Live::Asked { id: *id, question }));
        }
        if self.running && !attached.running {
            news.push_back(Event::Live(ended(&news)));
        }
        self.waiting.append(&mut news);
        (self.version, self.running, self.behind) = (attached.state.version, attached.running, false);
        self.events = attached.events;
        Ok(())
    }
}

/// Queues the entries that were appended since the client's version.
async fn missed(session: &Session, attached: &Attached, waiting: &mut VecDeque<Event>) -> Result<()> {
    let tree = &attached.state.tree;
    let wanted: Vec<Seq> = (attached.since..attached.state.version.entries).map(Seq::new).collect();
    session
        .each_line(attached.state.version, &wanted, |seq, line| {
            waiting.push_back(Event::Session(SessionEvent::Committed {
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
fn ended(missed: &VecDeque<Event>) -> Live {
    let said = missed.iter().rev().find_map(|event| match event {
        Event::Session(SessionEvent::Committed { line, .. }) => assistant(line),
        _ => None,
    });
    let word = |key: &str| said.as_ref().and_then(|said| said[key].as_str());
    let finished = match word("stopReason") {
        Some("error") => Finished::Failed,
        Some("aborted") => Finished::Cancelled,
        Some("length") => Finished::CutOff,
        _ => Finished::Done,
    };
    Live::TurnEnded { finished: Some(finished), error: word("errorMessage").map(str::to_owned) }
}
