//! Whole sessions, streamed: snapshots, trees, paths, contexts and exports.

use axum::http::{HeaderValue, header};
use axum::response::Response;
use osier_engine::{ExportFormat, JsonLayout, KnownRevision, SnapshotOptions, TreeJsonOptions};
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
    let generation =
        generation.map_err(|_| ApiError::invalid("`generation` must be the one of an earlier snapshot"))?;
    let since = params.since.map(|revision| KnownRevision { revision, generation });
    let options = SnapshotOptions { without_context: params.without_context, since };
    let NamedSession { gateway, operations, .. } = session;
    streamed(JSON, |out| async move {
        gateway.engine().write_snapshot(operations.stored(), options, |piece| out.write(piece)).await
    })
    .await
}

/// A position in the tree.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AtParam {
    /// An entry, or `root`; the leaf if absent.
    at: Option<String>,
}

/// The entries from the root to a position.
#[utoipa::path(get, path = "/api/sessions/{id}/path", params(SessionPath, StoreParam, AtParam), tag = "sessions",
    operation_id = "getActivePath",
    responses((status = 200, description = "The entries, oldest first", body = ref("#/components/schemas/Entries"))))]
pub(crate) async fn path(
    session: NamedSession,
    Params(AtParam { at }): Params<AtParam>,
) -> Result<Response, ApiError> {
    let NamedSession { gateway, operations, .. } = session;
    streamed(JSON, |out| async move {
        gateway.engine().write_path_json(operations.stored(), at.as_deref(), |piece| out.write(piece)).await
    })
    .await
}

/// The messages that a model gets at a position.
#[utoipa::path(get, path = "/api/sessions/{id}/context", params(SessionPath, StoreParam, AtParam), tag = "sessions",
    operation_id = "getContext",
    responses((status = 200, description = "The context", body = ref("#/components/schemas/Context"))))]
pub(crate) async fn context(
    session: NamedSession,
    Params(AtParam { at }): Params<AtParam>,
) -> Result<Response, ApiError> {
    let NamedSession { gateway, operations, .. } = session;
    streamed(JSON, |out| async move {
        gateway
            .engine()
            .write_context_json(operations.stored(), at.as_deref(), |piece| out.write(piece))
            .await
    })
    .await
}

/// How a tree is written.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TreeParams {
    /// The position to mark: an entry, or `root`; the leaf if absent.
    at: Option<String>,
    /// Also the entries of deleted branches.
    #[serde(default)]
    deleted: bool,
    /// A list of nodes with their depth, instead of nodes that contain their children.
    #[serde(default)]
    flat: bool,
}

/// All entries as a tree.
#[utoipa::path(get, path = "/api/sessions/{id}/tree", params(SessionPath, StoreParam, TreeParams), tag = "sessions",
    operation_id = "getTree",
    responses((status = 200, description = "The nodes", body = ref("#/components/schemas/TreeNodes"))))]
pub(crate) async fn tree(
    session: NamedSession,
    Params(params): Params<TreeParams>,
) -> Result<Response, ApiError> {
    let NamedSession { gateway, operations, .. } = session;
    streamed(JSON, |out| async move {
        let layout = if params.flat { JsonLayout::Flat } else { JsonLayout::Nested };
        let options = TreeJsonOptions { at: params.at.as_deref(), deleted: params.deleted, layout };
        gateway.engine().write_tree_json(operations.stored(), options, |piece| out.write(piece)).await
    })
    .await
}

/// All entries of the tree without their content, as the page reads them: lines of JSON, written piece by piece. The first line has
/// the number of `rows` and the `leafId`; each other line is the row of an entry, in the order of the log.
#[utoipa::path(get, path = "/api/sessions/{id}/rows", params(SessionPath, StoreParam), tag = "sessions", operation_id = "getTreeRows",
    responses((status = 200, description = "The lines", content_type = "application/x-ndjson")))]
pub(crate) async fn rows(session: NamedSession) -> Result<Response, ApiError> {
    let NamedSession { gateway, operations, .. } = session;
    streamed("application/x-ndjson", |out| async move {
        gateway.engine().write_tree_rows(operations.stored(), |piece| out.write(piece)).await
    })
    .await
}

/// What to export.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportParams {
    /// `md`, `html`, `json` or `jsonl`.
    format: Option<String>,
    /// The end of the path: an entry, or `root`; the leaf if absent.
    at: Option<String>,
}

/// Exports a path, or a session as a page, as a file.
#[utoipa::path(get, path = "/api/sessions/{id}/export", params(SessionPath, StoreParam, ExportParams), tag = "sessions",
    operation_id = "exportSession",
    responses((status = 200, description = "The file", content_type = "application/octet-stream")))]
pub(crate) async fn export(
    session: NamedSession,
    Params(ExportParams { format, at }): Params<ExportParams>,
) -> Result<Response, ApiError> {
    let extension = format.unwrap_or_else(|| "md".to_owned());
    let format = ExportFormat::parse(&extension)?;
    let content_type = match format {
        ExportFormat::Markdown => "text/markdown; charset=utf-8",
        ExportFormat::Json => JSON,
        ExportFormat::Jsonl => "application/x-ndjson",
        ExportFormat::Html => "text/html; charset=utf-8",
    };
    let NamedSession { gateway, operations, .. } = session;
    let file_name =
        format!("attachment; filename=\"osier-{}.{extension}\"", operations.stored().opened.header.id);
    let response = streamed(content_type, |out| async move {
        gateway
            .engine()
            .write_export(operations.stored(), at.as_deref(), format, |piece| out.write(piece))
            .await
    });
    let mut response = response.await?;
    if let Ok(file_name) = HeaderValue::try_from(file_name) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, file_name);
    }
    Ok(response)
}
