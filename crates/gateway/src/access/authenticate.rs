//! Finds out what a request may do, from its header `Authorization` or its cookie.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, COOKIE, ORIGIN};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::Response;
use tokio_util::sync::CancellationToken;

use super::grant::{Grant, GrantKind, GrantedAccess};
use super::now;
use super::token::GatewayToken;
use super::token_file::CurrentToken;
use crate::error::ApiError;
use crate::gateway::Gateway;

/// Where read-only tokens are valid: below one session, which the handlers check, and where no session is named.
const SESSIONS: &str = "/api/sessions/";
const WEB_SOCKET: &str = "/ws";
const ACCESS: &str = "/api/access";
/// They are not `GET`, and change nothing in a session.
const HARMLESS_POSTS: [&str; 2] = ["/api/render", "/logout"];

/// What a request may do. Handlers find it in the extensions of the request.
#[derive(Debug, Clone)]
pub(crate) struct RequestAccess {
    pub(crate) access: GrantedAccess,
    /// Milliseconds since 1970; `None` for the token of the gateway.
    pub(crate) expires: Option<u64>,
    /// Canceled when the token of the gateway is replaced.
    pub(crate) revoked: CancellationToken,
}

/// Refuses requests without access.
pub(crate) async fn authenticate(
    State(gateway): State<Arc<Gateway>>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    // A browser lets every page open a WebSocket.
    let is_harmless = request.method().is_safe() && request.uri().path() != WEB_SOCKET;
    let access = find_access(&gateway, is_harmless, request.headers())
        .ok_or_else(|| refusal(&gateway.token_file().current().token, request.headers()))?;
    if access.access != GrantedAccess::Full && !is_read(&request) {
        return Err(ApiError::read_only());
    }
    request.extensions_mut().insert(access);
    Ok(next.run(request).await)
}

/// Why a request has no access.
fn refusal(token: &GatewayToken, headers: &HeaderMap) -> ApiError {
    let has_expired = |given| Grant::has_expired(given, GrantKind::Token, token, now());
    if bearer_token(headers).is_some_and(has_expired) { ApiError::expired() } else { ApiError::no_token() }
}

fn is_read(request: &Request) -> bool {
    let path = request.uri().path();
    match *request.method() {
        Method::GET => path.starts_with(SESSIONS) || path == WEB_SOCKET || path == ACCESS,
        Method::POST => HARMLESS_POSTS.contains(&path),
        _ => false,
    }
}

fn find_access(gateway: &Gateway, is_harmless: bool, headers: &HeaderMap) -> Option<RequestAccess> {
    let CurrentToken { token, replaced } = gateway.token_file().current();
    let (access, expires) = find_grant(&token, gateway.cookie_name(), is_harmless, headers)?;
    Some(RequestAccess { access, expires, revoked: replaced })
}

/// What a request may do, and when that ends.
fn find_grant(
    token: &GatewayToken,
    cookie_name: &str,
    is_harmless: bool,
    headers: &HeaderMap,
) -> Option<(GrantedAccess, Option<u64>)> {
    if let Some(given) = bearer_token(headers) {
        // A wrong token is an error even if there is a cookie.
        return bearer_grant(token, given);
    }
    let grant = cookies(headers, cookie_name)
        .find_map(|cookie| Grant::verify(cookie, GrantKind::Cookie, token, now()))?;
    (is_harmless || is_own_page(headers)).then_some((grant.access, Some(grant.expires)))
}

/// The token in the header `Authorization`. A password there is for a proxy before the gateway.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, given) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(given.trim())
}

fn bearer_grant(token: &GatewayToken, given: &str) -> Option<(GrantedAccess, Option<u64>)> {
    if token.matches(given) {
        return Some((GrantedAccess::Full, None));
    }
    let grant = Grant::verify(given, GrantKind::Token, token, now())?;
    Some((grant.access, Some(grant.expires)))
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

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::time::Duration;

    use axum::http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    /// A token and a cookie of it.
    fn token_and_cookie() -> &'static (GatewayToken, String) {
        static TOKEN: OnceLock<(GatewayToken, String)> = OnceLock::new();
        TOKEN.get_or_init(|| {
            let token = GatewayToken::random().unwrap();
            let hour = Duration::from_secs(3600);
            let grant = Grant::new(GrantKind::Cookie, GrantedAccess::Full, now(), hour).unwrap();
            let cookie = grant.sign(&token);
            (token, cookie)
        })
    }

    fn pairs() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("([a-z_1]{0,4}=)?[a-z=\"]{0,4}", 0..4)
    }

    proptest! {
        #[test]
        fn any_headers_without_the_token_give_no_access(
            authorization in prop::option::of(prop::collection::vec(any::<u8>(), 0..40)),
            scheme in "(Bearer|bearer|Basic)? ?",
            cookies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..3),
        ) {
            let mut headers = HeaderMap::new();
            let authorization = authorization.map(|rest| [scheme.as_bytes(), &rest].concat());
            let named = cookies.into_iter().map(|rest| (COOKIE, [b"osier_1=", &rest[..]].concat()));
            for (name, value) in authorization.map(|value| (AUTHORIZATION, value)).into_iter().chain(named) {
                if let Ok(value) = HeaderValue::from_bytes(&value) {
                    headers.append(name, value);
                }
            }
            prop_assert_eq!(find_grant(&token_and_cookie().0, "osier_1", true, &headers), None);
        }

        #[test]
        fn the_token_counts_however_the_scheme_is_written(scheme in "[bB][eE][aA][rR][eE][rR] {1,3}", end in " {0,3}") {
            let (token, _) = token_and_cookie();
            let header = ("authorization", format!("{scheme}{}{end}", token.reveal()));
            prop_assert_eq!(grant(token, &[header]), Some(GrantedAccess::Full));
        }

        #[test]
        fn a_cookie_counts_among_others_and_changes_nothing_for_another_page(before in pairs(), after in pairs(), gap in " {0,2}") {
            let (token, cookie) = token_and_cookie();
            let all: Vec<String> = [before, vec![format!("osier_1={cookie}")], after].concat();
            let header = HeaderValue::from_str(&all.join(&format!(";{gap}"))).unwrap();
            let mut headers = HeaderMap::from_iter([(COOKIE, header)]);
            let access = |headers: &HeaderMap, is_harmless| {
                find_grant(token, "osier_1", is_harmless, headers).map(|(access, _)| access)
            };
            prop_assert_eq!(access(&headers, true), Some(GrantedAccess::Full));
            prop_assert_eq!(access(&headers, false), None, "another page may have sent it");
            headers.insert("sec-fetch-site", HeaderValue::from_static("same-origin"));
            prop_assert_eq!(access(&headers, false), Some(GrantedAccess::Full));
        }
    }

    #[test]
    fn an_expired_token_is_not_called_a_wrong_one() {
        let token = GatewayToken::random().unwrap();
        let message = |given: &str| {
            let header = HeaderValue::from_str(&format!("Bearer {given}")).unwrap();
            format!("{:?}", refusal(&token, &HeaderMap::from_iter([(AUTHORIZATION, header)])))
        };
        let hour = Duration::from_secs(3600);
        let expired = Grant::new(GrantKind::Token, GrantedAccess::Full, 1000, hour).unwrap().sign(&token);
        assert!(message(&expired).contains("expired"), "{}", message(&expired));
        assert!(!message("wrong").contains("expired"));
    }

    fn grant(token: &GatewayToken, headers: &[(&'static str, String)]) -> Option<GrantedAccess> {
        let headers =
            headers.iter().map(|(name, value)| ((*name).try_into().unwrap(), value.parse().unwrap()));
        find_grant(token, "osier_1", true, &headers.collect()).map(|(access, _)| access)
    }

    #[test]
    fn a_cookie_counts_unless_there_is_a_bearer_token() {
        let token = GatewayToken::random().unwrap();
        let hour = Duration::from_secs(3600);
        let cookie = Grant::new(GrantKind::Cookie, GrantedAccess::Full, now(), hour).unwrap().sign(&token);
        let cookie = ("cookie", format!("other=1; osier_1={cookie}"));
        assert_eq!(grant(&token, &[]), None);
        assert_eq!(grant(&token, std::slice::from_ref(&cookie)), Some(GrantedAccess::Full));
        // A proxy may ask for a password of its own.
        for other in ["Basic dXNlcjpwYXNz", "Basic", "Digest a=b", ""] {
            let header = ("authorization", other.to_owned());
            assert_eq!(grant(&token, std::slice::from_ref(&header)), None, "{other}");
            assert_eq!(grant(&token, &[header, cookie.clone()]), Some(GrantedAccess::Full), "{other}");
        }
        for wrong in ["Bearer wrong", "bearer  ", "Bearer "] {
            let header = ("authorization", wrong.to_owned());
            assert_eq!(grant(&token, &[header, cookie.clone()]), None, "{wrong}");
        }
        let right = ("authorization", format!("Bearer {}", token.reveal()));
        assert_eq!(grant(&token, &[right]), Some(GrantedAccess::Full));
    }
}
