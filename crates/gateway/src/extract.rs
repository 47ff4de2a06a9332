//! Reads requests: JSON bodies, queries, and the session in a path. What is wrong becomes an [`ApiError`].

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::IntoResponse;
use osier_engine::{FindScope, SessionOperations, StoredSession};
use osier_protocol::{Client, ClientCommand, CommandReply, plain_json_error};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::access::{GrantedAccess, RequestAccess};
use crate::error::ApiError;
use crate::gateway::Gateway;

/// A JSON body. An empty body is an empty object.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<Gateway>> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, gateway: &Arc<Gateway>) -> Result<JsonBody<T>, ApiError> {
        let JsonText(text) = JsonText::from_request(request, gateway).await?;
        let text: &[u8] = if text.is_empty() { b"{}" } else { &text };
        // Fields could also be read from an array, by their order.
        if text.trim_ascii_start().starts_with(b"[") {
            return Err(ApiError::invalid("the body is not valid: it must be an object, such as {}"));
        }
        let parsed = serde_json::from_slice(text);
        parsed.map(JsonBody).map_err(|error| {
            ApiError::invalid(format!("the body is not valid: {}", plain_json_error(&error.to_string())))
        })
    }
}

/// A JSON body that is stored as it is.
#[derive(Debug)]
pub(crate) struct JsonText(pub(crate) Bytes);

impl FromRequest<Arc<Gateway>> for JsonText {
    type Rejection = ApiError;

    async fn from_request(request: Request, gateway: &Arc<Gateway>) -> Result<JsonText, ApiError> {
        let is_json = is_json(request.headers());
        let body = Bytes::from_request(request, gateway).await.map_err(|rejection| {
            ApiError::with_status(
                rejection.into_response().status(),
                "cannot read the body: it is incomplete, or larger than 32 MB",
            )
        })?;
        // A form of another site cannot send this type.
        if !body.is_empty() && !is_json {
            let wanted = "the body must be JSON; send the header `Content-Type: application/json`";
            return Err(ApiError::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, wanted));
        }
        Ok(JsonText(body))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// The parameters after `?`.
#[derive(Debug)]
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<Gateway>> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Gateway>) -> Result<Params<T>, ApiError> {
        parse_query(&parts.uri).map(Params)
    }
}

fn parse_query<T: DeserializeOwned>(uri: &Uri) -> Result<T, ApiError> {
    let parsed = Query::try_from_uri(uri);
    parsed.map(|Query(params)| params).map_err(|error| {
        let reason = error.body_text();
        let reason = reason.strip_prefix("Failed to deserialize query string: ").unwrap_or(&reason);
        ApiError::invalid(format!("the query is not valid: {}", plain_json_error(reason)))
    })
}

/// The session of a request.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[allow(dead_code, reason = "it describes the path")]
pub(crate) struct SessionPath {
    /// The id of the session, or the first characters of it.
    id: String,
}

/// An entry of the session of a request.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[allow(dead_code, reason = "it describes the path")]
pub(crate) struct EntryPath {
    /// The id of the session, or the first characters of it.
    id: String,
    /// The id of the entry, or the first characters of it.
    entry: String,
}

/// The store of the session of a request.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StoreParam {
    /// The store, if several have a session with this id.
    pub(crate) store: Option<String>,
}

/// The session that the path of a request names.
#[derive(Debug)]
pub(crate) struct NamedSession {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) operations: SessionOperations,
    access: GrantedAccess,
    /// The entry in the path.
    entry: Option<String>,
}

impl FromRequestParts<Arc<Gateway>> for NamedSession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, gateway: &Arc<Gateway>) -> Result<NamedSession, ApiError> {
        let Params(StoreParam { store }) = Params::from_request_parts(parts, gateway).await?;
        let access = request_access(parts)?;
        let (id, entry) = (path_part(parts, "id").await?, path_part(parts, "entry").await.ok());
        let stored = gateway.find(&access, &id, store.as_deref(), FindScope::Any).await?;
        let operations = gateway.engine().operations(stored);
        Ok(NamedSession { gateway: gateway.clone(), operations, access, entry })
    }
}

impl NamedSession {
    pub(crate) fn entry(&self) -> &str {
        self.entry.as_deref().unwrap_or_default()
    }

    pub(crate) fn stored(&self) -> &StoredSession {
        self.operations.stored()
    }

    /// A client that reads the session without an agent.
    pub(crate) async fn reader(&self) -> Result<Arc<dyn Client>, ApiError> {
        Ok(Arc::new(self.gateway.engine().read(self.stored()).await?))
    }

    /// Connects to the agent of the session, which starts if it does not work there already.
    pub(crate) async fn client(&self) -> Result<Arc<dyn Client>, ApiError> {
        if self.access != GrantedAccess::Full {
            return Err(ApiError::read_only());
        }
        Ok(self.gateway.open(self.stored()).await?.client)
    }

    pub(crate) async fn send(&self, command: ClientCommand) -> Result<axum::Json<CommandReply>, ApiError> {
        Ok(axum::Json(self.client().await?.send(command).await?))
    }
}

/// What the bearer of a request may do.
pub(crate) fn request_access(parts: &Parts) -> Result<GrantedAccess, ApiError> {
    let access = parts.extensions.get::<RequestAccess>().map(|granted| granted.access.clone());
    access.ok_or_else(ApiError::no_token)
}

pub(crate) async fn path_part(parts: &mut Parts, name: &str) -> Result<String, ApiError> {
    let params = RawPathParams::from_request_parts(parts, &()).await;
    let params = params.map_err(|_| ApiError::invalid("the path is not valid UTF-8"))?;
    let part = params.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned());
    part.ok_or_else(|| ApiError::invalid("the path is not valid"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parameters of all types that handlers have.
    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct SomeParams {
        text: Option<String>,
        limit: Option<usize>,
        #[serde(default)]
        with_context: bool,
    }

    fn parse(query: &str) -> Option<Result<SomeParams, ApiError>> {
        // The HTTP library refuses what is not a URI.
        let uri: Uri = format!("/api/sessions?{query}").parse().ok()?;
        Some(parse_query(&uri))
    }

    proptest! {
        #[test]
        fn any_query_is_parameters_or_refused(query in "((text|limit|withContext|[a-z])=?[!-~]{0,8}&?){0,4}") {
            if let Some(Err(error)) = parse(&query) {
                prop_assert_eq!(error.into_response().status(), StatusCode::BAD_REQUEST);
            }
        }

        #[test]
        fn any_text_arrives_as_it_was(text in any::<String>(), limit in any::<usize>(), with in any::<bool>()) {
            let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let params = parse(&format!("limit={limit}&text={encoded}&withContext={with}")).unwrap().unwrap();
            prop_assert_eq!((params.text, params.limit, params.with_context), (Some(text), Some(limit), with));
        }
    }
}
