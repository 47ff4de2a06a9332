//! One-time links: a browser follows one and gets a cookie.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

use crate::access::{Grant, GrantKind, now};
use crate::error::ApiError;
use crate::gateway::{COOKIE_LIFETIME, Gateway};

/// The page asks `/api/access` what it may show.
const START_PAGE: &str = "/";

/// Exchanges a link for a cookie, and continues without the link in the URL.
pub(crate) async fn log_in(
    State(gateway): State<Arc<Gateway>>,
    method: Method,
    Path(link): Path<String>,
) -> Result<Response, ApiError> {
    // A preview of the link must not use it up.
    if method != Method::GET {
        return Err(ApiError::with_status(StatusCode::METHOD_NOT_ALLOWED, "follow the link in a browser"));
    }
    let (now, token) = (now(), gateway.token_file().current().token);
    let link = Grant::verify(&link, GrantKind::Link, &token, now)
        .filter(|link| gateway.used_links().consume(link, now))
        .ok_or_else(|| {
            ApiError::unauthorized("the link was used or has expired; `osier token link` prints a new one")
        })?;
    let lifetime = link.cookie_millis.map_or(COOKIE_LIFETIME, Duration::from_millis);
    let cookie = Grant::new(GrantKind::Cookie, link.access, now, lifetime)
        .map_err(|error| ApiError::new(osier_protocol::ErrorCode::Failed, error.to_string()))?;
    let cookie = format!(
        "{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{}",
        gateway.cookie_name(),
        cookie.sign(&token),
        lifetime.as_secs(),
        if gateway.is_secure() { "; Secure" } else { "" },
    );
    let mut response = Redirect::to(START_PAGE).into_response();
    let cookie = HeaderValue::try_from(cookie).map_err(|_| ApiError::invalid("the cookie is not valid"))?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

/// Removes the cookie.
pub(crate) async fn log_out(State(gateway): State<Arc<Gateway>>) -> Response {
    let cookie = format!("{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0", gateway.cookie_name());
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
