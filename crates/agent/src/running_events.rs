//! What runs now, for clients that attach in the middle: tools and their output so far, a command of the user, a summary that is
//! being written.

use std::collections::{BTreeMap, VecDeque};

use osier_protocol::ClientEvent;

/// The most bytes that are kept of one output. Older output is dropped.
const MAX_KEPT: usize = 32 * 1024;

/// The events that bring a new client to where the others are. An event that ends something removes those that it started.
#[derive(Debug, Default)]
pub(crate) struct RunningEvents {
    tools: VecDeque<RunningTool>,
    command: Option<OutputTail>,
    /// Its start, and the text so far.
    summary: Option<(ClientEvent, String)>,
    /// The pause before something is tried again.
    retry: Option<ClientEvent>,
    /// The starts of what hooks do, by their ids.
    work: BTreeMap<u64, ClientEvent>,
    last_work: u64,
}

#[derive(Debug)]
struct RunningTool {
    call: String,
    started: ClientEvent,
    output: OutputTail,
}

impl RunningEvents {
    /// Notes an event that is sent to the clients.
    pub(crate) fn follow(&mut self, event: &ClientEvent) {
        match event {
            ClientEvent::ToolStarted { call, .. } => {
                let (call, started) = (call.clone(), event.clone());
                self.tools.push_back(RunningTool { call, started, output: OutputTail::default() });
            }
            ClientEvent::ToolOutput { call, text, skipped } => {
                if let Some(tool) = self.tools.iter_mut().find(|tool| tool.call == *call) {
                    tool.output.push(text, *skipped);
                }
            }
            ClientEvent::ToolEnded { call, .. } => self.tools.retain(|tool| tool.call != *call),
            ClientEvent::TurnEnded { .. } => self.tools.clear(),
            ClientEvent::Retrying { .. } => self.retry = Some(event.clone()),
            ClientEvent::BashOutput { text, skipped } => {
                self.command.get_or_insert_default().push(text, *skipped);
            }
            ClientEvent::SummaryStarted { .. } => self.summary = Some((event.clone(), String::new())),
            ClientEvent::SummaryText { text } => {
                if let Some((_, written)) = &mut self.summary {
                    written.push_str(text);
                }
            }
            ClientEvent::ExtensionWorkStarted { id, .. } => drop(self.work.insert(*id, event.clone())),
            ClientEvent::ExtensionWorkEnded { id } => drop(self.work.remove(id)),
            _ => {}
        }
    }

    pub(crate) fn new_work_id(&mut self) -> u64 {
        self.last_work += 1;
        self.last_work
    }

    /// A command of the user has ended. No event says so: its entry does.
    pub(crate) fn end_command(&mut self) {
        self.command = None;
    }

    /// A summary is written, or was given up.
    pub(crate) fn end_summary(&mut self) {
        self.summary = None;
    }

    /// It is tried again, or was given up.
    pub(crate) fn end_retry(&mut self) {
        self.retry = None;
    }

    pub(crate) fn still_runs(&self, event: &ClientEvent) -> bool {
        match event {
            ClientEvent::BashOutput { .. } => self.command.is_some(),
            ClientEvent::SummaryStarted { .. } | ClientEvent::SummaryText { .. } => self.summary.is_some(),
            _ => true,
        }
    }

    /// The same as a client that was there from the start has seen, in few events.
    pub(crate) fn events(&self) -> Vec<ClientEvent> {
        let mut events = Vec::new();
        for RunningTool { call, started, output: OutputTail { text, skipped } } in &self.tools {
            events.push(started.clone());
            let output =
                ClientEvent::ToolOutput { call: call.clone(), text: text.clone(), skipped: *skipped };
            events.extend((!text.is_empty()).then_some(output));
        }
        if let Some(OutputTail { text, skipped }) = &self.command {
            events.push(ClientEvent::BashOutput { text: text.clone(), skipped: *skipped });
        }
        if let Some((started, text)) = &self.summary {
            events.extend([started.clone(), ClientEvent::SummaryText { text: text.clone() }]);
        }
        events.extend(self.retry.clone());
        events.extend(self.work.values().cloned());
        events
    }
}

/// The end of an output.
#[derive(Debug, Default)]
struct OutputTail {
    text: String,
    /// The bytes that are missing before the text.
    skipped: usize,
}

impl OutputTail {
    fn push(&mut self, text: &str, skipped: usize) {
        self.text.push_str(text);
        self.skipped += skipped;
        let excess = self.text.ceil_char_boundary(self.text.len().saturating_sub(MAX_KEPT));
        self.text.drain(..excess);
        self.skipped += excess;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn events(sent: &[serde_json::Value]) -> serde_json::Value {
        let mut running = RunningEvents::default();
        for event in sent {
            running.follow(&serde_json::from_value(event.clone()).unwrap());
        }
        serde_json::to_value(running.events()).unwrap()
    }

    fn started(call: &str) -> serde_json::Value {
        json!({ "type": "tool_started", "call": call, "name": "bash", "arguments": {} })
    }

    fn output(call: &str, text: &str, skipped: usize) -> serde_json::Value {
        json!({ "type": "tool_output", "call": call, "text": text, "skipped": skipped })
    }

    #[test]
    fn tools_that_run_are_there_with_their_output() {
        let ended = json!({ "type": "tool_ended", "call": "a", "isError": false });
        let sent = [
            started("a"),
            output("a", "x", 0),
            started("b"),
            output("b", "one\n", 2),
            output("b", "two\n", 0),
        ];
        assert_eq!(
            events(&[&sent[..], &[ended]].concat()),
            json!([started("b"), output("b", "one\ntwo\n", 2)])
        );
    }

    #[test]
    fn a_command_that_ended_no_longer_runs() {
        let output =
            serde_json::from_value(json!({ "type": "bash_output", "text": "x", "skipped": 0 })).unwrap();
        let mut running = RunningEvents::default();
        running.follow(&output);
        assert!(running.still_runs(&output));
        running.end_command();
        assert!(!running.still_runs(&output));
    }

    #[test]
    fn a_turn_that_ends_ends_its_tools() {
        let ended = json!({ "type": "turn_ended", "finished": null, "error": "failed" });
        assert_eq!(events(&[started("a"), ended]), json!([]));
    }

    #[test]
    fn a_pause_before_another_attempt_is_there_until_it_ends() {
        let retrying: ClientEvent = serde_json::from_value(
            json!({ "type": "retrying", "attempt": 1, "seconds": 2.0, "kind": "overloaded", "message": "busy" }),
        )
        .unwrap();
        let mut running = RunningEvents::default();
        running.follow(&retrying);
        assert_eq!(running.events(), [retrying]);
        running.end_retry();
        assert_eq!(running.events(), []);
    }

    #[test]
    fn work_of_extensions_is_there_until_it_ends() {
        let started = |id: u64| json!({ "type": "extension_work_started", "id": id, "command": "deploy" });
        let ended = json!({ "type": "extension_work_ended", "id": 1 });
        assert_eq!(events(&[started(1), started(2), ended]), json!([started(2)]));
    }

    #[test]
    fn only_the_end_of_a_long_output_is_kept() {
        let kept = events(&[started("a"), output("a", &"é".repeat(MAX_KEPT), 0), output("a", "end", 0)]);
        let text = kept[1]["text"].as_str().unwrap();
        assert!(text.len() <= MAX_KEPT && text.ends_with("éend"));
        assert_eq!(text.len() + kept[1]["skipped"].as_u64().unwrap() as usize, 2 * MAX_KEPT + 3);
    }

    #[test]
    fn a_summary_and_a_command_are_there_until_they_end() {
        let mut running = RunningEvents::default();
        running.follow(&ClientEvent::BashOutput { text: "a".into(), skipped: 0 });
        let started: ClientEvent =
            serde_json::from_value(json!({ "type": "summary_started", "of": "branch" })).unwrap();
        running.follow(&started);
        running.follow(&ClientEvent::SummaryText { text: "So ".into() });
        running.follow(&ClientEvent::SummaryText { text: "far".into() });
        let text = ClientEvent::SummaryText { text: "So far".into() };
        assert_eq!(
            running.events(),
            [ClientEvent::BashOutput { text: "a".into(), skipped: 0 }, started, text]
        );
        running.end_command();
        running.end_summary();
        assert_eq!(running.events(), []);
    }
}
