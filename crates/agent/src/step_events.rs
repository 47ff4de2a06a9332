//! The events of a turn and its steps, for hooks. A step is one model call with the results of its tool calls.

use osier_protocol::TurnOutcome;
use osier_store::LogVersion;
use osier_tree::{EntryId, Seq};

use crate::hooks::HookEvent;
use crate::turn::Turn;

/// The steps of a turn so far.
#[derive(Debug)]
pub(crate) struct TurnSteps {
    /// The log when the turn began.
    start_version: LogVersion,
    count: u32,
    /// The step whose end was not announced to the hooks yet.
    open: Option<OpenStep>,
}

#[derive(Debug)]
struct OpenStep {
    index: u32,
    start_version: LogVersion,
}

impl TurnSteps {
    pub(crate) fn new(start_version: LogVersion) -> TurnSteps {
        TurnSteps { start_version, count: 0, open: None }
    }
}

impl Turn {
    pub(crate) async fn observe_turn_end(&mut self, outcome: Option<TurnOutcome>) {
        self.observe_step_end().await;
        let start_version = self.steps.start_version;
        self.agent
            .observe(|| HookEvent::TurnEnded { outcome, entries: self.entries_since(start_version) })
            .await;
    }

    /// Ends the step before it, if there is one.
    pub(crate) async fn observe_step_start(&mut self) {
        if self.agent.hooks().is_none() {
            return;
        }
        self.observe_step_end().await;
        let index = self.steps.count;
        self.steps.count += 1;
        self.steps.open = Some(OpenStep { index, start_version: self.agent.session.version() });
        let timestamp = self.agent.timestamp();
        self.agent.observe(|| HookEvent::StepStarted { turn_index: index, timestamp }).await;
    }

    /// A step without a stored reply was canceled, and has no end.
    async fn observe_step_end(&mut self) {
        let Some(OpenStep { index, start_version }) = self.steps.open.take() else { return };
        let entries = self.entries_since(start_version);
        let Some(reply) = self.reply_id.clone().filter(|reply| entries.contains(reply)) else { return };
        let results = self.results_of(&entries);
        self.agent
            .observe(|| HookEvent::StepEnded {
                turn_index: index,
                message_entry_id: reply,
                tool_result_entry_ids: results,
            })
            .await;
    }

    /// The entries of the path that were stored since then, oldest first. Empty if the log was replaced.
    fn entries_since(&self, start_version: LogVersion) -> Vec<EntryId> {
        let (state, at) = self.agent.position();
        if state.version.generation != start_version.generation {
            return Vec::new();
        }
        let is_new = |seq: &Seq| seq.index() >= start_version.entries;
        let path = state.tree.heads().ancestors(at).take_while(is_new);
        let mut entries: Vec<EntryId> = path.map(|seq| state.tree.id(seq).to_entry_id()).collect();
        entries.reverse();
        entries
    }

    fn results_of(&self, entries: &[EntryId]) -> Vec<EntryId> {
        let state = self.agent.session.state();
        let is_result = |id: &&EntryId| {
            let seq = state.tree.find(id.as_str());
            seq.is_some_and(|seq| state.tree.head(seq).role == osier_tree::MessageRole::ToolResult)
        };
        entries.iter().filter(is_result).cloned().collect()
    }
}
