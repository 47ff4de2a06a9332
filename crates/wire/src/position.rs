//! The position of a stream of events in the log of its session.

use osier_protocol::client::AttachedState;
use osier_protocol::{ClientEvent, LogPosition};

/// How far a stream has reported the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamPosition(LogPosition);

impl StreamPosition {
    /// The position before the first event. After a reset, all entries follow.
    pub(crate) fn new(after: Option<LogPosition>, state: &AttachedState) -> StreamPosition {
        let entries = match after {
            Some(_) if state.reset => 0,
            Some(after) => after.entries,
            None => state.position.entries,
        };
        StreamPosition(LogPosition { entries, ..state.position })
    }

    pub(crate) fn get(self) -> LogPosition {
        self.0
    }

    /// Follows an event. Returns whether no entry is missing before it.
    pub(crate) fn advance(&mut self, event: &ClientEvent) -> bool {
        match event {
            ClientEvent::Entry(entry) => {
                let is_next = entry.seq == self.0.entries;
                self.0.entries = entry.seq.saturating_add(1);
                self.0.generation = entry.generation.unwrap_or(self.0.generation);
                return is_next;
            }
            ClientEvent::Reset(position) => self.0 = *position,
            _ => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use osier_protocol::{EntryEvent, EntryLine};

    use super::*;

    fn entry(seq: usize) -> ClientEvent {
        let entry = EntryLine::from(&b"{}"[..]);
        ClientEvent::Entry(EntryEvent {
            seq,
            generation: None,
            id: "1".into(),
            draft_id: None,
            foreign: false,
            off_path: false,
            is_hook_message: false,
            entry,
        })
    }

    #[test]
    fn a_gap_is_noticed_and_a_reset_is_not_one() {
        let at = |entries| LogPosition { generation: 7, entries };
        let state = AttachedState { position: at(9), ..AttachedState::default() };
        assert_eq!(StreamPosition::new(None, &state).get(), at(9));
        let mut position = StreamPosition::new(Some(at(4)), &state);
        assert!(position.advance(&entry(4)) && position.advance(&ClientEvent::TurnStarted));
        assert!(!position.advance(&entry(6)));
        assert!(position.advance(&ClientEvent::Reset(LogPosition { generation: 8, entries: 2 })));
        assert!(position.advance(&entry(2)));
        assert_eq!(position.get(), LogPosition { generation: 8, entries: 3 });
        let reset = AttachedState { reset: true, ..state };
        assert_eq!(StreamPosition::new(Some(at(4)), &reset).get(), at(0));
    }
}
