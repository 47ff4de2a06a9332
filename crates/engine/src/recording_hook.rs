//! A hook for tests: it records what it is asked and what it observes, and refuses or alters what the test chooses.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use osier_agent::hooks::{
    CompactionDecision, CompactionPreparation, ExtensionCompaction, ExtensionSummary, ForkPreparation, Hook,
    HookContext, HookEvent, HookResult, Hooks, MoveDecision, MovePreparation, Permission, PromptDecision,
    PromptPreparation, RegisteredHook, RequestPurpose, StoredPrompt, SwitchPreparation, ToolCallDecision,
    ToolResultChange, TurnChange,
};
use osier_model::Request;
use osier_protocol::CustomMessage;
use osier_session::Session;
use osier_tools::{ResultBlock, ToolCall, ToolOutcome};
use serde_json::{Value, json};

/// The text of everything that the hook alters: a label, a summary, a prompt, the output of a command.
pub const ALTERED: &str = "altered";

/// See the module documentation. Events have the names of [`HookEvent::name`] and of the gates in notices.
#[derive(Debug, Default)]
pub struct RecordingHook {
    calls: Mutex<Vec<&'static str>>,
    refused: Mutex<Vec<&'static str>>,
    altered: Mutex<Vec<&'static str>>,
    hanging: Mutex<Vec<&'static str>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RecordingHook {
    /// The only registered hook.
    pub fn registered(self: &Arc<RecordingHook>) -> Arc<Hooks> {
        Arc::new(Hooks::new(vec![RegisteredHook::new("recording", self.clone())]))
    }

    /// Refuses these events from now on, and no others.
    pub fn refuse(&self, events: &[&'static str]) {
        *lock(&self.refused) = events.to_vec();
    }

    /// Alters these events from now on, and no others.
    pub fn alter(&self, events: &[&'static str]) {
        *lock(&self.altered) = events.to_vec();
    }

    /// Never returns from these observed events from now on.
    pub fn hang(&self, events: &[&'static str]) {
        *lock(&self.hanging) = events.to_vec();
    }

    /// What happened since the last call.
    pub fn take_calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut *lock(&self.calls))
    }

    fn record(&self, event: &'static str) {
        lock(&self.calls).push(event);
    }

    fn refuses(&self, event: &'static str) -> bool {
        lock(&self.refused).contains(&event)
    }

    fn alters(&self, event: &'static str) -> bool {
        lock(&self.altered).contains(&event)
    }

    fn permission(&self, event: &'static str) -> HookResult<Permission> {
        self.record(event);
        Ok(if self.refuses(event) { Permission::Refuse } else { Permission::Allow })
    }
}

#[async_trait]
impl Hook for RecordingHook {
    async fn before_move(&self, _: &MovePreparation, _: &HookContext<'_>) -> HookResult<MoveDecision> {
        let event = "session_before_tree";
        self.record(event);
        let altered = self.alters(event).then(|| ALTERED.to_owned());
        let summary = altered.clone().map(|summary| ExtensionSummary { summary, details: None });
        let cancel = self.refuses(event);
        Ok(MoveDecision { cancel, summary, label: altered, ..MoveDecision::default() })
    }

    async fn before_compaction(
        &self,
        asked: &CompactionPreparation,
        _: &HookContext<'_>,
    ) -> HookResult<CompactionDecision> {
        let event = "session_before_compact";
        self.record(event);
        let compaction = ExtensionCompaction {
            summary: ALTERED.to_owned(),
            first_kept_entry_id: asked.first_kept_entry_id.clone(),
            tokens_before: asked.tokens_before,
            details: None,
        };
        let compaction = self.alters(event).then_some(compaction);
        Ok(CompactionDecision { cancel: self.refuses(event), compaction })
    }

    async fn before_fork(&self, _: &ForkPreparation, _: &HookContext<'_>) -> HookResult<Permission> {
        self.permission("session_before_fork")
    }

    async fn before_switch(&self, _: &SwitchPreparation, _: &HookContext<'_>) -> HookResult<Permission> {
        self.permission("session_before_switch")
    }

    async fn before_prompt(&self, _: &PromptPreparation, _: &HookContext<'_>) -> HookResult<PromptDecision> {
        self.record("input");
        Ok(match () {
            () if self.refuses("input") => PromptDecision::Handled,
            () if self.alters("input") => {
                PromptDecision::Transform { text: ALTERED.to_owned(), images: Vec::new() }
            }
            () => PromptDecision::Continue,
        })
    }

    async fn before_turn(&self, _: &StoredPrompt, _: &HookContext<'_>) -> HookResult<TurnChange> {
        let event = "before_agent_start";
        self.record(event);
        let messages = self.alters(event).then(|| CustomMessage::text("test", ALTERED));
        Ok(TurnChange { messages: messages.into_iter().collect(), ..TurnChange::default() })
    }

    async fn edit_context(&self, _: &[Value], _: &HookContext<'_>) -> HookResult<Option<Vec<Value>>> {
        self.record("context");
        Ok(self.alters("context").then(|| vec![json!({ "role": "user", "content": ALTERED })]))
    }

    fn wants(&self, _: &Session, event: &str) -> bool {
        event == "context"
    }

    async fn before_request(
        &self,
        request: &Request,
        _: RequestPurpose,
        _: &HookContext<'_>,
    ) -> HookResult<Option<Request>> {
        let event = "before_provider_request";
        self.record(event);
        Ok(self.alters(event).then(|| Request { system: ALTERED.to_owned(), ..request.clone() }))
    }

    async fn before_tool_call(&self, _: &ToolCall, _: &HookContext<'_>) -> HookResult<ToolCallDecision> {
        self.record("tool_call");
        Ok(match () {
            () if self.refuses("tool_call") => {
                ToolCallDecision::Block { reason: "refused".to_owned(), ends_turn: false }
            }
            () if self.alters("tool_call") => {
                ToolCallDecision::Alter { arguments: json!({ "command": format!("echo {ALTERED}") }) }
            }
            () => ToolCallDecision::Continue,
        })
    }

    async fn edit_tool_result(
        &self,
        _: &ToolCall,
        _: &ToolOutcome,
        _: &HookContext<'_>,
    ) -> HookResult<ToolResultChange> {
        self.record("tool_result");
        let content =
            self.alters("tool_result").then(|| vec![ResultBlock::Text { text: ALTERED.to_owned() }]);
        Ok(ToolResultChange { content, ..ToolResultChange::default() })
    }

    async fn observe(&self, event: &HookEvent, _: &HookContext<'_>) -> HookResult<()> {
        self.record(event.name());
        let hangs = lock(&self.hanging).contains(&event.name());
        if hangs {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}
