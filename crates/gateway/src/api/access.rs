//! What the sender of a request may do, for clients that got their access from somebody else.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use osier_protocol::{SessionId, SessionRef};
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::{GrantedAccess, RequestAccess};
use crate::error::ApiError;
use crate::gateway::Gateway;

/// What a client may do.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "access", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum AccessDescription {
    /// Everything.
    Full {
        /// When the cookie expires, in milliseconds since 1970; absent for the token of the gateway.
        #[serde(skip_serializing_if = "Option::is_none")]
        expires: Option<u64>,
    },
    /// Only read one session.
    ReadSession {
        session: SessionRef,
        /// The id of the session in paths.
        session_id: SessionId,
        /// When the access ends, in milliseconds since 1970.
        #[serde(skip_serializing_if = "Option::is_none")]
        expires: Option<u64>,
    },
}

/// Tells a client what it may do.
#[utoipa::path(get, path = "/api/access", tag = "engine", operation_id = "getAccess",
    responses((status = 200, description = "What the client may do", body = ref("#/components/schemas/AccessDescription"))))]
pub(crate) async fn describe(
    State(gateway): State<Arc<Gateway>>,
    Extension(RequestAccess { access, expires, .. }): Extension<RequestAccess>,
) -> Result<Json<AccessDescription>, ApiError> {
    Ok(Json(match access {
        GrantedAccess::Full => AccessDescription::Full { expires },
        GrantedAccess::ReadSession(session) => {
            let stored = gateway.engine().session_at(&session.store, &session.key).await?;
            let session_id = stored.opened.header.id.as_str().into();
            AccessDescription::ReadSession { session, session_id, expires }
        }
    }))
}
