//! Sessions: list, create, describe, update, delete, fork.

use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use osier_engine::{EngineError, FindScope, SessionInit, SessionUpdate};
use osier_protocol::engine_request::{DeletedSession, SessionList};
use osier_protocol::{
    EngineReply, EngineRequest, EntryId, ErrorCode, ForkOptions, ForkPosition, ListSessions,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::IntoParams;

use crate::api::engine::unexpected_reply;
use crate::error::ApiError;
use crate::extract::{JsonBody, NamedSession, Params, SessionPath, StoreParam, path_part, request_access};
use crate::gateway::{Gateway, session_ref};

/// Which sessions to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListParams {
    store: Option<String>,
    /// Only sessions of this working directory.
    cwd: Option<String>,
    agent_id: Option<String>,
    /// Words, a `"phrase"`, or `re:` and a regular expression. Searches names and messages.
    query: Option<String>,
    /// For a query, how many matching messages of each session to return; at most 100.
    #[serde(default)]
    hits: usize,
    /// The number of lines around each matching line; at most 100.
    #[serde(default)]
    context: usize,
    /// Only sessions with a name.
    #[serde(default)]
    named: bool,
    /// Also the sessions of sub-agents.
    #[serde(default)]
    subagents: bool,
    limit: Option<usize>,
}

/// Lists the sessions of all stores, most recently used first. For a query, the best matches come first.
#[utoipa::path(get, path = "/api/sessions", params(ListParams), tag = "sessions", operation_id = "listSessions",
    responses((status = 200, description = "The sessions", body = ref("#/components/schemas/SessionList"))))]
pub(crate) async fn list(
    State(gateway): State<Arc<Gateway>>,
    Params(params): Params<ListParams>,
) -> Result<Json<SessionList>, ApiError> {
    let ListParams { store, cwd, agent_id, query, hits, context, named, subagents, limit } = params;
    let request = ListSessions { store, cwd, agent_id, query, hits, context, named, subagents, limit };
    match gateway.client().call(EngineRequest::ListSessions(request)).await? {
        EngineReply::Sessions(list) => Ok(Json(list)),
        _ => Err(unexpected_reply()),
    }
}

/// A session to create. What is absent has the value of the settings.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct CreateSession {
    /// A new id if absent.
    id: Option<String>,
    store: Option<String>,
    /// The working directory; by default, that of the gateway.
    cwd: Option<String>,
    agent_id: Option<String>,
    title: Option<String>,
}

/// Creates a session.
#[utoipa::path(post, path = "/api/sessions", tag = "sessions", operation_id = "createSession",
    request_body = ref("#/components/schemas/CreateSession"),
    responses((status = 201, description = "The session", body = ref("#/components/schemas/Session"))))]
pub(crate) async fn create(
    State(gateway): State<Arc<Gateway>>,
    JsonBody(new): JsonBody<CreateSession>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let store = new.store.unwrap_or_else(|| gateway.default_store().to_owned());
    let default = || gateway.default_directory().to_string_lossy().into_owned();
    let cwd = new.cwd.unwrap_or_else(default);
    gateway.directories().check_new(Path::new(&cwd))?;
    let sessions = gateway.engine().sessions(&store).ok_or(EngineError::StoreNotFound { store })?;
    let init = SessionInit { id: new.id, cwd, agent_id: new.agent_id, title: new.title };
    Ok((StatusCode::CREATED, Json(sessions.create(init).await?)))
}

/// Describes a session: the `session` of a snapshot.
#[utoipa::path(get, path = "/api/sessions/{id}", params(SessionPath, StoreParam), tag = "sessions", operation_id = "getSession",
    responses((status = 200, description = "The session", body = ref("#/components/schemas/Session"))))]
pub(crate) async fn get(session: NamedSession) -> Result<Json<Value>, ApiError> {
    Ok(Json(session.operations.describe().await?))
}

/// The properties of a session that can change. What is absent stays as it is.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct UpdateSession {
    title: Option<String>,
    status: Option<String>,
    cwd: Option<String>,
    agent_id: Option<String>,
    metadata: Option<Map<String, Value>>,
}

/// Changes properties of a session.
#[utoipa::path(patch, path = "/api/sessions/{id}", params(SessionPath, StoreParam), tag = "sessions", operation_id = "updateSession",
    request_body = ref("#/components/schemas/UpdateSession"),
    responses((status = 200, description = "The session", body = ref("#/components/schemas/Session"))))]
pub(crate) async fn update(
    session: NamedSession,
    JsonBody(update): JsonBody<UpdateSession>,
) -> Result<Json<Value>, ApiError> {
    let UpdateSession { title, status, cwd, agent_id, metadata } = update;
    if let Some(cwd) = &cwd {
        session.gateway.directories().check_new(Path::new(cwd))?;
    }
    Ok(Json(session.operations.update(SessionUpdate { title, status, cwd, agent_id, metadata }).await?))
}

/// Where a client believes the session to be. Only `store` matters, and only if several stores have the session.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct DeleteParams {
    store: Option<String>,
    /// The agent of the session. The gateway looks up the session itself, so a wrong agent does no harm.
    #[serde(rename = "agentId")]
    #[param(rename = "agentId")]
    _agent_id: Option<String>,
}

/// Deletes a session and those of its sub-agents, in the store that has it. Deleting it again succeeds with `deleted: false`.
#[utoipa::path(delete, path = "/api/sessions/{id}", params(SessionPath, DeleteParams), tag = "sessions", operation_id = "deleteSession",
    responses((status = 200, description = "What was deleted", body = ref("#/components/schemas/DeletedSession"))))]
pub(crate) async fn delete(
    State(gateway): State<Arc<Gateway>>,
    Params(params): Params<DeleteParams>,
    RequestParts(mut parts): RequestParts,
) -> Result<Json<DeletedSession>, ApiError> {
    let (access, id) = (request_access(&parts)?, path_part(&mut parts, "id").await?);
    let found = gateway.find(&access, &id, params.store.as_deref(), FindScope::ToDelete).await;
    let stored = match found {
        Err(error) if error.code() == ErrorCode::SessionNotFound => {
            return Ok(Json(DeletedSession {
                store: params.store.unwrap_or_default(),
                ..DeletedSession::default()
            }));
        }
        found => found?,
    };
    let session = session_ref(&stored);
    match gateway.client().call(EngineRequest::DeleteSession { session }).await? {
        EngineReply::Deleted(deleted) => Ok(Json(deleted)),
        _ => Err(unexpected_reply()),
    }
}

/// The parts of a request, for a handler that needs several of them.
#[derive(Debug)]
pub(crate) struct RequestParts(Parts);

impl FromRequestParts<Arc<Gateway>> for RequestParts {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Gateway>) -> Result<RequestParts, ApiError> {
        Ok(RequestParts(parts.clone()))
    }
}

/// A path to copy into a new session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct ForkBody {
    position: ForkPlace,
    /// For `exactly` and `entry`.
    entry_id: Option<EntryId>,
    /// The store of the new session; by default, that of this session.
    store: Option<String>,
    name: Option<String>,
}

/// Where the path ends.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ForkPlace {
    /// At the leaf.
    #[default]
    Current,
    /// With `entryId`.
    Exactly,
    /// Where a move to `entryId` would end: before a message of the user.
    Entry,
}

impl ForkBody {
    fn position(&self) -> Result<ForkPosition, ApiError> {
        match (self.position, self.entry_id.clone()) {
            (ForkPlace::Current, None) => Ok(ForkPosition::Current),
            (ForkPlace::Exactly, Some(entry_id)) => Ok(ForkPosition::Exactly { entry_id }),
            (ForkPlace::Entry, Some(entry_id)) => Ok(ForkPosition::Entry { entry_id }),
            _ => Err(ApiError::invalid("`position` is `current`, or `exactly` or `entry` with `entryId`")),
        }
    }
}

/// Copies a path into a new session.
#[utoipa::path(post, path = "/api/sessions/{id}/fork", params(SessionPath, StoreParam), tag = "sessions", operation_id = "forkSession",
    request_body = ref("#/components/schemas/ForkBody"),
    responses((status = 201, description = "The new session", body = ref("#/components/schemas/ForkedSession"))))]
pub(crate) async fn fork(
    session: NamedSession,
    JsonBody(body): JsonBody<ForkBody>,
) -> Result<(StatusCode, Json<impl Serialize>), ApiError> {
    let (session_ref, from) = (session_ref(session.stored()), body.position()?);
    let fork = ForkOptions { session: session_ref, from, store: body.store, name: body.name };
    match session.gateway.client().call(EngineRequest::ForkSession(fork)).await? {
        EngineReply::Forked(forked) => Ok((StatusCode::CREATED, Json(forked))),
        EngineReply::Cancelled => {
            Err(ApiError::new(ErrorCode::Cancelled, "an extension refused the operation"))
        }
        _ => Err(unexpected_reply()),
    }
}

/// The end of the path of a branched session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct BranchBody {
    /// The last entry of the path; the leaf if absent.
    leaf_id: Option<String>,
}

/// Creates a session with the path to an entry. The entries keep their ids.
#[utoipa::path(post, path = "/api/sessions/{id}/branch", params(SessionPath, StoreParam), tag = "sessions",
    operation_id = "createBranchedSession", request_body = ref("#/components/schemas/BranchBody"),
    responses((status = 201, description = "The new session", body = ref("#/components/schemas/Session"))))]
pub(crate) async fn branch(
    session: NamedSession,
    JsonBody(body): JsonBody<BranchBody>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    Ok((StatusCode::CREATED, Json(session.operations.create_branched(body.leaf_id.as_deref()).await?)))
}
