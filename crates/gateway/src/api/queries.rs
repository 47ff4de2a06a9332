//! What a client reads of a session and its agent.

use axum::Json;
use osier_protocol::client::AttachedState;
use osier_protocol::query::{CompactionDetails, ForkPoint, PromptCommand, SessionStatus};
use osier_protocol::{EntryId, compare, usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::IntoParams;

use super::engine::NameList;
use crate::error::ApiError;
use crate::extract::{NamedSession, Params, SessionPath, StoreParam};

/// The most files in a list.
const MAX_FILES: usize = 10_000;

/// The state of the agent: whether a turn runs, open questions, queued prompts, and replies that are being written.
#[utoipa::path(get, path = "/api/sessions/{id}/state", params(SessionPath, StoreParam), tag = "queries", operation_id = "getState",
    responses((status = 200, description = "The state", body = ref("#/components/schemas/AttachedState"))))]
pub(crate) async fn state(session: NamedSession) -> Result<Json<AttachedState>, ApiError> {
    Ok(Json(session.reader().await?.attach(None).await?.state))
}

/// What a status line shows.
#[utoipa::path(get, path = "/api/sessions/{id}/status", params(SessionPath, StoreParam), tag = "queries", operation_id = "getStatus",
    responses((status = 200, description = "The status", body = ref("#/components/schemas/SessionStatus"))))]
pub(crate) async fn status(session: NamedSession) -> Result<Json<SessionStatus>, ApiError> {
    Ok(Json(session.reader().await?.status().await?))
}

/// Tokens and costs, of the path and of the whole tree.
#[utoipa::path(get, path = "/api/sessions/{id}/usage", params(SessionPath, StoreParam), tag = "queries", operation_id = "getUsage",
    responses((status = 200, description = "The usage", body = ref("#/components/schemas/UsageReport"))))]
pub(crate) async fn usage(session: NamedSession) -> Result<Json<usage::UsageReport>, ApiError> {
    Ok(Json(session.reader().await?.usage().await?))
}

/// Two branches.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CompareParams {
    /// The last entry of a branch, or `root`.
    left: String,
    /// The last entry of the other branch, or `root`.
    right: String,
}

/// Compares two branches.
#[utoipa::path(get, path = "/api/sessions/{id}/compare", params(SessionPath, StoreParam, CompareParams), tag = "queries",
    operation_id = "compareBranches",
    responses((status = 200, description = "The comparison", body = ref("#/components/schemas/Comparison"))))]
pub(crate) async fn compare(
    session: NamedSession,
    Params(CompareParams { left, right }): Params<CompareParams>,
) -> Result<Json<compare::Comparison>, ApiError> {
    let (left, right) = (EntryId::from(left.as_str()), EntryId::from(right.as_str()));
    Ok(Json(session.reader().await?.compare(left, right).await?))
}

/// The settings of the session.
#[utoipa::path(get, path = "/api/sessions/{id}/settings", params(SessionPath, StoreParam), tag = "queries",
    operation_id = "getSessionSettings",
    responses((status = 200, description = "The settings", body = ref("#/components/schemas/Object"))))]
pub(crate) async fn settings(session: NamedSession) -> Result<Json<Map<String, Value>>, ApiError> {
    Ok(Json(session.reader().await?.settings().await?))
}

/// The models that the session can use now, by their full names.
#[utoipa::path(get, path = "/api/sessions/{id}/models", params(SessionPath, StoreParam), tag = "queries",
    operation_id = "listSessionModels",
    responses((status = 200, description = "The models", body = ref("#/components/schemas/NameList"))))]
pub(crate) async fn models(session: NamedSession) -> Result<Json<NameList>, ApiError> {
    Ok(Json(NameList { names: session.client().await?.models().await? }))
}

/// Which files to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FileParams {
    /// At most this many.
    limit: Option<usize>,
}

/// The files below the working directory that version control does not ignore.
#[utoipa::path(get, path = "/api/sessions/{id}/files", params(SessionPath, StoreParam, FileParams), tag = "queries",
    operation_id = "listFiles",
    responses((status = 200, description = "The files", body = ref("#/components/schemas/NameList"))))]
pub(crate) async fn files(
    session: NamedSession,
    Params(FileParams { limit }): Params<FileParams>,
) -> Result<Json<NameList>, ApiError> {
    let limit = limit.unwrap_or(MAX_FILES).min(MAX_FILES);
    Ok(Json(NameList { names: session.client().await?.files(limit).await? }))
}

/// Templates and skills.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PromptCommands {
    commands: Vec<PromptCommand>,
}

/// The templates and skills, which a prompt names as `/name`.
#[utoipa::path(get, path = "/api/sessions/{id}/commands", params(SessionPath, StoreParam), tag = "queries",
    operation_id = "listCommands",
    responses((status = 200, description = "The commands", body = ref("#/components/schemas/PromptCommands"))))]
pub(crate) async fn commands(session: NamedSession) -> Result<Json<PromptCommands>, ApiError> {
    Ok(Json(PromptCommands { commands: session.client().await?.commands().await? }))
}

/// A compaction.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CompactionParams {
    /// The last one on the path if absent.
    entry: Option<String>,
}

/// A compaction and what it dropped.
#[utoipa::path(get, path = "/api/sessions/{id}/compaction", params(SessionPath, StoreParam, CompactionParams), tag = "queries",
    operation_id = "getCompaction",
    responses((status = 200, description = "The compaction", body = ref("#/components/schemas/CompactionDetails"))))]
pub(crate) async fn compaction(
    session: NamedSession,
    Params(CompactionParams { entry }): Params<CompactionParams>,
) -> Result<Json<CompactionDetails>, ApiError> {
    let entry = entry.as_deref().map(EntryId::from);
    Ok(Json(session.reader().await?.compaction(entry).await?))
}

/// Which messages to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct ForkPointParams {
    /// Also messages that are not on the path.
    #[serde(default)]
    all_branches: bool,
}

/// Messages of the user.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ForkPoints {
    points: Vec<ForkPoint>,
}

/// The user's messages, newest first: a fork may start before each.
#[utoipa::path(get, path = "/api/sessions/{id}/fork-points", params(SessionPath, StoreParam, ForkPointParams), tag = "queries",
    operation_id = "listForkPoints",
    responses((status = 200, description = "The messages", body = ref("#/components/schemas/ForkPoints"))))]
pub(crate) async fn fork_points(
    session: NamedSession,
    Params(ForkPointParams { all_branches }): Params<ForkPointParams>,
) -> Result<Json<ForkPoints>, ApiError> {
    Ok(Json(ForkPoints { points: session.reader().await?.fork_points(all_branches).await? }))
}

/// What to search for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchParams {
    /// Words that an entry must all have, a `"phrase"`, or `re:` and a regular expression.
    query: String,
}

/// Entries that match a search.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundEntries {
    /// In the order of the log, without those of deleted branches.
    ids: Vec<EntryId>,
}

/// Searches the text and the labels of all entries of a session.
#[utoipa::path(get, path = "/api/sessions/{id}/search", params(SessionPath, StoreParam, SearchParams), tag = "queries",
    operation_id = "searchEntries",
    responses((status = 200, description = "The entries", body = ref("#/components/schemas/FoundEntries"))))]
pub(crate) async fn search(
    session: NamedSession,
    Params(SearchParams { query }): Params<SearchParams>,
) -> Result<Json<FoundEntries>, ApiError> {
    Ok(Json(FoundEntries { ids: session.reader().await?.search(query).await? }))
}
