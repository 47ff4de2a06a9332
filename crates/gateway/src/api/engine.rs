//! What concerns no session: the description of the engine, and its settings.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use osier_protocol::engine_request::{EngineDescription, SettingRow};
use osier_protocol::{EngineReply, EngineRequest, ErrorCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ApiError;
use crate::extract::JsonBody;
use crate::gateway::Gateway;

pub(crate) fn unexpected_reply() -> ApiError {
    ApiError::new(ErrorCode::Failed, "unexpected reply from the engine")
}

async fn description(gateway: &Gateway) -> Result<EngineDescription, ApiError> {
    match gateway.client().call(EngineRequest::Describe).await? {
        EngineReply::Description(description) => Ok(description),
        _ => Err(unexpected_reply()),
    }
}

/// Describes the engine: its version, models, agents, stores and directories.
#[utoipa::path(get, path = "/api/engine", tag = "engine", operation_id = "describeEngine",
    responses((status = 200, description = "The engine", body = ref("#/components/schemas/EngineDescription"))))]
pub(crate) async fn describe(
    State(gateway): State<Arc<Gateway>>,
) -> Result<Json<EngineDescription>, ApiError> {
    Ok(Json(description(&gateway).await?))
}

/// A list of names.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NameList {
    pub(crate) names: Vec<String>,
}

/// Lists the models that can be used now, by their full names.
#[utoipa::path(get, path = "/api/models", tag = "engine", operation_id = "listModels",
    responses((status = 200, description = "The models", body = ref("#/components/schemas/NameList"))))]
pub(crate) async fn models(State(gateway): State<Arc<Gateway>>) -> Result<Json<NameList>, ApiError> {
    Ok(Json(NameList { names: description(&gateway).await?.models }))
}

/// Lists the agents.
#[utoipa::path(get, path = "/api/agents", tag = "engine", operation_id = "listAgents",
    responses((status = 200, description = "The agents", body = ref("#/components/schemas/NameList"))))]
pub(crate) async fn agents(State(gateway): State<Arc<Gateway>>) -> Result<Json<NameList>, ApiError> {
    Ok(Json(NameList { names: description(&gateway).await?.agents }))
}

/// Settings.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettingList {
    settings: Vec<SettingRow>,
}

/// Lists the settings that a client can change. Secrets are not among them.
#[utoipa::path(get, path = "/api/settings", tag = "engine", operation_id = "listSettings",
    responses((status = 200, description = "The settings", body = ref("#/components/schemas/SettingList"))))]
pub(crate) async fn settings(State(gateway): State<Arc<Gateway>>) -> Result<Json<SettingList>, ApiError> {
    match gateway.client().call(EngineRequest::Settings).await? {
        EngineReply::Settings { settings } => Ok(Json(SettingList { settings })),
        _ => Err(unexpected_reply()),
    }
}

/// The value of a setting.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettingValue {
    /// As it is written in a file. An empty value removes the setting.
    value: String,
}

/// What a change did.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettingChanged {
    /// The new value, and when it applies.
    notice: String,
}

/// Changes a setting in the file of the user.
#[utoipa::path(put, path = "/api/settings/{key}", tag = "engine", operation_id = "changeSetting",
    params(("key" = String, Path, description = "The name of the setting")),
    request_body = ref("#/components/schemas/SettingValue"),
    responses((status = 200, description = "The setting was changed", body = ref("#/components/schemas/SettingChanged"))))]
pub(crate) async fn change_setting(
    State(gateway): State<Arc<Gateway>>,
    Path(key): Path<String>,
    JsonBody(SettingValue { value }): JsonBody<SettingValue>,
) -> Result<Json<SettingChanged>, ApiError> {
    match gateway.client().call(EngineRequest::SetSetting { key, value }).await? {
        EngineReply::SettingChanged { notice } => Ok(Json(SettingChanged { notice })),
        _ => Err(unexpected_reply()),
    }
}
