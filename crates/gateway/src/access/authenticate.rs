//! Finds out what a request may do, from its header `Authorization` or its cookie.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, COOKIE, ORIGIN};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::Response;

use super::grant::{Access, Grant, GrantKind};
use super::now;
use crate::error::ApiError;
use crate::gateway::Gateway;

/// Where read-only tokens are valid: below one session. The handlers check which one.
const SESSIONS: &str = "/api/sessions/";
const WEB_SOCKET: &str = "/ws";

/// Refuses requests without access. Handlers find the [`Access`] in the extensions of the request.
pub(crate) async fn authenticate(
    State(gateway): State<Arc<Gateway>>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    // A browser lets every page open a WebSocket.
    let is_harmless = request.method().is_safe() && request.uri().path() != WEB_SOCKET;
    let access = find_access(&gateway, is_harmless, request.headers())
        .ok_or_else(|| ApiError::unauthorized("the request has no valid token"))?;
    if access != Access::Full && !is_read(&request) {
        return Err(ApiError::forbidden("the token only allows reading one session"));
    }
    request.extensions_mut().insert(access);
    Ok(next.run(request).await)
}

fn is_read(request: &Request) -> bool {
    let path = request.uri().path();
    *request.method() == Method::GET && (path.starts_with(SESSIONS) || path == WEB_SOCKET)
}

fn find_access(gateway: &Gateway, is_harmless: bool, headers: &HeaderMap) -> Option<Access> {
    if let Some(header) = headers.get(AUTHORIZATION) {
        // A wrong token is an error even if there is a cookie.
        let given = header.to_str().ok()?;
        let (scheme, given) = given.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| bearer_access(gateway, given.trim()))?;
    }
    let access = cookies(headers, gateway.cookie_name())
        .find_map(|cookie| Grant::verify(cookie, GrantKind::Cookie, gateway.token(), now()))?
        .access;
    (is_harmless || is_own_page(headers)).then_some(access)
}

fn bearer_access(gateway: &Gateway, given: &str) -> Option<Access> {
    if gateway.token().matches(given) {
        return Some(Access::Full);
    }
    Some(Grant::verify(given, GrantKind::Token, gateway.token(), now())?.access)
}

/// Browsers add a cookie to requests of every page. Those that change something must state that they come from a page of the
/// gateway; [`super::check_host`] has checked the origin.
fn is_own_page(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN) || headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin")
}

/// The values of the cookies with this name.
fn cookies<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    let pairs = pairs.flat_map(|header| header.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(key, _)| *key == name).map(|(_, value)| value)
}
