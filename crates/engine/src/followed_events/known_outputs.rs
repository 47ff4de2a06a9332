//! How much a client has received of what runs: the outputs of tools and of a command of the user, a summary, and work of extensions.

use std::collections::{BTreeMap, BTreeSet};

use osier_protocol::ClientEvent;
use osier_tree::projection::entry_view::{EntryContent, MessageView};

/// Sizes in bytes, with what was skipped.
#[derive(Default)]
pub(super) struct KnownOutputs {
    tools: BTreeMap<String, usize>,
    command: usize,
    summary: Option<usize>,
    /// The work of extensions that has started, by its id.
    work: BTreeSet<u64>,
}

impl KnownOutputs {
    pub(super) fn follow(&mut self, event: &ClientEvent) {
        match event {
            ClientEvent::ToolStarted { call, .. } => drop(self.tools.insert(call.clone(), 0)),
            ClientEvent::ToolOutput { call, text, skipped } => {
                *self.tools.entry(call.clone()).or_default() += text.len() + skipped;
            }
            ClientEvent::ToolEnded { call, .. } => drop(self.tools.remove(call)),
            ClientEvent::TurnEnded { .. } => self.tools.clear(),
            ClientEvent::BashOutput { text, skipped } => self.command += text.len() + skipped,
            ClientEvent::SummaryStarted { .. } => self.summary = Some(0),
            ClientEvent::SummaryText { text } => *self.summary.get_or_insert_default() += text.len(),
            ClientEvent::ExtensionWorkStarted { id, .. } => self.work.extend([*id]),
            ClientEvent::ExtensionWorkEnded { id } => self.work.retain(|known| known != id),
            ClientEvent::Entry(entry) => match entry.entry.view().map(|view| &view.content) {
                Some(EntryContent::Message(MessageView::UserCommand(_))) => self.command = 0,
                Some(EntryContent::Compaction(_) | EntryContent::BranchSummary(_)) => self.summary = None,
                _ => {}
            },
            _ => {}
        }
    }

    /// The part of `running` that the client does not know, after the end of work that is not part of it.
    pub(super) fn missed_events(&self, running: Vec<ClientEvent>) -> Vec<ClientEvent> {
        let running_work: BTreeSet<u64> = running.iter().filter_map(started_work).collect();
        let ended = self.work.difference(&running_work);
        let mut events: Vec<ClientEvent> =
            ended.map(|id| ClientEvent::ExtensionWorkEnded { id: *id }).collect();
        events.extend(running.into_iter().filter_map(|event| self.missed_part(event)));
        events
    }

    fn missed_part(&self, event: ClientEvent) -> Option<ClientEvent> {
        match event {
            ClientEvent::ToolStarted { ref call, .. } if self.tools.contains_key(call) => None,
            ClientEvent::ToolOutput { call, text, skipped } => {
                let known = self.tools.get(&call).copied().unwrap_or_default();
                let (text, skipped) = after(known, text, skipped)?;
                Some(ClientEvent::ToolOutput { call, text, skipped })
            }
            ClientEvent::BashOutput { text, skipped } => {
                let (text, skipped) = after(self.command, text, skipped)?;
                Some(ClientEvent::BashOutput { text, skipped })
            }
            ClientEvent::SummaryStarted { .. } if self.summary.is_some() => None,
            ClientEvent::SummaryText { text } => {
                let (text, _) = after(self.summary.unwrap_or_default(), text, 0)?;
                Some(ClientEvent::SummaryText { text })
            }
            ClientEvent::ExtensionWorkStarted { id, .. } if self.work.contains(&id) => None,
            event => Some(event),
        }
    }
}

fn started_work(event: &ClientEvent) -> Option<u64> {
    match event {
        ClientEvent::ExtensionWorkStarted { id, .. } => Some(*id),
        _ => None,
    }
}

/// The text after the first `known` bytes of an output, whose first `skipped` bytes are missing. `None` if nothing follows.
fn after(known: usize, mut text: String, skipped: usize) -> Option<(String, usize)> {
    let start = text.floor_char_boundary(known.saturating_sub(skipped));
    text.drain(..start);
    (!text.is_empty()).then(|| (text, skipped.saturating_sub(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(text: &str, skipped: usize) -> ClientEvent {
        ClientEvent::ToolOutput { call: "a".to_owned(), text: text.to_owned(), skipped }
    }

    fn missed(known: &[ClientEvent], running: ClientEvent) -> Vec<ClientEvent> {
        let mut outputs = KnownOutputs::default();
        known.iter().for_each(|event| outputs.follow(event));
        outputs.missed_events(vec![running])
    }

    #[test]
    fn an_output_goes_on_where_it_was_lost() {
        assert_eq!(missed(&[], output("one two", 0)), [output("one two", 0)]);
        assert_eq!(missed(&[output("one", 0)], output("one two", 0)), [output(" two", 0)]);
        assert_eq!(missed(&[output("one", 0)], output("one", 0)), []);
        assert_eq!(
            missed(&[output("e", 2)], output("one two", 0)),
            [output(" two", 0)],
            "skipped by the client"
        );
    }

    #[test]
    fn what_is_no_longer_kept_of_an_output_is_skipped() {
        assert_eq!(missed(&[output("on", 0)], output(" two", 3)), [output(" two", 1)]);
        assert_eq!(missed(&[output("one t", 0)], output(" two", 3)), [output("wo", 0)]);
    }

    #[test]
    fn work_of_extensions_starts_once_and_its_end_is_not_missed() {
        let started = |id: u64| ClientEvent::ExtensionWorkStarted { id, command: None };
        assert_eq!(missed(&[started(1)], started(1)), []);
        let ended = ClientEvent::ExtensionWorkEnded { id: 1 };
        assert_eq!(missed(&[started(1)], started(2)), [ended.clone(), started(2)]);
        assert_eq!(missed(&[started(1), ended], started(2)), [started(2)]);
    }

    #[test]
    fn a_summary_starts_once() {
        let started: ClientEvent =
            serde_json::from_value(serde_json::json!({ "type": "summary_started", "of": "graft" })).unwrap();
        let text = |text: &str| ClientEvent::SummaryText { text: text.to_owned() };
        assert_eq!(missed(&[], started.clone()), std::slice::from_ref(&started));
        assert_eq!(missed(&[started.clone(), text("So ")], started.clone()), []);
        assert_eq!(missed(&[started, text("So ")], text("So far")), [text("far")]);
    }
}
