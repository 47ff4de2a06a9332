//! Deleting and restoring branches.

use axum::Json;
use osier_protocol::{ClientCommand, CommandReply};

use crate::error::ApiError;
use crate::extract::{EntryPath, NamedSession, StoreParam};

/// Hides an entry and everything below it.
#[utoipa::path(delete, path = "/api/sessions/{id}/entries/{entry}", params(EntryPath, StoreParam), tag = "entries",
    operation_id = "deleteBranch",
    responses((status = 200, description = "The branch was deleted", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn delete(session: NamedSession) -> Result<Json<CommandReply>, ApiError> {
    session.send(ClientCommand::DeleteBranch { entry: session.entry().into() }).await
}

/// Shows a deleted branch again.
#[utoipa::path(post, path = "/api/sessions/{id}/entries/{entry}/restore", params(EntryPath, StoreParam), tag = "entries",
    operation_id = "restoreBranch",
    responses((status = 200, description = "The branch was restored", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn restore(session: NamedSession) -> Result<Json<CommandReply>, ApiError> {
    session.send(ClientCommand::RestoreBranch { entry: session.entry().into() }).await
}
