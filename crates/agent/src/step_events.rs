//! The events of a turn and its steps, for hooks. A step is one model call with the results of its tool calls.

use osier_protocol::{ClientEvent, TurnOutcome};
use osier_session::Commit;
use osier_store::LogVersion;
use osier_tree::{EntryId, Seq};
use serde_json::Value;

use crate::hooks::{HookEvent, StepEnd, TurnSettle};
use crate::turn::{Turn, error_chain};

/// The kinds of entries that hooks may propose after a step.
const PROPOSABLE: &[&str] = &["custom", "custom_message", "context_edit", "compaction"];

/// The steps of a turn so far.
#[derive(Debug)]
pub(crate) struct TurnSteps {
    /// The log when the turn began.
    start_version: LogVersion,
    count: u32,
    /// The step whose end was not announced to the hooks yet.
    open: Option<OpenStep>,
    /// How many steps there were when the hooks were asked whether the turn may end.
    settled: Option<u32>,
}

#[derive(Debug)]
struct OpenStep {
    index: u32,
    start_version: LogVersion,
}

impl TurnSteps {
    pub(crate) fn new(start_version: LogVersion) -> TurnSteps {
        TurnSteps { start_version, count: 0, open: None, settled: None }
    }
}

impl Turn {
    pub(crate) async fn observe_turn_end(&mut self, outcome: Option<TurnOutcome>) {
        self.end_step().await;
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
        self.end_step().await;
        let index = self.steps.count;
        self.steps.count += 1;
        self.steps.open = Some(OpenStep { index, start_version: self.agent.session.version() });
        let timestamp = self.agent.timestamp();
        self.agent.observe(|| HookEvent::StepStarted { turn_index: index, timestamp }).await;
    }

    /// Ends the open step and stores what hooks propose. Returns whether the model must be called once more. A step without a
    /// stored reply was canceled, and has no end.
    pub(crate) async fn end_step(&mut self) -> bool {
        let Some(OpenStep { index, start_version }) = self.steps.open.take() else { return false };
        let entries = self.entries_since(start_version);
        let Some(reply) = self.reply_id.clone().filter(|reply| entries.contains(reply)) else { return false };
        let results = self.results_of(&entries);
        let step = StepEnd {
            turn_index: index,
            message_entry_id: reply,
            tool_result_entry_ids: results,
            entries: Vec::new(),
            go_on: false,
        };
        let (turn_index, message_entry_id) = (index, step.message_entry_id.clone());
        let tool_result_entry_ids = step.tool_result_entry_ids.clone();
        self.agent
            .observe(|| HookEvent::StepEnded { turn_index, message_entry_id, tool_result_entry_ids })
            .await;
        let agent = self.agent.clone();
        let Some(hooks) = agent.hooks() else { return false };
        let leaf = agent.leaf_id();
        let ctx = agent.hook_context(leaf.as_ref(), &self.cancel);
        let decided = agent.wait_for_gate(hooks.after_step(step, &ctx), &self.cancel).await;
        let Some(StepEnd { entries, go_on, .. }) = decided else { return false };
        self.store_decided(entries, go_on).await
    }

    /// Asks the hooks before the turn ends, once after each step. Returns whether the model must be called once more.
    pub(crate) async fn before_settle(&mut self, outcome: TurnOutcome) -> bool {
        let (agent, name) = (self.agent.clone(), "agent_before_settle");
        let Some(hooks) = agent.hooks().filter(|hooks| hooks.wants(&agent.session, name)) else {
            return false;
        };
        if self.steps.settled.replace(self.steps.count) == Some(self.steps.count) {
            return false;
        }
        let leaf = agent.leaf_id();
        let ctx = agent.hook_context(leaf.as_ref(), &self.cancel);
        let settle = TurnSettle { outcome, entries: Vec::new(), go_on: false };
        let decided = agent.wait_for_gate(hooks.before_settle(settle, &ctx), &self.cancel).await;
        let Some(TurnSettle { entries, go_on, .. }) = decided else { return false };
        self.store_decided(entries, go_on).await
    }

    /// Stores what hooks decided. Returns whether the model must be called once more.
    async fn store_decided(&self, entries: Vec<Value>, go_on: bool) -> bool {
        match self.store_proposed(entries).await {
            Ok(()) => go_on && !self.cancel.is_cancelled(),
            Err(reason) => {
                let text = format!("what hooks proposed after a step is not stored: {reason}");
                self.agent.live.send(ClientEvent::Notice { text });
                false
            }
        }
    }

    /// Stores entries that hooks proposed: all of them, or none if one is not valid here.
    async fn store_proposed(&self, entries: Vec<Value>) -> Result<(), String> {
        let mut commits = Vec::new();
        for entry in entries {
            self.check_proposed(&entry)?;
            let commit = Commit::from_entry(entry.to_string().as_bytes());
            commits.push(commit.map_err(|error| error.to_string())?);
        }
        for commit in commits {
            self.agent.store_commit(commit).await.map_err(|error| error_chain(&error))?;
        }
        Ok(())
    }

    fn check_proposed(&self, entry: &Value) -> Result<(), String> {
        let kind = entry["type"].as_str().unwrap_or_default();
        if !PROPOSABLE.contains(&kind) {
            return Err(format!("an entry of type {kind} cannot be proposed"));
        }
        let (state, at) = self.agent.position();
        let line = entry.to_string().into_bytes();
        let object = osier_tree::scan::RawJson::parse(&line).map_err(|_| "it is not JSON".to_owned())?;
        state.tree.plan_entry(Some(at), object).map_err(|error| error.to_string())?;
        for field in ["firstKeptEntryId", "targetId"] {
            let Some(id) = entry.get(field).and_then(Value::as_str) else { continue };
            let seq = state.tree.find(id);
            if !seq.is_some_and(|seq| state.tree.heads().ancestors(at).any(|on_path| on_path == seq)) {
                return Err(format!("{field} {id} is not on the path"));
            }
        }
        Ok(())
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
