//! Whole sessions, streamed: snapshots, trees, paths, contexts and exports.

use axum::response::Response;
use osier_engine::{KnownRevision, SnapshotOptions};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::body_stream::streamed;
use crate::error::ApiError;
use crate::extract::{NamedSession, Params, SessionPath, StoreParam};

const JSON: &str = "application/json";

/// What a snapshot contains.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct SnapshotParams {
    /// Only the entries since this revision. If that is not possible, the snapshot is complete and has `reset: true`.
    since: Option<usize>,
    /// The generation of the log that `since` counts in.
    generation: Option<String>,
    /// Leave out what a model would get.
    #[serde(default)]
    without_context: bool,
}

/// The session and its tree, from one state.
#[utoipa::path(get, path = "/api/sessions/{id}/snapshot", params(SessionPath, StoreParam, SnapshotParams), tag = "sessions",
    operation_id = "getSnapshot",
    responses((status = 200, description = "The snapshot", body = ref("#/components/schemas/Snapshot"))))]
pub(crate) async fn snapshot(
    session: NamedSession,
    Params(params): Params<SnapshotParams>,
) -> Result<Response, ApiError> {
    let generation = params.generation.as_deref().map(|text| u64::from_str_radix(text, 16)).transpose();
    let generation = generation.map_err(|_| ApiError::invalid("`generation` is not a generation"))?;
    let since = params.since.map(|revision| KnownRevision { revision, generation });
    let options = SnapshotOptions { without_context: params.without_context, since };
    let NamedSession { gateway, stored, .. } = session;
    streamed(JSON, |out| async move {
        let live = gateway.engine().open_briefly(&stored).await?;
        live.session().write_snapshot(options, |piece| out.write(piece)).await
    })
    .await
}
