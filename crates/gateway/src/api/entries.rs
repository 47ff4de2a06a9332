//! Entries: pages, one entry, appending any entry, and updating one that is still running.

use axum::Json;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use osier_engine::{CommitOutcome, EntryPage};
use osier_protocol::EntryId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{EntryPath, JsonBody, JsonText, NamedSession, Params, SessionPath, StoreParam};

/// The most entries in one page.
const MAX_PAGE: usize = 1000;
const DEFAULT_PAGE: usize = 100;

/// Which entries to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageParams {
    /// How many entries to skip.
    #[serde(default)]
    after: usize,
    /// At most this many; 100 by default, 1000 at most.
    limit: Option<usize>,
}

/// Lists entries in the order of the log. A page with large entries is shorter; `next` is where the next one starts.
#[utoipa::path(get, path = "/api/sessions/{id}/entries", params(SessionPath, StoreParam, PageParams), tag = "entries",
    operation_id = "listEntries",
    responses((status = 200, description = "A page", body = ref("#/components/schemas/EntryPage"))))]
pub(crate) async fn list(
    session: NamedSession,
    Params(page): Params<PageParams>,
) -> Result<Response, ApiError> {
    let limit = page.limit.unwrap_or(DEFAULT_PAGE).min(MAX_PAGE);
    let EntryPage { entries, revision, next } =
        session.operations.list_entries(page.after, Some(limit)).await?;
    // Entries are copied as they are stored.
    let mut json = format!("{{\"revision\":{revision},\"entries\":[").into_bytes();
    json.extend(entries.join(&b",\n"[..]));
    json.extend(
        match next {
            Some(next) => format!("],\"next\":{next}}}\n"),
            None => "]}\n".to_owned(),
        }
        .into_bytes(),
    );
    Ok(json_response(json))
}

/// Returns one entry.
#[utoipa::path(get, path = "/api/sessions/{id}/entries/{entry}", params(EntryPath, StoreParam), tag = "entries",
    operation_id = "getEntry",
    responses((status = 200, description = "The entry", body = ref("#/components/schemas/Entry"))))]
pub(crate) async fn get(session: NamedSession) -> Result<Response, ApiError> {
    let entry = session.gateway.engine().entry(session.stored(), session.entry()).await?;
    Ok(json_response(entry.json))
}

fn json_response(json: Vec<u8>) -> Response {
    let mut response = Body::from(json).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A stored entry.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StoredEntryBody {
    /// The id of the entry; `None` if there was nothing to do.
    id: Option<EntryId>,
    /// The entry existed already, so nothing was written.
    existed: bool,
    /// The number of entries in the log, with this one.
    revision: Option<usize>,
}

/// The response to an append: 201 if it wrote an entry, 200 if there was nothing to write.
pub(crate) fn stored_entry(outcome: CommitOutcome) -> Result<(StatusCode, Json<StoredEntryBody>), ApiError> {
    match outcome {
        CommitOutcome::Cancelled => Err(osier_engine::EngineError::Refused.into()),
        CommitOutcome::Nothing => {
            Ok((StatusCode::OK, Json(StoredEntryBody { id: None, existed: true, revision: None })))
        }
        CommitOutcome::Stored(stored) => {
            let status = if stored.existed { StatusCode::OK } else { StatusCode::CREATED };
            let revision = Some(stored.version.entries);
            Ok((status, Json(StoredEntryBody { id: Some(stored.id), existed: stored.existed, revision })))
        }
    }
}

/// Appends an entry. A missing `id`, `parentId` and `timestamp` are filled in; the parent `null` makes a new root. Appending the
/// same entry again succeeds without a write.
#[utoipa::path(post, path = "/api/sessions/{id}/entries", params(SessionPath, StoreParam), tag = "entries",
    operation_id = "appendEntry", request_body = ref("#/components/schemas/Entry"),
    responses((status = 201, description = "The entry was stored", body = ref("#/components/schemas/StoredEntryBody")),
        (status = 200, description = "The entry existed", body = ref("#/components/schemas/StoredEntryBody"))))]
pub(crate) async fn append(
    session: NamedSession,
    JsonText(entry): JsonText,
) -> Result<(StatusCode, Json<StoredEntryBody>), ApiError> {
    stored_entry(session.operations.append_entry(&entry).await?)
}

/// The end of an entry that is still running.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateEntry {
    /// `completed`, `failed` or `cancelled`.
    status: String,
    #[serde(default)]
    payload: Value,
}

/// Ends a running batch of sub-agents. Other entries never change.
#[utoipa::path(patch, path = "/api/sessions/{id}/entries/{entry}", params(EntryPath, StoreParam), tag = "entries",
    operation_id = "updateEntry", request_body = ref("#/components/schemas/UpdateEntry"),
    responses((status = 201, description = "The update was stored", body = ref("#/components/schemas/StoredEntryBody"))))]
pub(crate) async fn update(
    session: NamedSession,
    JsonBody(UpdateEntry { status, payload }): JsonBody<UpdateEntry>,
) -> Result<(StatusCode, Json<StoredEntryBody>), ApiError> {
    stored_entry(session.operations.update_entry(session.entry(), &status, &payload).await?)
}
