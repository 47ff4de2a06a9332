//! All events of an agent in one order: the session's entries and drafts, and live events.
//!
//! The two kinds come from two tasks. A live event carries the number of entries the log had when it was
//! sent, so a slow receiver still sees a tool end before its result is stored, and a turn end after its last
//! entry.

use osier_session::Event as SessionEvent;
use osier_tree::entry::read_entry;
use osier_tree::projection::json::entry_json;
use serde_json::json;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::live::{Live, Told};

/// An event that clients receive.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Session(SessionEvent),
    Live(Live),
}

/// A stream of events.
#[derive(Debug)]
pub struct Events {
    session: osier_session::Events,
    live: broadcast::Receiver<Told>,
    /// The number of log entries that the receiver has seen.
    seen: usize,
    next_event: Option<SessionEvent>,
    next_news: Option<Told>,
    over: bool,
}

impl Events {
    pub(crate) fn new(
        session: osier_session::Events,
        live: broadcast::Receiver<Told>,
        seen: usize,
    ) -> Events {
        Events { session, live, seen, next_event: None, next_news: None, over: false }
    }

    /// The next event. `None` after the session or the agent has ended, or after `Lagged`.
    pub async fn next(&mut self) -> Option<Event> {
        while !self.over {
            self.look();
            if let Some(event) = self.choose() {
                return Some(event);
            }
            tokio::select! {
                event = self.session.next(), if self.next_event.is_none() => match event {
                    Some(event) => self.next_event = Some(event),
                    None => self.over = true,
                },
                news = self.live.recv(), if self.next_news.is_none() => match news {
                    Ok(news) => self.next_news = Some(news),
                    Err(RecvError::Closed) => self.over = true,
                    Err(RecvError::Lagged(missed)) => self.lag(missed),
                },
            }
        }
        None
    }

    /// Fetches available events without waiting.
    fn look(&mut self) {
        if self.next_news.is_none() {
            match self.live.try_recv() {
                Ok(news) => self.next_news = Some(news),
                Err(TryRecvError::Lagged(missed)) => self.lag(missed),
                Err(TryRecvError::Empty | TryRecvError::Closed) => {}
            }
        }
        if self.next_event.is_none() {
            self.next_event = self.session.try_next();
        }
    }

    fn lag(&mut self, missed: u64) {
        self.next_news = None;
        self.next_event = Some(SessionEvent::Lagged { missed });
    }

    /// The earlier of the two next events, if their order is known.
    fn choose(&mut self) -> Option<Event> {
        let news_is_first = match (&self.next_event, &self.next_news) {
            (Some(SessionEvent::Committed { seq, .. }), Some(news)) => news.after <= seq.index(),
            (None, Some(news)) => news.after <= self.seen,
            (Some(_) | None, _) => false,
        };
        if news_is_first {
            return self.next_news.take().map(|news| Event::Live(news.live));
        }
        let event = self.next_event.take()?;
        match &event {
            SessionEvent::Committed { seq, .. } => self.seen = seq.index() + 1,
            SessionEvent::Reset { version } => self.seen = version.entries,
            SessionEvent::Lagged { .. } => self.over = true,
            _ => {}
        }
        Some(Event::Session(event))
    }
}

impl Event {
    /// The event as one line of JSON. Entries are copied as the log has them; Osier's own entry kinds appear
    /// under their own names.
    pub fn json(&self) -> String {
        match self {
            Event::Live(live) => serde_json::to_string(live).unwrap_or_default(),
            Event::Session(SessionEvent::Committed { seq, id, draft_id, foreign, line, .. }) => {
                let head = json!({
                    "type": "entry", "seq": seq.index(), "id": &**id, "draftId": draft_id.as_deref(), "foreign": foreign,
                });
                let entry = read_entry(line).map(|entry| entry_json(&entry).into_owned()).unwrap_or_default();
                with_raw(&head.to_string(), "entry", &String::from_utf8_lossy(&entry))
            }
            Event::Session(SessionEvent::Draft { id, index, delta }) => {
                let head = json!({ "type": "draft", "id": &**id, "index": index });
                with_raw(&head.to_string(), "delta", delta)
            }
            Event::Session(event) => other(event).to_string(),
        }
    }
}

fn other(event: &SessionEvent) -> serde_json::Value {
    match event {
        SessionEvent::DraftBegun { id, .. } => json!({ "type": "draft_begun", "id": &**id }),
        SessionEvent::DraftDropped { id } => json!({ "type": "draft_dropped", "id": &**id }),
        SessionEvent::CursorMoved { place, .. } => {
            json!({ "type": "moved", "seq": place.map(osier_tree::Seq::index) })
        }
        SessionEvent::ContinuedElsewhere { place, .. } => {
            json!({ "type": "continued_elsewhere", "seq": place.map(osier_tree::Seq::index) })
        }
        SessionEvent::Reset { version } => json!({ "type": "reset", "entries": version.entries }),
        SessionEvent::Lagged { missed } => json!({ "type": "lagged", "missed": missed }),
        SessionEvent::Committed { .. } | SessionEvent::Draft { .. } => serde_json::Value::Null,
    }
}

/// Adds a member to a JSON object, copying the JSON value as is.
fn with_raw(object: &str, key: &str, json: &str) -> String {
    let value = if json.is_empty() { "null" } else { json };
    format!("{},\"{key}\":{value}}}", object.strip_suffix('}').unwrap_or(object))
}
