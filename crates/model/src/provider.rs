//! A model provider: its URL, protocol, key source and settings.

use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use crate::compat::CompatSpec;
use crate::environment::Environment;
use crate::key::KeySource;
use crate::request::Api;

/// A server that offers models.
#[derive(Clone)]
pub struct Provider {
    pub id: String,
    pub name: String,
    pub api: Api,
    pub base_url: String,
    pub key: KeySource,
    /// Extra headers for every request. The values may be secrets.
    pub headers: Vec<(String, SecretString)>,
    /// Also accept model names that are not in the registry.
    pub any_model: bool,
    pub compat: CompatSpec,
    pub timeouts: Timeouts,
}

/// Timeouts for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the response starts. A small machine takes minutes to process a long prompt.
    pub response: Duration,
    /// Between two chunks of a response.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { response: Duration::from_secs(600), idle: Duration::from_secs(300) }
    }
}

/// What requests to a server need: its key, if it needs one, and its headers.
#[derive(Debug, Clone, Default)]
pub struct ProviderAccess {
    key: Option<SecretString>,
    headers: Vec<(String, SecretString)>,
}

impl ProviderAccess {
    /// The key in plain text, for code that the user trusts with it.
    pub fn expose_key(&self) -> Option<&str> {
        self.key.as_ref().map(ExposeSecret::expose_secret)
    }

    /// The headers in plain text.
    pub fn expose_headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.expose_secret()))
    }
}

impl Provider {
    /// What requests need. May run the command that prints the key. The error says what is missing.
    pub async fn access(&self, environment: &Environment) -> Result<ProviderAccess, String> {
        let key = self.key.fetch(environment).await?;
        Ok(ProviderAccess { key, headers: self.headers.clone() })
    }

    /// A server that needs no key.
    pub fn new(id: impl Into<String>, api: Api, base_url: impl Into<String>) -> Provider {
        let id = id.into();
        Provider {
            name: id.clone(),
            id,
            api,
            base_url: base_url.into(),
            key: KeySource::None,
            headers: Vec::new(),
            any_model: true,
            compat: CompatSpec::default(),
            timeouts: Timeouts::default(),
        }
    }

    /// The URL of a path below the base URL. The base URL may end with `/v1` or not.
    pub(crate) fn url(&self, path: &str) -> String {
        let base = self.base_url.trim_end_matches('/');
        let path = match (base.ends_with("/v1"), path.strip_prefix("/v1/")) {
            (true, Some(rest)) => format!("/{rest}"),
            _ => path.to_owned(),
        };
        format!("{base}{path}")
    }

    /// Whether the server runs on this machine.
    pub(crate) fn is_local(&self) -> bool {
        let host = self.base_url.split("://").nth(1).unwrap_or(&self.base_url);
        ["localhost", "127.", "[::1]", "0.0.0.0"].iter().any(|local| host.starts_with(local))
    }

    /// Values to redact in errors: all header values, and the password and query values in the URL.
    pub(crate) fn secrets(&self) -> Vec<SecretString> {
        self.headers.iter().map(|(_, value)| value.clone()).chain(self.secrets_in_url()).collect()
    }

    /// The secrets that grant access: values of headers with names like `authorization`, and those in the URL.
    pub fn credentials(&self) -> Vec<SecretString> {
        let is_credential = |name: &str| {
            let name = name.to_ascii_lowercase();
            ["auth", "key", "token", "secret", "cookie"].iter().any(|word| name.contains(word))
        };
        let headers =
            self.headers.iter().filter(|(name, _)| is_credential(name)).map(|(_, value)| value.clone());
        headers.chain(self.secrets_in_url()).collect()
    }

    fn secrets_in_url(&self) -> Vec<SecretString> {
        let rest = self.base_url.split_once("://").map_or(&*self.base_url, |(_, rest)| rest);
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let user = rest[..end].rsplit_once('@').map(|(user, _)| user);
        let password = user.map(|user| user.split_once(':').map_or(user, |(_, password)| password));
        let query = rest.split_once('?').map(|(_, query)| query);
        let values = query
            .into_iter()
            .flat_map(|query| query.split('&'))
            .map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
        password.into_iter().chain(values).map(SecretString::from).collect()
    }
}

/// Omits header values, and secrets in the URL.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Provider")
            .field("id", &self.id)
            .field("api", &self.api)
            .field("base_url", &display_url(&self.base_url))
            .field("key", &self.key)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// Compares header values too.
impl PartialEq for Provider {
    fn eq(&self, other: &Provider) -> bool {
        let headers = |provider: &Provider| {
            provider
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), value.expose_secret().to_owned()))
                .collect::<Vec<_>>()
        };
        (&self.id, self.api, &self.base_url, &self.key) == (&other.id, other.api, &other.base_url, &other.key)
            && headers(self) == headers(other)
    }
}

/// The URL without user, password, query and fragment, for display.
pub fn display_url(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next().unwrap_or_default();
    let path = rest[end..].split(['?', '#']).next().unwrap_or_default();
    if scheme.is_empty() { format!("{host}{path}") } else { format!("{scheme}://{host}{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_path_is_not_repeated() {
        let url = |base: &str, path: &str| Provider::new("p", Api::AnthropicMessages, base).url(path);
        assert_eq!(url("https://api.anthropic.com", "/v1/messages"), "https://api.anthropic.com/v1/messages");
        assert_eq!(url("http://127.0.0.1:8099/v1/", "/v1/messages"), "http://127.0.0.1:8099/v1/messages");
        assert_eq!(
            url("http://127.0.0.1:8099/v1", "/chat/completions"),
            "http://127.0.0.1:8099/v1/chat/completions"
        );
    }

    #[test]
    fn debug_output_contains_no_secrets() {
        let mut provider =
            Provider::new("p", Api::OpenaiCompletions, "https://me:hunter2@host/v1?key=hunter2");
        provider.headers.push(("x-token".to_owned(), SecretString::from("hunter2")));
        let shown = format!("{provider:?}");
        assert!(
            !shown.contains("hunter2") && shown.contains("https://host/v1") && shown.contains("x-token"),
            "{shown}"
        );
    }
}
