//! `fetch` of extensions. Osier sends the request; the extension reads the body in pieces.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use osier_model::{Environment, plain_http_client};
use reqwest::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::calls::ExtensionCall;
use super::screen::ExtensionPlace;
use super::session::CallKey;
use crate::frame::Failure;
use crate::grants::Grant;

/// A response whose body is not read yet. One call at a time reads it.
type OpenBody = Arc<tokio::sync::Mutex<Response>>;

/// The HTTP clients of a session, and the responses whose bodies are not read yet.
#[derive(Debug, Default)]
pub(crate) struct FetchState {
    following: OnceLock<Result<reqwest::Client, String>>,
    not_following: OnceLock<Result<reqwest::Client, String>>,
    /// `None` for a request without a response yet.
    bodies: Mutex<HashMap<CallKey, Option<OpenBody>>>,
    last: AtomicU64,
}

impl FetchState {
    /// Drops the responses of an extension that has ended.
    pub(super) fn forget(&self, place: ExtensionPlace) {
        self.bodies().retain(|key, _| (key.0, key.1) != place);
    }

    fn bodies(&self) -> MutexGuard<'_, HashMap<CallKey, Option<OpenBody>>> {
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a response of an extension, before its request is sent.
    fn reserve(&self, (process, extension): ExtensionPlace) -> Result<ReservedBody<'_>, Failure> {
        let mut bodies = self.bodies();
        if bodies.keys().filter(|key| (key.0, key.1) == (process, extension)).count() >= MAX_OPEN {
            return Err(Failure::new("fetch failed: too many responses are not read"));
        }
        let key = (process, extension, self.last.fetch_add(1, Ordering::Relaxed));
        bodies.insert(key, None);
        Ok(ReservedBody { state: self, key, is_filled: false })
    }
}

/// The place of a response. It is free again if no response comes.
struct ReservedBody<'a> {
    state: &'a FetchState,
    key: CallKey,
    is_filled: bool,
}

impl ReservedBody<'_> {
    /// Does nothing if the extension has ended meanwhile.
    fn fill(mut self, response: Response) {
        self.is_filled = true;
        if let Some(place) = self.state.bodies().get_mut(&self.key) {
            *place = Some(Arc::new(tokio::sync::Mutex::new(response)));
        }
    }
}

impl Drop for ReservedBody<'_> {
    fn drop(&mut self) {
        if !self.is_filled {
            self.state.bodies().remove(&self.key);
        }
    }
}

#[derive(Debug, Deserialize)]
struct FetchRequest {
    url: String,
    method: String,
    headers: Vec<(String, String)>,
    /// Base64.
    body: Option<String>,
    redirect: Option<String>,
}

/// The most responses with unread bodies of an extension, with the requests that wait for one.
const MAX_OPEN: usize = 128;

/// Sends a request. The answer has the status and the headers, and the number of the body.
pub(super) async fn fetch(call: &ExtensionCall) -> Result<Value, Failure> {
    call.require(Grant::Network)?;
    let FetchRequest { url, method, headers, body, redirect } = call.params()?;
    let url =
        reqwest::Url::parse(&url).map_err(|_| Failure::new(format!("Failed to parse URL from {url}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Failure::new(format!("fetch failed: the scheme {} is not supported", url.scheme())));
    }
    let state = &call.session.fetches;
    let follows = redirect.as_deref().is_none_or(|redirect| redirect == "follow");
    let slot = if follows { &state.following } else { &state.not_following };
    let variables = call.session.options.variables.clone();
    let environment = Environment::new(move |name| {
        let found = variables.iter().find(|(known, _)| known.to_str() == Some(name));
        found.and_then(|(_, value)| value.to_str().map(str::to_owned))
    });
    let client =
        slot.get_or_init(|| plain_http_client(&environment, follows)).clone().map_err(Failure::new)?;
    let method =
        reqwest::Method::from_bytes(method.as_bytes()).map_err(|error| Failure::new(error.to_string()))?;
    let mut request = client.request(method, url);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if let Some(body) = body {
        request = request.body(STANDARD.decode(body).unwrap_or_default());
    }
    let reserved = state.reserve(call.extension.place())?;
    let response = tokio::select! {
        response = request.send() => response,
        () = call.cancel.cancelled() => return Err(Failure::new("This operation was aborted")),
    };
    let failed =
        |error: reqwest::Error| Failure::new(format!("fetch failed: {}", osier_engine::error_chain(&error)));
    let response = response.map_err(failed)?;
    let headers: Vec<(&str, String)> = response
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let answer = json!({
        "body": reserved.key.2,
        "url": response.url().as_str(),
        "status": response.status().as_u16(),
        "statusText": response.status().canonical_reason().unwrap_or_default(),
        "headers": headers,
    });
    reserved.fill(response);
    Ok(answer)
}

#[derive(Debug, Deserialize)]
struct BodyParams {
    body: u64,
}

/// The next piece of a body in base64; `null` at its end.
pub(super) async fn read_body(call: &ExtensionCall) -> Result<Option<String>, Failure> {
    let BodyParams { body } = call.params()?;
    let key = (call.extension.process_number, call.extension.number, body);
    let state = &call.session.fetches;
    let Some(response) = state.bodies().get(&key).cloned().flatten() else { return Ok(None) };
    let next = async {
        let chunk = response.lock().await.chunk().await;
        chunk.map_err(|error| Failure::new(format!("terminated: {}", osier_engine::error_chain(&error))))
    };
    let chunk = tokio::select! {
        chunk = next => chunk,
        () = call.cancel.cancelled() => Err(Failure::new("This operation was aborted")),
    };
    if !matches!(chunk, Ok(Some(_))) {
        state.bodies().remove(&key);
    }
    chunk.map(|bytes| bytes.map(|bytes| STANDARD.encode(bytes)))
}

/// Forgets a body that is not read to its end.
pub(super) fn close_body(call: &ExtensionCall) -> Result<(), Failure> {
    let BodyParams { body } = call.params()?;
    call.session.fetches.bodies().remove(&(call.extension.process_number, call.extension.number, body));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_extension_has_its_own_places_and_a_failed_request_frees_its_place() {
        let state = FetchState::default();
        let full: Vec<_> = (0..MAX_OPEN).map(|_| state.reserve((0, 1)).unwrap()).collect();
        assert!(state.reserve((0, 1)).is_err(), "nothing is sent beyond the limit");
        let other = state.reserve((0, 2)).unwrap();
        drop(full);
        assert!(state.reserve((0, 1)).is_ok());
        drop(other);
        assert!(state.bodies().is_empty());
    }
}
