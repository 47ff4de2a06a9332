//! Tasks that the agent of a session delegated to sub-agents.

use axum::Json;
use osier_protocol::subagents::SubagentProjection;
use osier_protocol::{ClientCommand, CommandReply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ApiError;
use crate::extract::{JsonBody, NamedSession, SessionPath, StoreParam};

/// Batches of tasks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TaskBatches {
    /// In the order of the log.
    batches: Vec<SubagentProjection>,
}

/// Lists the batches of tasks of a session, with the state of each task.
#[utoipa::path(get, path = "/api/sessions/{id}/tasks", params(SessionPath, StoreParam), tag = "tasks", operation_id = "listTasks",
    responses((status = 200, description = "The batches", body = ref("#/components/schemas/TaskBatches"))))]
pub(crate) async fn list(session: NamedSession) -> Result<Json<TaskBatches>, ApiError> {
    Ok(Json(TaskBatches { batches: session.reader().await?.subagents().await? }))
}

/// A message to a sub-agent, or to all.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SteerTask {
    /// The task, as the list names it. All tasks if absent.
    #[serde(default)]
    task: Option<String>,
    text: String,
}

/// Sends a message to the sub-agent that does a task, or to all of them, before their next model call.
#[utoipa::path(post, path = "/api/sessions/{id}/tasks/steer", params(SessionPath, StoreParam), tag = "tasks",
    operation_id = "steerTask", request_body = ref("#/components/schemas/SteerTask"),
    responses((status = 200, description = "The message was sent", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn steer(
    session: NamedSession,
    JsonBody(SteerTask { task, text }): JsonBody<SteerTask>,
) -> Result<Json<CommandReply>, ApiError> {
    session.send(ClientCommand::SteerTask { task, text }).await
}

/// The task to cancel.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CancelTasks {
    /// All tasks if absent.
    task: Option<String>,
}

/// Cancels a task, or all of them. The turn goes on with their results.
#[utoipa::path(post, path = "/api/sessions/{id}/tasks/cancel", params(SessionPath, StoreParam), tag = "tasks",
    operation_id = "cancelTasks", request_body = ref("#/components/schemas/CancelTasks"),
    responses((status = 200, description = "The tasks end", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn cancel(
    session: NamedSession,
    JsonBody(CancelTasks { task }): JsonBody<CancelTasks>,
) -> Result<Json<CommandReply>, ApiError> {
    session.send(ClientCommand::CancelTasks { task }).await
}
