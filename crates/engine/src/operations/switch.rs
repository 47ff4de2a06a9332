//! Switching: a client leaves a session for another one. Only hooks are concerned; opening is an operation of its own.

use osier_agent::hooks::{HookContext, HookEvent, Hooks, Permission, SwitchPreparation, SwitchReason};
use osier_model::CancellationToken;
use osier_session::Session;

use crate::engine::Engine;

impl Engine {
    /// Whether the hooks let a client leave `from` for the session with this file or id; `None` is a new session. Ask this
    /// before the other session is created or opened.
    pub async fn may_switch(&self, from: &Session, target: Option<String>) -> bool {
        let hooks = &self.config().hooks;
        if hooks.is_empty() {
            return true;
        }
        let reason = if target.is_some() { SwitchReason::Resume } else { SwitchReason::New };
        let (leaf, cancel) = (leaf_id(from), CancellationToken::new());
        let ctx = HookContext::new(from, leaf.as_ref(), &cancel);
        let preparation = SwitchPreparation { reason, target_session_file: target };
        hooks.before_switch(&preparation, &ctx).await == Permission::Allow
    }

    /// Sends the event of a switch from `from` to `to` to the hooks.
    pub async fn announce_switch(&self, from: &Session, to: &Session, reason: SwitchReason) {
        let previous = Some(session_location(from));
        self.observe(to, || HookEvent::SessionSwitched { reason, previous_session_file: previous }).await;
    }

    /// Sends an event to the hooks, without an agent.
    pub(crate) async fn observe(&self, session: &Session, event: impl FnOnce() -> HookEvent) {
        let hooks = &self.config().hooks;
        if !hooks.is_empty() {
            observe(hooks, session, &event()).await;
        }
    }
}

pub(crate) async fn observe(hooks: &Hooks, session: &Session, event: &HookEvent) {
    let (leaf, cancel) = (leaf_id(session), CancellationToken::new());
    hooks.observe(event, &HookContext::new(session, leaf.as_ref(), &cancel)).await;
}

/// The file of a session or, if it is not in a file, its id. Hooks get this as the "session file".
pub fn session_location(session: &Session) -> String {
    session.file().map_or_else(|| session.id().to_owned(), |file| file.to_string_lossy().into_owned())
}

/// The entry at the position of the session.
pub(crate) fn leaf_id(session: &Session) -> Option<osier_tree::EntryId> {
    let (state, at) = session.main_cursor().state_and_place();
    at.map(|seq| state.tree.id(seq).to_entry_id())
}
