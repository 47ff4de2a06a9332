//! Prompts that were tried several times.

use axum::Json;
use osier_protocol::explore::TryComparison;
use osier_protocol::{ClientCommand, CommandReply, ExploreCommand, ExploreReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{JsonBody, NamedSession, Params, SessionPath, StoreParam};

/// The explores of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Explores {
    /// Oldest first.
    explores: Vec<ExploreReport>,
}

/// Lists the prompts that were tried several times, with the state of each try.
#[utoipa::path(get, path = "/api/sessions/{id}/explores", params(SessionPath, StoreParam), tag = "explores",
    operation_id = "listExplores",
    responses((status = 200, description = "The explores", body = ref("#/components/schemas/Explores"))))]
pub(crate) async fn list(session: NamedSession) -> Result<Json<Explores>, ApiError> {
    Ok(Json(Explores { explores: session.client().await?.explores().await? }))
}

/// Tries a prompt several times at once, and ranks, keeps, cancels or removes the tries.
#[utoipa::path(post, path = "/api/sessions/{id}/explores", params(SessionPath, StoreParam), tag = "explores",
    operation_id = "explore", request_body = ref("#/components/schemas/ExploreCommand"),
    responses((status = 200, description = "The result", body = ref("#/components/schemas/CommandReply"))))]
pub(crate) async fn explore(
    session: NamedSession,
    JsonBody(command): JsonBody<ExploreCommand>,
) -> Result<Json<CommandReply>, ApiError> {
    session.send(ClientCommand::Explore(command)).await
}

/// Two tries.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TryParams {
    /// The explore; the latest one if absent.
    explore: Option<String>,
    /// The number of a try.
    left: u32,
    /// The number of the other try.
    right: u32,
}

/// Compares two tries.
#[utoipa::path(get, path = "/api/sessions/{id}/explores/compare", params(SessionPath, StoreParam, TryParams), tag = "explores",
    operation_id = "compareTries",
    responses((status = 200, description = "The comparison", body = ref("#/components/schemas/TryComparison"))))]
pub(crate) async fn compare(
    session: NamedSession,
    Params(TryParams { explore, left, right }): Params<TryParams>,
) -> Result<Json<TryComparison>, ApiError> {
    Ok(Json(session.client().await?.compare_tries(explore, left, right).await?))
}
