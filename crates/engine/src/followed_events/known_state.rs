//! What a client knows from the events so far, and the events between that and the state of the session.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use osier_protocol::client::AttachedState;
use osier_protocol::{
    ClientEvent, EndedTurn, EntryId, EntryLine, OpenQuestion, OpenReply, Prompt, PromptQueue, TurnOutcome,
};
use osier_tree::projection::entry_view::{EntryContent, MessageView};

use super::known_outputs::KnownOutputs;

/// What the client knows.
#[derive(Default)]
pub(super) struct KnownState {
    pub(super) running: bool,
    questions: BTreeSet<u64>,
    /// The open drafts, with the number of deltas.
    drafts: BTreeMap<EntryId, usize>,
    outputs: KnownOutputs,
    steering: Vec<String>,
    follow_up: Vec<String>,
}

/// The state of the session when the client reattached.
pub(super) struct MissedState {
    /// The missed entries end here.
    pub(super) until: usize,
    /// A turn that the client knows of, or has missed, has ended.
    ended: bool,
    last_turn: Option<EndedTurn>,
    pub(super) last_reply: LastReply,
    running: Vec<ClientEvent>,
    questions: Vec<OpenQuestion>,
    drafts: Vec<OpenReply>,
    queue: PromptQueue,
}

impl MissedState {
    pub(super) fn new(state: AttachedState, ended: bool) -> MissedState {
        MissedState {
            until: state.position.entries,
            ended,
            last_turn: state.last_turn,
            last_reply: LastReply::default(),
            running: state.running,
            questions: state.open_questions,
            drafts: state.drafts,
            queue: state.queue,
        }
    }

    /// The end of a turn. If its process died, only the reply tells how it ended.
    fn turn_ended(&mut self) -> Option<ClientEvent> {
        if !self.ended {
            return None;
        }
        let LastReply { outcome, error } = std::mem::take(&mut self.last_reply);
        Some(match self.last_turn.take() {
            Some(EndedTurn { finished, error, .. }) => ClientEvent::TurnEnded { finished, error },
            None => ClientEvent::TurnEnded { finished: outcome.or(Some(TurnOutcome::Done)), error },
        })
    }
}

/// How the last reply among the missed entries ended.
#[derive(Default)]
pub(super) struct LastReply {
    outcome: Option<TurnOutcome>,
    error: Option<String>,
}

impl KnownState {
    pub(super) fn new(state: &AttachedState) -> KnownState {
        let mut outputs = KnownOutputs::default();
        state.running.iter().for_each(|event| outputs.follow(event));
        KnownState {
            running: state.turn_running,
            questions: state.open_questions.iter().map(|question| question.id).collect(),
            drafts: state.drafts.iter().map(|draft| (draft.id.clone(), draft.deltas.len())).collect(),
            outputs,
            steering: texts(&state.queue.steering),
            follow_up: texts(&state.queue.follow_up),
        }
    }

    pub(super) fn follow(&mut self, event: &ClientEvent) {
        self.outputs.follow(event);
        match event {
            ClientEvent::TurnStarted => self.running = true,
            ClientEvent::TurnEnded { .. } => self.running = false,
            ClientEvent::Asked { id, .. } => drop(self.questions.insert(*id)),
            ClientEvent::Answered { id, .. } => drop(self.questions.remove(id)),
            ClientEvent::DraftStarted { id, .. } => drop(self.drafts.insert(id.clone(), 0)),
            ClientEvent::DraftDelta { id, index, .. } => drop(self.drafts.insert(id.clone(), index + 1)),
            ClientEvent::DraftDropped { id } => drop(self.drafts.remove(id)),
            ClientEvent::Entry(entry) => {
                self.drafts.remove(entry.draft_id.as_ref().unwrap_or(&entry.id));
            }
            ClientEvent::Queue { steering, follow_up } => {
                (self.steering, self.follow_up) = (steering.clone(), follow_up.clone());
            }
            _ => {}
        }
    }

    /// The events between what is known and the state of the session.
    pub(super) fn missed_events(&self, mut missed: MissedState) -> VecDeque<ClientEvent> {
        let mut events = VecDeque::new();
        let is_open = |id: &EntryId| missed.drafts.iter().any(|draft| draft.id == *id);
        let dropped = self.drafts.keys().filter(|id| !is_open(id));
        events.extend(dropped.map(|id| ClientEvent::DraftDropped { id: id.clone() }));
        // The answers themselves were missed.
        let closed = self.questions.iter().filter(|id| missed.questions.iter().all(|open| open.id != **id));
        events.extend(closed.map(|id| ClientEvent::Answered { id: *id, allowed: false }));
        events.extend(missed.turn_ended());
        for draft in missed.drafts {
            events.extend(self.missed_deltas(draft));
        }
        events.extend(self.outputs.missed_events(missed.running));
        for OpenQuestion { id, question, agent } in missed.questions {
            if !self.questions.contains(&id) {
                events.push_back(ClientEvent::Asked { id, question: Box::new(question), agent });
            }
        }
        let (steering, follow_up) = (texts(&missed.queue.steering), texts(&missed.queue.follow_up));
        if (&steering, &follow_up) != (&self.steering, &self.follow_up) {
            events.push_back(ClientEvent::Queue { steering, follow_up });
        }
        events
    }

    fn missed_deltas(&self, draft: OpenReply) -> Vec<ClientEvent> {
        let OpenReply { id, off_path, deltas } = draft;
        let known = self.drafts.get(&id).copied();
        let started = known.is_none().then(|| ClientEvent::DraftStarted { id: id.clone(), off_path });
        let new = deltas.into_iter().enumerate().skip(known.unwrap_or_default());
        let new = new.map(|(index, delta)| ClientEvent::DraftDelta {
            id: id.clone(),
            index,
            delta: Arc::new(delta),
        });
        started.into_iter().chain(new).collect()
    }
}

fn texts(prompts: &[Prompt]) -> Vec<String> {
    prompts.iter().map(|prompt| prompt.text.clone()).collect()
}

impl LastReply {
    pub(super) fn read(&mut self, line: &EntryLine) {
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
