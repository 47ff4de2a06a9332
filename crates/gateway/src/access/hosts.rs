//! Which names a gateway answers to, and which pages may send requests to it. A page on another site can make a browser send
//! requests here, and can make its own name point to this machine; both are refused.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderMap, HeaderValue, Method, Uri};
use axum::middleware::Next;
use axum::response::Response;

use crate::error::ApiError;
use crate::gateway::Gateway;

/// The names that requests may use for a gateway. Loopback names are always accepted, on any port, because a tunnel may
/// listen on another port.
#[derive(Debug, Clone, Default)]
pub struct HostRules {
    /// Names in addition to loopback names, without ports.
    pub names: Vec<String>,
    /// Whether any address is accepted. No page can have an address as its own name unless it is served from there.
    pub addresses: bool,
    /// Whether pages with other names than loopback names must use `https`.
    pub https: bool,
}

const OTHER_SITE: &str = "the request comes from a page of another site; open the page of the gateway itself";

impl HostRules {
    /// The host of a request, if the gateway answers to it.
    fn accepted_host(&self, uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
        let mut given = headers.get_all(HOST).iter();
        let header = match (given.next(), given.next()) {
            (Some(host), None) => Some(host.to_str().ok()?.parse::<Authority>().ok()?),
            (None, _) => None,
            (Some(_), Some(_)) => return None,
        };
        // Over HTTP/2, and through some proxies, the host is part of the URI. Both must agree.
        let host = match (header, uri.authority()) {
            (Some(header), Some(uri)) if header != *uri => return None,
            (Some(host), _) => host,
            (None, uri) => uri?.clone(),
        };
        let is_plain = !host.as_str().contains('@');
        (is_plain && self.accepts(host.host())).then_some(host)
    }

    fn accepts(&self, host: &str) -> bool {
        is_loopback(host)
            || self.names.iter().any(|name| name.eq_ignore_ascii_case(host))
            || (self.addresses && address(host).is_some())
    }

    /// Whether a page with this origin is a page of the gateway itself.
    fn is_own_page(&self, origin: &str, host: &Authority) -> bool {
        let Ok(origin) = origin.parse::<Uri>() else { return false };
        let (Some(scheme), Some(authority)) = (origin.scheme(), origin.authority()) else { return false };
        let is_https = *scheme == Scheme::HTTPS;
        let default_port = if is_https { 443 } else { 80 };
        let port = |authority: &Authority| authority.port_u16().unwrap_or(default_port);
        let same = authority.host().eq_ignore_ascii_case(host.host()) && port(authority) == port(host);
        let is_allowed_scheme =
            is_https || (*scheme == Scheme::HTTP && (!self.https || is_loopback(host.host())));
        same && is_allowed_scheme
    }

    /// Whether a request with these headers is answered.
    pub fn allows(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
        self.check(method, uri, headers).is_ok()
    }

    /// What is wrong with the host or the origin of a request.
    pub(crate) fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        let Some(host) = self.accepted_host(uri, headers) else {
            return Err(ApiError::forbidden(
                "the gateway does not answer to this host name; use localhost, or start it with `--allow-host NAME`",
            ));
        };
        match headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or_default()) {
            Some(origin) if !self.is_own_page(origin, &host) => Err(ApiError::forbidden(OTHER_SITE)),
            None if is_from_other_page(headers) && !is_navigation(method, headers) => {
                Err(ApiError::forbidden(OTHER_SITE))
            }
            _ => Ok(()),
        }
    }
}

/// A browser says that another site or another port caused the request.
fn is_from_other_page(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    site.is_some_and(|site| site != b"same-origin" && site != b"none")
}

/// The user follows a link. The other page does not see the answer.
fn is_navigation(method: &Method, headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|given| given == value);
    *method == Method::GET && is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document")
}

/// Whether a request names a loopback host.
pub(crate) fn names_loopback(uri: &Uri, headers: &HeaderMap) -> bool {
    let header = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    header.as_ref().or(uri.authority()).is_some_and(|host| is_loopback(host.host()))
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some_and(|address| address.is_loopback())
}

fn address(host: &str) -> Option<IpAddr> {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    inner.unwrap_or(host).parse().ok()
}

/// Refuses requests to other names and from other pages.
pub(crate) async fn check_host(
    State(gateway): State<Arc<Gateway>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    gateway.hosts().check(request.method(), request.uri(), request.headers())?;
    Ok(next.run(request).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rules: &HostRules, headers: &[(&'static str, &str)]) -> bool {
        let headers =
            headers.iter().map(|(name, value)| ((*name).try_into().unwrap(), value.parse().unwrap()));
        rules.check(&Method::POST, &Uri::from_static("/api"), &headers.collect()).is_ok()
    }

    #[test]
    fn loopback_names_are_accepted_on_any_port() {
        let rules = HostRules::default();
        for host in ["localhost", "LOCALHOST:9", "127.0.0.1:7433", "127.9.9.9", "[::1]:80"] {
            assert!(check(&rules, &[("host", host)]), "{host}");
        }
    }

    #[test]
    fn other_names_are_accepted_only_if_configured() {
        let other = [
            "example.com",
            "localhost.example.com",
            "127.0.0.1.nip.io",
            "192.168.1.2",
            "[::2]",
            "a@localhost",
        ];
        for host in other {
            assert!(!check(&HostRules::default(), &[("host", host)]), "{host}");
        }
        assert!(!check(&HostRules::default(), &[]), "no host");
        let rules = HostRules { names: vec!["example.com".to_owned()], addresses: true, https: true };
        for (host, accepted) in [("example.com:8443", true), ("192.168.1.2:80", true), ("other.com", false)] {
            assert_eq!(check(&rules, &[("host", host)]), accepted, "{host}");
        }
    }

    #[test]
    fn pages_of_other_sites_and_other_ports_are_refused() {
        let from = |origin| check(&HostRules::default(), &[("host", "localhost:7433"), ("origin", origin)]);
        assert!(from("http://localhost:7433") && from("https://localhost:7433"));
        for origin in [
            "http://localhost:3000",
            "http://127.0.0.1:7433",
            "http://evil.example",
            "null",
            "",
            "file://",
            "http://localhost",
        ] {
            assert!(!from(origin), "{origin}");
        }
        assert!(check(&HostRules::default(), &[("host", "localhost"), ("origin", "http://localhost:80")]));
    }

    #[test]
    fn a_configured_name_needs_https() {
        let rules = HostRules { names: vec!["example.com".to_owned()], addresses: false, https: true };
        assert!(check(&rules, &[("host", "example.com"), ("origin", "https://example.com")]));
        assert!(!check(&rules, &[("host", "example.com"), ("origin", "http://example.com")]));
        assert!(check(&rules, &[("host", "localhost:1"), ("origin", "http://localhost:1")]));
    }

    #[test]
    fn a_browser_that_names_another_site_is_refused_unless_the_user_follows_a_link() {
        let rules = HostRules::default();
        let fetch = |site| check(&rules, &[("host", "localhost"), ("sec-fetch-site", site)]);
        assert!(fetch("same-origin") && fetch("none"));
        assert!(!fetch("cross-site") && !fetch("same-site"));
        let headers: HeaderMap = [
            ("host", "localhost"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ]
        .into_iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect();
        assert!(rules.check(&Method::GET, &Uri::from_static("/"), &headers).is_ok());
        assert!(rules.check(&Method::POST, &Uri::from_static("/"), &headers).is_err());
    }
}
