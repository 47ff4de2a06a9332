//! The hooks of an agent.

use osier_model::{CancellationToken, Request, TokenUsage};
use osier_tree::{EntryId, Place, SessionTree};

use super::event::HookEvent;
use super::preparation::{
    CompactionDecision, CompactionPreparation, MoveDecision, MovePreparation, RequestPurpose,
};
use super::{HookContext, Hooks};
use crate::context::AgentContext;

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

    /// Sends an event to the hooks. It is built only if there are hooks.
    pub(crate) async fn observe(&self, event: impl FnOnce() -> HookEvent) {
        let Some(hooks) = self.hooks() else { return };
        let (leaf, cancel) = (self.leaf_id(), CancellationToken::new());
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

    /// The request as the hooks change it. `None` if the user cancels.
    pub(crate) async fn ask_before_request(
        &self,
        mut request: Request,
        purpose: RequestPurpose,
        cancel: &CancellationToken,
    ) -> Option<Request> {
        let Some(hooks) = self.hooks() else { return Some(request) };
        let leaf = self.leaf_id();
        let ctx = self.hook_context(leaf.as_ref(), cancel);
        let decision = async {
            if purpose == RequestPurpose::Reply {
                request.messages = hooks.edit_context(request.messages, &ctx).await;
            }
            hooks.before_request(request, purpose, &ctx).await
        };
        self.wait_for_gate(decision, cancel).await
    }

    pub(crate) async fn observe_response(
        &self,
        model: &str,
        purpose: RequestPurpose,
        usage: TokenUsage,
        error: Option<String>,
    ) {
        self.observe(|| HookEvent::ResponseReceived { model: model.to_owned(), purpose, usage, error }).await;
    }
}

/// The id of the entry at a place.
pub(crate) fn entry_id(tree: &SessionTree, position: Place) -> Option<EntryId> {
    position.map(|seq| tree.id(seq).to_entry_id())
}
