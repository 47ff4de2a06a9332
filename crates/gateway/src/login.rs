//! One-time links: a browser follows one and gets a cookie.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use osier_protocol::ErrorCode;

use crate::access::{GatewayToken, Grant, GrantKind, now};
use crate::error::ApiError;
use crate::gateway::{COOKIE_LIFETIME, Gateway};
use crate::page::notice_page;

/// The page asks `/api/access` what it may show.
const START_PAGE: &str = "/";

/// What to do about a link that does not log in. People see it in their browser.
const INVALID_LINK: &str = "<p>A link logs a browser in once, and within ten minutes. To get a new one, run <code>osier token link</code> on \
    the machine of the gateway, and open the link that it prints.</p>
<p>If this browser is logged in already, <a href=\"/\">open Osier</a>.</p>";

/// Exchanges a link for a cookie, and continues without the link in the URL.
pub(crate) async fn log_in(
    State(gateway): State<Arc<Gateway>>,
    method: Method,
    Path(link): Path<String>,
) -> Result<Response, ApiError> {
    // A preview of the link must not use it up.
    if method != Method::GET {
        let message = "cannot log in with this method; open the link in a browser";
        return Err(ApiError::with_status(StatusCode::METHOD_NOT_ALLOWED, message));
    }
    let (now, token) = (now(), gateway.token_file().current().token);
    let Some(link) = Grant::verify(&link, GrantKind::Link, &token, now) else { return Ok(invalid_link()) };
    let is_new = gateway.used_links().consume(&link, now).map_err(|error| {
        let message = format!("cannot remember that the link was used, so it does not log in: {error}");
        ApiError::new(ErrorCode::Io, message)
    })?;
    if is_new { set_cookie(&gateway, &token, link, now) } else { Ok(invalid_link()) }
}

fn invalid_link() -> Response {
    notice_page(StatusCode::UNAUTHORIZED, "This link does not work any more", INVALID_LINK)
}

/// The response that gives a browser its cookie.
fn set_cookie(gateway: &Gateway, token: &GatewayToken, link: Grant, now: u64) -> Result<Response, ApiError> {
    let lifetime = link.cookie_millis.map_or(COOKIE_LIFETIME, Duration::from_millis);
    let cookie = Grant::new(GrantKind::Cookie, link.access, now, lifetime)
        .map_err(|error| ApiError::new(ErrorCode::Failed, error.to_string()))?;
    let cookie = format!(
        "{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{}",
        gateway.cookie_name(),
        cookie.sign(token),
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
