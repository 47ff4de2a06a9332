//! All events of an agent in one order: the session's entries and drafts, and live events.
//!
//! The two kinds come from two tasks. A live event carries the number of entries the log had when it was
//! sent, so a slow receiver still sees a tool end before its result is stored, and a turn end after its last
//! entry.

use osier_session::SessionEvent;
use osier_tree::entry::parse_entry;
use osier_tree::projection::json::entry_json;
use serde_json::json;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::live::{LiveEvent, LiveUpdate};

/// An event that clients receive.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    Session(SessionEvent),
    Live(LiveUpdate),
}

/// A stream of events.
#[derive(Debug)]
pub struct AgentEvents {
    session: osier_session::SessionEvents,
    live: broadcast::Receiver<LiveEvent>,
    /// The number of log entries that the receiver has seen.
    entries_seen: usize,
    next_session_event: Option<SessionEvent>,
    next_live_event: Option<LiveEvent>,
    ended: bool,
}

impl AgentEvents {
    pub(crate) fn new(
        session: osier_session::SessionEvents,
        live: broadcast::Receiver<LiveEvent>,
        seen: usize,
    ) -> AgentEvents {
        AgentEvents {
            session,
            live,
            entries_seen: seen,
            next_session_event: None,
            next_live_event: None,
            ended: false,
        }
    }

    /// The next event. `None` after the session or the agent has ended, or after `Lagged`.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        while !self.ended {
            self.poll_ready();
            if let Some(event) = self.take_first() {
                return Some(event);
            }
            tokio::select! {
                event = self.session.next(), if self.next_session_event.is_none() => match event {
                    Some(event) => self.next_session_event = Some(event),
                    None => self.ended = true,
                },
                news = self.live.recv(), if self.next_live_event.is_none() => match news {
                    Ok(news) => self.next_live_event = Some(news),
                    Err(RecvError::Closed) => self.ended = true,
                    Err(RecvError::Lagged(missed)) => self.set_lagged(missed),
                },
            }
        }
        None
    }

    /// Fetches available events without waiting.
    fn poll_ready(&mut self) {
        if self.next_live_event.is_none() {
            match self.live.try_recv() {
                Ok(news) => self.next_live_event = Some(news),
                Err(TryRecvError::Lagged(missed)) => self.set_lagged(missed),
                Err(TryRecvError::Empty | TryRecvError::Closed) => {}
            }
        }
        if self.next_session_event.is_none() {
            self.next_session_event = self.session.try_next();
        }
    }

    fn set_lagged(&mut self, missed: u64) {
        self.next_live_event = None;
        self.next_session_event = Some(SessionEvent::Lagged { missed });
    }

    /// The earlier of the two next events, if their order is known.
    fn take_first(&mut self) -> Option<AgentEvent> {
        let news_is_first = match (&self.next_session_event, &self.next_live_event) {
            (Some(SessionEvent::Committed { seq, .. }), Some(news)) => news.after_entries <= seq.index(),
            (None, Some(news)) => news.after_entries <= self.entries_seen,
            (Some(_) | None, _) => false,
        };
        if news_is_first {
            return self.next_live_event.take().map(|news| AgentEvent::Live(news.update));
        }
        let event = self.next_session_event.take()?;
        match &event {
            SessionEvent::Committed { seq, .. } => self.entries_seen = seq.index() + 1,
            SessionEvent::Reset { version } => self.entries_seen = version.entries,
            SessionEvent::Lagged { .. } => self.ended = true,
            _ => {}
        }
        Some(AgentEvent::Session(event))
    }
}

impl AgentEvent {
    /// The event as one line of JSON. Entries are copied as the log has them; Osier's own entry kinds appear
    /// under their own names.
    pub fn to_json(&self) -> String {
        match self {
            AgentEvent::Live(live) => serde_json::to_string(live).unwrap_or_default(),
            AgentEvent::Session(SessionEvent::Committed { seq, id, draft_id, foreign, line, .. }) => {
                let head = json!({
                    "type": "entry", "seq": seq.index(), "id": &**id, "draftId": draft_id.as_deref(), "foreign": foreign,
                });
                let entry =
                    parse_entry(line).map(|entry| entry_json(&entry).into_owned()).unwrap_or_default();
                add_raw_member(&head.to_string(), "entry", &String::from_utf8_lossy(&entry))
            }
            AgentEvent::Session(SessionEvent::DraftDelta { id, index, delta }) => {
                let head = json!({ "type": "draft", "id": &**id, "index": index });
                add_raw_member(&head.to_string(), "delta", delta)
            }
            AgentEvent::Session(event) => simple_event_json(event).to_string(),
        }
    }
}

fn simple_event_json(event: &SessionEvent) -> serde_json::Value {
    match event {
        SessionEvent::DraftStarted { id, .. } => json!({ "type": "draft_begun", "id": &**id }),
        SessionEvent::DraftDropped { id } => json!({ "type": "draft_dropped", "id": &**id }),
        SessionEvent::CursorMoved { place, .. } => {
            json!({ "type": "moved", "seq": place.map(osier_tree::Seq::index) })
        }
        SessionEvent::ContinuedElsewhere { place, .. } => {
            json!({ "type": "continued_elsewhere", "seq": place.map(osier_tree::Seq::index) })
        }
        SessionEvent::Reset { version } => json!({ "type": "reset", "entries": version.entries }),
        SessionEvent::Lagged { missed } => json!({ "type": "lagged", "missed": missed }),
        SessionEvent::Committed { .. } | SessionEvent::DraftDelta { .. } => serde_json::Value::Null,
    }
}

/// Adds a member to a JSON object, copying the JSON value as is.
fn add_raw_member(object: &str, key: &str, json: &str) -> String {
    let value = if json.is_empty() { "null" } else { json };
    format!("{},\"{key}\":{value}}}", object.strip_suffix('}').unwrap_or(object))
}
