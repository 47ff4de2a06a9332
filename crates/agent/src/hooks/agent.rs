//! The hooks of an agent.

use osier_model::{CancellationToken, Request, TokenUsage};
use osier_tree::{EntryId, Place, SessionTree};
use serde_json::Value;

use super::event::HookEvent;
use super::preparation::{
    CompactionDecision, CompactionPreparation, MoveDecision, MovePreparation, RequestPurpose,
};
use super::request_observer::ResponseHead;
use super::{HookContext, Hooks};
use crate::context::AgentContext;
use crate::prompt_library::PromptLibrary;

impl AgentContext {
    /// The hooks, if there are any.
    pub(crate) fn hooks(&self) -> Option<&Hooks> {
        Some(&*self.config.hooks).filter(|hooks| !hooks.is_empty())
    }

    pub(crate) fn leaf_id(&self) -> Option<EntryId> {
        let (state, at) = self.position();
        entry_id(&state.tree, at)
    }

    pub(crate) fn hook_context<'a>(
        &'a self,
        leaf_id: Option<&'a EntryId>,
        cancel: &'a CancellationToken,
    ) -> HookContext<'a> {
        let (session, has_user, live) = (&self.session, self.config.has_user, Some(&self.live));
        HookContext { session, leaf_id, has_user, cancel, live, agent: self.worker.get() }
    }

    /// Sends an event to the hooks. It is built only if there are hooks. They learn it also when the turn is canceled.
    pub(crate) async fn observe(&self, event: impl FnOnce() -> HookEvent) {
        let Some(hooks) = self.hooks() else { return };
        let (leaf, cancel) = (self.leaf_id(), self.state().cancel_turn.clone());
        hooks.observe(&event(), &self.hook_context(leaf.as_ref(), &cancel)).await;
    }

    /// Sends the event of a move away from `from`.
    pub(crate) async fn observe_move(
        &self,
        from: Option<EntryId>,
        summary_entry: Option<EntryId>,
        from_hook: bool,
    ) {
        self.observe(|| HookEvent::Moved {
            new_leaf_id: self.leaf_id(),
            old_leaf_id: from,
            summary_entry,
            from_hook,
        })
        .await;
    }

    /// The decision about a move. `None` if the user cancels.
    pub(crate) async fn ask_before_move(
        &self,
        preparation: &MovePreparation,
        cancel: &CancellationToken,
    ) -> Option<MoveDecision> {
        let Some(hooks) = self.hooks() else { return Some(MoveDecision::default()) };
        let leaf = self.leaf_id();
        let ctx = self.hook_context(leaf.as_ref(), cancel);
        self.wait_for_gate(hooks.before_move(preparation, &ctx), cancel).await
    }

    /// The decision about a compaction. `None` if the user cancels.
    pub(crate) async fn ask_before_compaction(
        &self,
        preparation: &CompactionPreparation,
        cancel: &CancellationToken,
    ) -> Option<CompactionDecision> {
        let Some(hooks) = self.hooks() else { return Some(CompactionDecision::default()) };
        let leaf = self.leaf_id();
        let ctx = self.hook_context(leaf.as_ref(), cancel);
        self.wait_for_gate(hooks.before_compaction(preparation, &ctx), cancel).await
    }

    /// The messages of a context as the hooks change them, if one does. The outer `None` if the user cancels.
    pub(crate) async fn ask_about_context(
        &self,
        messages: Vec<Value>,
        cancel: &CancellationToken,
    ) -> Option<Option<Vec<Value>>> {
        let Some(hooks) = self.hooks() else { return Some(None) };
        let leaf = self.leaf_id();
        let ctx = self.hook_context(leaf.as_ref(), cancel);
        self.wait_for_gate(hooks.edit_context(messages, &ctx), cancel).await
    }

    /// The request as the hooks change it. `None` if the user cancels.
    pub(crate) async fn ask_before_request(
        &self,
        request: Request,
        purpose: RequestPurpose,
        cancel: &CancellationToken,
    ) -> Option<Request> {
        let Some(hooks) = self.hooks() else { return Some(request) };
        let leaf = self.leaf_id();
        let ctx = self.hook_context(leaf.as_ref(), cancel);
        let request = self.wait_for_gate(hooks.before_request(request, purpose, &ctx), cancel).await;
        request.map(|request| Request { observer: self.request_observer(&request.model), ..request })
    }

    /// Sends an event that happens often, if a hook wants it.
    pub(crate) async fn observe_if_wanted(&self, name: &str, event: impl FnOnce() -> HookEvent) {
        if self.hooks().is_some_and(|hooks| hooks.wants(&self.session, name)) {
            self.observe(event).await;
        }
    }

    /// A message that is complete at once, as the hooks change it.
    pub(crate) async fn edit_whole_message(&self, message: Value, cancel: &CancellationToken) -> Value {
        self.observe_if_wanted("message_start", || HookEvent::MessageStarted { message: message.clone() })
            .await;
        self.edit_message(message, cancel).await
    }

    /// A message as the hooks change it.
    pub(crate) async fn edit_message(&self, message: Value, cancel: &CancellationToken) -> Value {
        let wanting = self.hooks().filter(|hooks| hooks.wants(&self.session, "message_end"));
        let Some(hooks) = wanting else { return message };
        let leaf = self.leaf_id();
        let ctx = self.hook_context(leaf.as_ref(), cancel);
        let edited = self.wait_for_gate(hooks.edit_message(message.clone(), &ctx), cancel).await;
        edited.unwrap_or(message)
    }

    /// The templates and skills, with those of hooks.
    pub(crate) fn prompt_library(&self) -> PromptLibrary {
        let mut library = self.config.prompt_library.clone();
        if let Some(hooks) = self.hooks() {
            hooks.add_prompt_folders(&self.session, &mut library);
        }
        library
    }

    pub(crate) async fn observe_response(
        &self,
        model: &str,
        purpose: RequestPurpose,
        usage: TokenUsage,
        error: Option<String>,
    ) {
        let ResponseHead { status, headers } = std::mem::take(&mut self.state().last_response);
        let model = model.to_owned();
        self.observe(|| HookEvent::ResponseReceived { model, purpose, usage, error, status, headers }).await;
    }
}

/// The id of the entry at a place.
pub(crate) fn entry_id(tree: &SessionTree, position: Place) -> Option<EntryId> {
    position.map(|seq| tree.id(seq).to_entry_id())
}
