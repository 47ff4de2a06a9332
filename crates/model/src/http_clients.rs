//! The HTTP clients, shared by all providers and created on first use.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::redirect;

use crate::environment::Environment;
use crate::retry::RetryPolicy;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
const LOCAL_HOSTS: &str = "localhost,127.0.0.1,::1";

/// What all remote models share.
#[derive(Debug, Clone)]
pub(crate) struct HttpTransport {
    pub(crate) environment: Environment,
    pub(crate) retry: RetryPolicy,
    clients: Arc<HttpClients>,
}

/// The client for plain HTTP does not load the system certificates, because loading them takes time and memory.
#[derive(Debug, Default)]
struct HttpClients {
    encrypted: OnceLock<Result<reqwest::Client, String>>,
    plain: OnceLock<Result<reqwest::Client, String>>,
}

impl HttpTransport {
    pub(crate) fn new(environment: Environment, retry: RetryPolicy) -> HttpTransport {
        HttpTransport { environment, retry, clients: Arc::default() }
    }

    pub(crate) fn client(&self, url: &str) -> Result<reqwest::Client, String> {
        let is_plain = url.starts_with("http://");
        let client = if is_plain { &self.clients.plain } else { &self.clients.encrypted };
        let build = || build_client(&self.environment, is_plain, redirect::Policy::none());
        client.get_or_init(build).clone()
    }
}

/// A client for requests that are not model calls: without keys, so it may follow redirects.
pub fn plain_http_client(
    environment: &Environment,
    follows_redirects: bool,
) -> Result<reqwest::Client, String> {
    let redirects = if follows_redirects { redirect::Policy::limited(10) } else { redirect::Policy::none() };
    build_client(environment, false, redirects)
}

fn build_client(
    environment: &Environment,
    is_plain: bool,
    redirects: redirect::Policy,
) -> Result<reqwest::Client, String> {
    // Fails only if the process already installed a provider, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("osier/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(Duration::from_secs(30))
        // A redirect of a model call would send the key to another server.
        .redirect(redirects)
        .no_proxy();
    if is_plain {
        builder = builder.tls_certs_only([]);
    }
    for proxy in proxies(environment)? {
        builder = builder.proxy(proxy);
    }
    builder.build().map_err(|error| error_chain(&error))
}

/// Reads the usual proxy variables. Local addresses never use a proxy.
fn proxies(environment: &Environment) -> Result<Vec<reqwest::Proxy>, String> {
    let var = |name: &str| environment.var(name).or_else(|| environment.var(&name.to_lowercase()));
    let except = format!("{LOCAL_HOSTS},{}", var("NO_PROXY").unwrap_or_default());
    let all = var("ALL_PROXY");
    let https = var("HTTPS_PROXY").or_else(|| all.clone()).map(reqwest::Proxy::https);
    let http = var("HTTP_PROXY").or(all).map(reqwest::Proxy::http);
    let proxies = https.into_iter().chain(http);
    proxies
        .map(|proxy| match proxy {
            Ok(proxy) => Ok(proxy.no_proxy(reqwest::NoProxy::from_string(&except))),
            Err(_) => {
                Err("a proxy variable (HTTPS_PROXY, HTTP_PROXY or ALL_PROXY) is not a valid URL".to_owned())
            }
        })
        .collect()
}

/// Prefixes of error texts that carry no information.
const GENERIC_ERROR_PREFIXES: &[&str] = &[
    "error sending request",
    "client error",
    "error decoding response body",
    "request or response body error",
];

/// The error and its causes as text. Skips causes that repeat others or carry no information.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut causes: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        let is_specific =
            !GENERIC_ERROR_PREFIXES.iter().any(|prefix| text.starts_with(prefix)) || error.source().is_none();
        if is_specific && !causes.iter().any(|cause| cause.contains(&text)) {
            causes.push(text);
        }
        next = error.source();
    }
    causes.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(proxy: Option<&'static str>) -> HttpTransport {
        let environment =
            Environment::new(move |name| proxy.filter(|_| name == "HTTPS_PROXY").map(str::to_owned));
        HttpTransport::new(environment, RetryPolicy::default())
    }

    #[test]
    fn builds_clients_for_http_and_https() {
        for url in ["https://api.example", "http://127.0.0.1"] {
            assert!(net(None).client(url).is_ok(), "{url}");
            assert!(net(Some("http://proxy.example:3128")).client(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn invalid_proxy_is_reported_without_its_secrets() {
        let error = net(Some("http://me:hunter2@:::")).client("https://api.example").unwrap_err();
        assert!(error.contains("HTTPS_PROXY") && !error.contains("hunter2"), "{error}");
    }
}
