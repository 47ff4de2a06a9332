//! Events that extensions only observe: names, and messages outside turns, as the clients of the session see them. The session is
//! followed only if an extension has a handler for one of these events.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::StreamExt;
use osier_agent::Worker;
use osier_protocol::{Attached, ClientEvent};
use serde_json::{Value, json};

use super::session::SessionExtensions;

/// The events that come from here.
const EVENTS: &[&str] = &["message_start", "message_end", "session_info_changed"];

impl SessionExtensions {
    /// Whether an extension has a handler for one of these events.
    pub(super) fn wants_to_follow(&self) -> bool {
        EVENTS.iter().any(|name| !self.handlers(name).is_empty())
    }

    /// Follows the session until its agent ends.
    pub(super) async fn follow(self: Arc<SessionExtensions>, worker: Worker) {
        if let Ok(Attached { mut events, .. }) = worker.attach_observer().await {
            // The agent must be able to end.
            drop(worker);
            while let Some(event) = events.next().await {
                for event in translate(&event) {
                    let name = event["type"].as_str().unwrap_or_default().to_owned();
                    self.observe(&name, || event).await;
                }
            }
        }
        self.is_following.store(false, Ordering::SeqCst);
    }
}

/// Turns an event of clients into those of pi.
fn translate(event: &ClientEvent) -> Vec<Value> {
    let ClientEvent::Entry(entry) = event else { return Vec::new() };
    let Ok(entry) = serde_json::from_slice::<Value>(entry.entry.bytes()) else { return Vec::new() };
    let message = match entry["type"].as_str() {
        Some("message") => entry["message"].clone(),
        Some("custom_message") => custom_message(&entry),
        Some("session_info") => {
            return vec![json!({ "type": "session_info_changed", "name": entry["name"] })];
        }
        _ => return Vec::new(),
    };
    // Hooks are asked about the messages of a turn, so their events come from there.
    if matches!(message["role"].as_str(), Some("system" | "user" | "assistant" | "toolResult")) {
        return Vec::new();
    }
    ["message_start", "message_end"].map(|name| json!({ "type": name, "message": message })).into()
}

/// A message of an extension as pi's events show it.
fn custom_message(entry: &Value) -> Value {
    json!({
        "role": "custom",
        "customType": entry["customType"],
        "content": entry["content"],
        "display": entry["display"],
        "details": entry["details"],
    })
}

#[cfg(test)]
mod tests {
    use osier_protocol::{EntryEvent, EntryLine};

    use super::*;

    fn message(role: &str) -> ClientEvent {
        let line = json!({ "type": "message", "id": "a", "message": { "role": role, "content": [] } });
        ClientEvent::Entry(EntryEvent {
            seq: 0,
            generation: None,
            id: "a".into(),
            draft_id: None,
            foreign: false,
            off_path: false,
            is_hook_message: false,
            entry: EntryLine::from_json(line.to_string().as_bytes()),
        })
    }

    #[test]
    fn messages_of_extensions_start_and_end() {
        let events = translate(&message("bashExecution"));
        let names: Vec<_> = events.iter().filter_map(|event| event["type"].as_str()).collect();
        assert_eq!(names, ["message_start", "message_end"]);
        assert_eq!(events[1]["message"]["role"], "bashExecution");
        for role in ["system", "user", "assistant", "toolResult"] {
            assert!(translate(&message(role)).is_empty(), "{role}");
        }
    }
}
