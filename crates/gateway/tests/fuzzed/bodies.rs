//! The properties of readers, for the tests and for the fuzz targets.

use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use osier_gateway::{GatewayToken, Grant, GrantKind, GrantedAccess, HostRules};

/// Any headers are allowed or refused. A request that is allowed names this machine, and a page that sends it has the same name.
pub(crate) fn headers(data: &[u8]) {
    let headers = read_headers(data);
    if !HostRules::default().allows(&Method::POST, &Uri::from_static("/api"), &headers) {
        return;
    }
    let hosts: Vec<&str> = headers.get_all("host").iter().map(|host| host.to_str().unwrap()).collect();
    let [host] = hosts[..] else { panic!("one host: {hosts:?}") };
    let name = without_port(host);
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
    assert!(
        name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback()),
        "{host}"
    );
    if let Some(origin) = headers.get("origin") {
        let (_, authority) = origin.to_str().unwrap().split_once("://").expect("an origin has a scheme");
        let authority = authority.split(['/', '?', '#']).next().unwrap();
        assert!(without_port(authority).eq_ignore_ascii_case(name), "{origin:?} for {host}");
    }
}

/// Lines of `name: value`. What is not a header is ignored, as the HTTP library refuses it before.
fn read_headers(data: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    headers
}

fn without_port(authority: &str) -> &str {
    match authority.starts_with('[') {
        true => authority.split_inclusive(']').next().unwrap_or_default(),
        false => authority.split(':').next().unwrap_or_default(),
    }
}

/// The first two bytes say which part of a valid grant the rest replaces. It is a grant only if nothing changed.
pub(crate) fn grant(data: &[u8]) {
    static VALID: OnceLock<(GatewayToken, String)> = OnceLock::new();
    let (token, valid) = VALID.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let token = GatewayToken::load_or_create(&folder.path().join("token")).unwrap();
        let grant = Grant::new(GrantKind::Cookie, GrantedAccess::Full, 0, Duration::from_secs(60)).unwrap();
        let text = grant.sign(&token);
        (token, text)
    });
    let [from, length, rest @ ..] = data else { return };
    let from = usize::from(*from).min(valid.len());
    let to = (from + usize::from(*length)).min(valid.len());
    let changed = format!("{}{}{}", &valid[..from], String::from_utf8_lossy(rest), &valid[to..]);
    for kind in [GrantKind::Cookie, GrantKind::Link, GrantKind::Token] {
        let is_grant = Grant::verify(&changed, kind, token, 1).is_some();
        assert_eq!(is_grant, kind == GrantKind::Cookie && changed == *valid, "{changed}");
    }
}
