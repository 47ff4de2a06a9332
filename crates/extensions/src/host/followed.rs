//! Events that extensions only observe: tool calls, names and messages outside turns, as the clients of the session see them. The session is
//! followed only if an extension has a handler for one of these events.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt;
use osier_agent::Worker;
use osier_protocol::{Attached, ClientEvent, TurnOutcome};
use serde_json::{Value, json};

use super::session::SessionExtensions;

/// The events that come from here.
const EVENTS: &[&str] = &[
    "message_start",
    "message_end",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
    "agent_settled",
    "session_info_changed",
];

impl SessionExtensions {
    /// Whether an extension has a handler for one of these events.
    pub(super) fn wants_to_follow(&self) -> bool {
        EVENTS.iter().any(|name| !self.handlers(name).is_empty())
    }

    /// Follows the session until its agent ends.
    pub(super) async fn follow(self: Arc<SessionExtensions>, worker: Worker) {
        let Ok(Attached { mut events, .. }) = worker.attach_observer().await else { return };
        // The agent must be able to end.
        drop(worker);
        let mut translator = EventTranslator::default();
        while let Some(event) = events.next().await {
            for event in translator.translate(&event) {
                let name = event["type"].as_str().unwrap_or_default().to_owned();
                self.observe(&name, || event).await;
            }
        }
    }
}

/// Turns the events of clients into those of pi.
#[derive(Debug, Default)]
struct EventTranslator {
    /// The names and arguments of running calls, by their ids.
    calls: HashMap<String, (String, Value)>,
}

impl EventTranslator {
    fn translate(&mut self, event: &ClientEvent) -> Vec<Value> {
        match event {
            ClientEvent::Entry(entry) => {
                let Ok(line) = serde_json::from_slice::<Value>(entry.entry.bytes()) else {
                    return Vec::new();
                };
                self.translate_entry(&line)
            }
            ClientEvent::ToolStarted { call, name, arguments } => {
                self.calls.insert(call.clone(), (name.clone(), arguments.clone()));
                vec![self.tool_event("tool_execution_start", call)]
            }
            ClientEvent::ToolOutput { call, text, .. } => {
                let mut event = self.tool_event("tool_execution_update", call);
                event["partialResult"] = json!({ "content": [{ "type": "text", "text": text }] });
                vec![event]
            }
            ClientEvent::TurnEnded { finished, .. } => {
                let aborted = *finished == Some(TurnOutcome::Cancelled);
                vec![json!({ "type": "agent_settled", "aborted": aborted })]
            }
            _ => Vec::new(),
        }
    }

    fn translate_entry(&mut self, entry: &Value) -> Vec<Value> {
        let message = match entry["type"].as_str() {
            Some("message") => entry["message"].clone(),
            Some("custom_message") => custom_message(entry),
            Some("session_info") => {
                return vec![json!({ "type": "session_info_changed", "name": entry["name"] })];
            }
            _ => return Vec::new(),
        };
        let mut events = Vec::new();
        if let Some(call) = message["toolCallId"].as_str().filter(|call| self.calls.contains_key(*call)) {
            let mut event = self.tool_event("tool_execution_end", call);
            event["result"] = json!({ "content": message["content"], "details": message["details"] });
            event["isError"] = message["isError"].clone();
            self.calls.remove(call);
            events.push(event);
        }
        // Hooks are asked about the messages of a turn, so their events come from there.
        if !matches!(message["role"].as_str(), Some("system" | "user" | "assistant" | "toolResult")) {
            events.push(json!({ "type": "message_start", "message": message }));
            events.push(json!({ "type": "message_end", "message": message }));
        }
        events
    }

    fn tool_event(&self, name: &str, call: &str) -> Value {
        let (tool, arguments) = self.calls.get(call).cloned().unwrap_or_default();
        json!({ "type": name, "toolCallId": call, "toolName": tool, "args": arguments })
    }
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

    fn entry(line: &Value, draft: Option<&str>) -> ClientEvent {
        ClientEvent::Entry(EntryEvent {
            seq: 0,
            generation: None,
            id: "a".into(),
            draft_id: draft.map(Into::into),
            foreign: false,
            off_path: false,
            is_hook_message: false,
            entry: EntryLine::from_json(line.to_string().as_bytes()),
        })
    }

    fn names(events: &[Value]) -> Vec<&str> {
        events.iter().filter_map(|event| event["type"].as_str()).collect()
    }

    #[test]
    fn messages_of_extensions_start_and_end() {
        let mut translator = EventTranslator::default();
        let line =
            |role: &str| json!({ "type": "message", "id": "a", "message": { "role": role, "content": [] } });
        let events = translator.translate(&entry(&line("bashExecution"), None));
        assert_eq!(names(&events), ["message_start", "message_end"]);
        assert_eq!(events[1]["message"]["role"], "bashExecution");
        for role in ["system", "user", "assistant"] {
            assert!(translator.translate(&entry(&line(role), None)).is_empty(), "{role}");
        }
    }

    #[test]
    fn a_call_ends_with_its_result() {
        let mut translator = EventTranslator::default();
        let (call, name) = ("c1".to_owned(), "bash".to_owned());
        let arguments = json!({ "command": "ls" });
        let events = translator.translate(&ClientEvent::ToolStarted { call, name, arguments });
        assert_eq!((&events[0]["toolName"], &events[0]["args"]["command"]), (&json!("bash"), &json!("ls")));
        let message = json!({ "role": "toolResult", "toolCallId": "c1", "content": [], "isError": true });
        let events =
            translator.translate(&entry(&json!({ "type": "message", "id": "b", "message": message }), None));
        assert_eq!(names(&events), ["tool_execution_end"]);
        assert_eq!(events[0]["isError"], true);
    }
}
