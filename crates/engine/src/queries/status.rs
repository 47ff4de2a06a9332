//! What a status line shows.

use osier_agent::Worker;
use osier_model::ThinkingLevel;
use osier_protocol::query::{SandboxStatus, SessionStatus};
use osier_session::{Cursor, Session};
use osier_tools::approvals::ApprovalMode;
use osier_tree::projection::transcript::transcript_entries;
use osier_tree::short_ids::first_eight;
use osier_tree::{Header, SessionTree};

use crate::error::EngineError;
use crate::git_branch::current_branch;
use crate::reading::{context_tokens, model_on_path, thinking_on_path};

pub(super) async fn status(worker: &Worker) -> Result<SessionStatus, EngineError> {
    let choice = worker.model_choice().await?;
    let cwd = worker.config().tool_context.cwd.clone();
    // A slow disk must not stop others.
    let branch = tokio::task::spawn_blocking(move || current_branch(&cwd));
    Ok(SessionStatus {
        model: choice.model.full_name(),
        thinking: choice.thinking,
        context_window: choice.model.context_window,
        git_branch: branch.await.unwrap_or_default(),
        ..session_status(worker.cursor()).await?
    })
}

/// The status without an agent: the model and the thinking level are those that the path names.
pub(super) async fn stored_status(cursor: &Cursor) -> Result<SessionStatus, EngineError> {
    let thinking = thinking_on_path(cursor.session()).await?;
    Ok(SessionStatus {
        model: model_on_path(cursor.session()).await?.unwrap_or_default(),
        thinking: thinking.as_deref().and_then(ThinkingLevel::parse).unwrap_or_default(),
        ..session_status(cursor).await?
    })
}

/// The part of the status that does not depend on an agent.
async fn session_status(cursor: &Cursor) -> Result<SessionStatus, EngineError> {
    let session = cursor.session();
    let card = session.store().card(session.key()).await.ok();
    let (state, at) = cursor.state_and_place();
    let tree = &state.tree;
    Ok(SessionStatus {
        id: session.id().into(),
        short_id: short_id(session).await,
        name: tree.marks().name().map(str::to_owned),
        store: session.store().name().to_owned(),
        approval_mode: approval_mode(tree),
        context: context_tokens(session, at).await?,
        cost: card.as_ref().map_or(0.0, |card| card.cost),
        depth: transcript_entries(tree, at).len(),
        tips: card.map_or(0, |card| card.branches as usize),
        has_messages: tree.heads().iter().any(|(_, head)| head.is_message()),
        parent_session_id: forked_from(session.header()).map(Into::into),
        task_of: delegated_by(session.header()).map(Into::into),
        invalid_lines: session.invalid_lines(),
        ..SessionStatus::default()
    })
}

/// The session that a session was forked from. The parent of a sub-agent's session is not one.
fn forked_from(header: &Header) -> Option<&str> {
    header.parent_session_id.as_deref().filter(|_| header.parent_tool_call_id.is_none())
}

/// The session of the model that delegated a task to this session.
fn delegated_by(header: &Header) -> Option<&str> {
    header.parent_session_id.as_deref().filter(|_| header.parent_tool_call_id.is_some())
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
