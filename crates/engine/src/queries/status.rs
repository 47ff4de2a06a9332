//! What a status line shows.

use osier_agent::Worker;
use osier_protocol::query::{SandboxStatus, SessionStatus};
use osier_session::Session;
use osier_tools::approvals::ApprovalMode;
use osier_tree::SessionTree;
use osier_tree::projection::transcript::transcript_entries;
use osier_tree::short_ids::first_eight;

use crate::error::EngineError;
use crate::git_branch::current_branch;
use crate::reading::context_tokens;

pub(super) async fn status(worker: &Worker) -> Result<SessionStatus, EngineError> {
    let session = worker.session();
    let choice = worker.model_choice().await?;
    let cwd = worker.config().tool_context.cwd.clone();
    // A slow disk must not stop others.
    let branch = tokio::task::spawn_blocking(move || current_branch(&cwd));
    let card = session.store().card(session.key()).await.ok();
    let (state, at) = worker.cursor().state_and_place();
    let tree = &state.tree;
    Ok(SessionStatus {
        id: session.id().into(),
        short_id: short_id(session).await,
        name: tree.marks().name().map(str::to_owned),
        store: session.store().name().to_owned(),
        model: choice.model.full_name(),
        thinking: choice.thinking,
        approval_mode: approval_mode(tree),
        context: context_tokens(session, at).await?,
        context_window: choice.model.context_window,
        cost: card.as_ref().map_or(0.0, |card| card.cost),
        depth: transcript_entries(tree, at).len(),
        tips: card.map_or(0, |card| card.branches as usize),
        has_messages: tree.heads().iter().any(|(_, head)| head.is_message()),
        parent_session_id: session.header().parent_session_id.as_deref().map(Into::into),
        git_branch: branch.await.unwrap_or_default(),
    })
}

/// The first call tests the sandbox, which may take a moment.
pub(super) async fn sandbox(worker: &Worker) -> SandboxStatus {
    let Some(sandbox) = worker.config().tool_context.sandbox.clone() else { return SandboxStatus::Disabled };
    let test = move || match sandbox.state() {
        Ok(protection) => SandboxStatus::Active { protection: protection.to_owned() },
        Err(reason) => SandboxStatus::Unavailable { reason: reason.to_owned() },
    };
    tokio::task::spawn_blocking(test).await.unwrap_or_default()
}

/// The shortest unique prefix of the id, or its first eight characters if the store does not answer.
async fn short_id(session: &Session) -> String {
    let asked = session.store().short_id(session.id()).await;
    asked.unwrap_or_else(|_| first_eight(session.id()).to_owned())
}

fn approval_mode(tree: &SessionTree) -> Option<ApprovalMode> {
    match tree.marks().settings().get("approvalMode") {
        Some(mode) => ApprovalMode::from_name(mode.as_str()?),
        None => Some(ApprovalMode::default()),
    }
}
