//! One attempt: sends the request and reads the response until it ends.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use crate::api::{self, ErrorResponse, EventReader, ReadStatus, classify_error};
use crate::error::ModelError;
use crate::http_clients::{HttpTransport, error_chain};
use crate::message::StopReason;
use crate::model::Delta;
use crate::observer::RequestObserver;
use crate::provider::Provider;
use crate::request::{Api, Request};
use crate::retry::parse_retry_after;
use crate::sse::{SseDecoder, SseEvent};

/// Headers with a key, or that only the client itself can set. Observers do not see them.
const PRIVATE_HEADERS: &[&str] = &[
    "authorization",
    "cookie",
    "host",
    "content-length",
    "proxy-authorization",
    "set-cookie",
    "x-api-key",
    "x-goog-api-key",
];

/// Limits for reading an error response.
const MAX_ERROR_BYTES: usize = 256 << 10;
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a reply in bytes, streamed or not; far more than any model sends.
const MAX_REPLY_BYTES: usize = 64 << 20;
/// Maximum number of blocks in a reply.
const MAX_BLOCKS: usize = 500;
/// Maximum size of the content of a reply in bytes: texts, names and arguments, without the frames of the events.
const MAX_CONTENT_BYTES: usize = 16 << 20;
/// Maximum size of the name and the id of a call in bytes. Some servers keep a signature in the id.
const MAX_NAME_BYTES: usize = 64 << 10;

/// A request that was sent and whose response is being read.
pub(super) struct HttpAttempt {
    provider: String,
    idle_timeout: Duration,
    response: Response,
    decoder: SseDecoder,
    reader: Box<dyn EventReader>,
    format: ResponseFormat,
    /// Gets every event of the response.
    observer: Option<Arc<dyn RequestObserver>>,
    /// Bytes received so far.
    bytes_received: usize,
    blocks: usize,
    /// Bytes of content received so far.
    content_bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ResponseFormat {
    Events,
    Json,
}

impl HttpAttempt {
    /// Sends the request and waits for the start of a successful response.
    pub(super) async fn open(
        provider: &Provider,
        net: &HttpTransport,
        key: Option<&SecretString>,
        request: &Request,
    ) -> Result<HttpAttempt, ModelError> {
        let not_configured = |hint: String| ModelError::NotConfigured { provider: provider.id.clone(), hint };
        let (Some(call), Some(reader)) = (api::build_request(request), api::event_reader(request)) else {
            return Err(not_configured(format!("{} has no wire protocol", request.model.full_name())));
        };
        let mut headers =
            request_headers(provider, key, request.model.api, &call.headers).map_err(not_configured)?;
        if let Some(observer) = &request.observer {
            let edited = observer.edit_headers(plain_headers(&headers)).await;
            replace_plain_headers(&mut headers, edited).map_err(not_configured)?;
        }
        let body = call.body;
        let was_long = body.len() as u64 / 4 > request.model.context_window / 2;
        let client = net.client(&provider.base_url).map_err(|error| network_error(provider, error))?;
        let sending = client.post(provider.url(&call.path)).headers(headers).body(body).send();
        let response = match timeout(provider.timeouts.response, sending).await {
            Err(_) => {
                return Err(network_error(
                    provider,
                    format!("no answer within {} s", provider.timeouts.response.as_secs()),
                ));
            }
            Ok(Err(error)) if error.is_builder() => {
                return Err(not_configured(format!(
                    "`base_url` is not a valid URL: {}",
                    error_chain(&error.without_url())
                )));
            }
            Ok(Err(error)) => return Err(send_error(provider, &error.without_url())),
            Ok(Ok(response)) => response,
        };
        if let Some(observer) = &request.observer {
            observer.response_started(response.status().as_u16(), plain_headers(response.headers()));
        }
        if !response.status().is_success() {
            return Err(read_error_response(provider, net, request, response, was_long).await);
        }
        let kind = response_format(&response).map_err(not_configured)?;
        Ok(HttpAttempt {
            provider: provider.id.clone(),
            idle_timeout: provider.timeouts.idle,
            response,
            decoder: SseDecoder::default(),
            reader,
            format: kind,
            observer: request.observer.clone().filter(|observer| observer.wants_stream_events()),
            bytes_received: 0,
            blocks: 0,
            content_bytes: 0,
        })
    }

    /// Reads the next chunk. Returns `Some` at the end of the reply.
    pub(super) async fn read(&mut self, out: &mut Vec<Delta>) -> Result<Option<StopReason>, ModelError> {
        let before = out.len();
        let stop = self.read_chunk(out).await?;
        if let Err(failure) = self.check_limits(&out[before..]) {
            out.truncate(before);
            return Err(failure);
        }
        Ok(stop)
    }

    /// Refuses a reply that exceeds the limits.
    fn check_limits(&mut self, deltas: &[Delta]) -> Result<(), ModelError> {
        for delta in deltas {
            match delta {
                Delta::TextStart { .. } | Delta::ThinkingStart { .. } => self.blocks += 1,
                Delta::ToolCallStart { id, name, .. } => {
                    self.blocks += 1;
                    self.content_bytes += id.len() + name.len();
                    if id.len() + name.len() > MAX_NAME_BYTES {
                        return Err(self.too_large_error("a call with a name of more than 64 KiB"));
                    }
                }
                Delta::Text { text, .. } | Delta::Thinking { text, .. } => self.content_bytes += text.len(),
                Delta::ToolCallArguments { json, .. } => self.content_bytes += json.len(),
                _ => {}
            }
        }
        if self.blocks > MAX_BLOCKS {
            return Err(self.too_large_error(&format!("more than {MAX_BLOCKS} blocks or calls")));
        }
        if self.content_bytes > MAX_CONTENT_BYTES {
            return Err(self.too_large_error("more than 16 MiB of content"));
        }
        Ok(())
    }

    async fn read_chunk(&mut self, out: &mut Vec<Delta>) -> Result<Option<StopReason>, ModelError> {
        if self.format == ResponseFormat::Json {
            return self.read_json(out).await;
        }
        let Some(bytes) = self.chunk().await? else {
            return self.end_of_body(out);
        };
        let mut events = Vec::new();
        let fits = self.decoder.push(&bytes, &mut events);
        for event in &events {
            if let Some(observer) = &self.observer {
                observer.stream_event(event.data.clone()).await;
            }
            if self.reader.read_event(event, out)? == ReadStatus::Done {
                return self.end(out);
            }
        }
        fits.map_err(|_| self.too_large_error("an event of more than 64 MiB"))?;
        Ok(None)
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, ModelError> {
        match timeout(self.idle_timeout, self.response.chunk()).await {
            Err(_) => Err(self.cut_off_error(format!("no data for {} s", self.idle_timeout.as_secs()))),
            Ok(Err(error)) => Err(self.cut_off_error(error_chain(&error.without_url()))),
            Ok(Ok(bytes)) => {
                if let Some(bytes) = &bytes {
                    self.bytes_received += bytes.len();
                }
                if self.bytes_received > MAX_REPLY_BYTES {
                    return Err(self.too_large_error("more than 64 MiB"));
                }
                Ok(bytes.map(Vec::from))
            }
        }
    }

    /// The server closed the connection. An unfinished last event is used if it can be parsed.
    fn end_of_body(&mut self, out: &mut Vec<Delta>) -> Result<Option<StopReason>, ModelError> {
        if let Some(event) = std::mem::take(&mut self.decoder).finish() {
            match self.reader.read_event(&event, out) {
                Err(ModelError::Malformed { .. }) => return Err(self.cut_off_error(String::new())),
                result => result.map(drop)?,
            }
        }
        self.end(out)
    }

    /// Reads the single JSON object that a non-streaming server sends.
    async fn read_json(&mut self, out: &mut Vec<Delta>) -> Result<Option<StopReason>, ModelError> {
        let mut body = Vec::new();
        while let Some(bytes) = self.chunk().await? {
            body.extend_from_slice(&bytes);
        }
        let event = SseEvent { name: String::new(), data: String::from_utf8_lossy(&body).into_owned() };
        self.reader.read_event(&event, out)?;
        self.end(out)
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<Option<StopReason>, ModelError> {
        let mut last = Vec::new();
        match self.reader.finish(&mut last) {
            Some(stop) => {
                out.append(&mut last);
                Ok(Some(stop))
            }
            None => Err(self.cut_off_error(String::new())),
        }
    }

    fn cut_off_error(&self, said: String) -> ModelError {
        ModelError::CutOff { provider: self.provider.clone(), detail: said }
    }

    fn too_large_error(&self, limit: &str) -> ModelError {
        ModelError::TooLarge { provider: self.provider.clone(), detail: limit.to_owned() }
    }
}

/// The headers that an observer may see. The extra headers of a provider are marked as secret and stay out.
fn plain_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let plain = headers.iter().filter(|(name, value)| is_plain(name, value));
    let texts = plain.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    texts.collect()
}

fn is_plain(name: &HeaderName, value: &HeaderValue) -> bool {
    !value.is_sensitive() && !PRIVATE_HEADERS.contains(&name.as_str())
}

/// Replaces the headers that an observer saw. The error names a header that cannot be sent.
fn replace_plain_headers(headers: &mut HeaderMap, edited: Vec<(String, String)>) -> Result<(), String> {
    let seen: Vec<HeaderName> =
        headers.iter().filter(|(name, value)| is_plain(name, value)).map(|(name, _)| name.clone()).collect();
    for name in seen {
        headers.remove(name);
    }
    for (name, value) in edited {
        let invalid = || format!("the header {name} is not valid");
        let name = HeaderName::try_from(name.as_str()).map_err(|_| invalid())?;
        let value = HeaderValue::try_from(value).map_err(|_| invalid())?;
        if !PRIVATE_HEADERS.contains(&name.as_str()) {
            headers.insert(name, value);
        }
    }
    Ok(())
}

/// The headers of a request to a provider.
pub(crate) fn request_headers(
    provider: &Provider,
    key: Option<&SecretString>,
    api: Api,
    more: &[(&'static str, String)],
) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("accept", HeaderValue::from_static("text/event-stream, application/json"));
    if api == Api::AnthropicMessages {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    for (name, value) in more {
        let value =
            HeaderValue::from_str(value).map_err(|_| format!("the header {name} has an invalid value"))?;
        headers.insert(HeaderName::from_static(name), value);
    }
    if let Some(key) = key {
        let (name, prefix) = api::key_header(api);
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", key.expose_secret())).map_err(|_| {
            "the API key contains invalid characters; check that it is complete and contains nothing else"
                .to_owned()
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    for (name, value) in &provider.headers {
        let name: HeaderName = name.parse().map_err(|_| format!("{name:?} is not a valid header name"))?;
        let mut value = HeaderValue::from_str(value.expose_secret())
            .map_err(|_| format!("the header {name} has an invalid value"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn network_error(provider: &Provider, said: String) -> ModelError {
    ModelError::Network { provider: provider.id.clone(), detail: said }
}

/// The error for a request that could not be sent. A local server that is not running is not worth a retry; a network
/// outage is.
fn send_error(provider: &Provider, error: &reqwest::Error) -> ModelError {
    if error.is_connect() && provider.is_local() {
        let url = crate::provider::display_url(&provider.base_url);
        let hint = format!("no server answers at {url} ({}); is it running?", error_chain(error));
        return ModelError::NotConfigured { provider: provider.id.clone(), hint };
    }
    let hint = if error.is_connect() { "; is this machine online?" } else { "" };
    network_error(provider, error_chain(error) + hint)
}

fn response_format(response: &Response) -> Result<ResponseFormat, String> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match kind {
        kind if kind.contains("application/json") => Ok(ResponseFormat::Json),
        kind if kind.contains("text/html") => {
            Err("the server returned a web page; check `base_url`".to_owned())
        }
        _ => Ok(ResponseFormat::Events),
    }
}

async fn read_error_response(
    provider: &Provider,
    net: &HttpTransport,
    request: &Request,
    mut response: Response,
    was_long: bool,
) -> ModelError {
    let status = response.status().as_u16();
    let header =
        |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let wait = parse_retry_after(
        header("retry-after").as_deref(),
        header("retry-after-ms").as_deref(),
        net.environment.now(),
    );
    let mut body = Vec::new();
    let read_body = async {
        while body.len() < MAX_ERROR_BYTES
            && let Ok(Some(bytes)) = response.chunk().await
        {
            body.extend_from_slice(&bytes);
        }
    };
    // On a timeout, the part received so far is enough.
    let _ = timeout(ERROR_BODY_TIMEOUT, read_body).await;
    let mut answer = ErrorResponse::from_http(&provider.id, &request.model.id, status, &body);
    answer.retry_after = wait.or(answer.retry_after);
    answer.is_long_request = was_long;
    classify_error(&answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observer_changes_headers_and_never_sees_a_key() {
        let mut headers = HeaderMap::new();
        headers.insert("accept", HeaderValue::from_static("text/event-stream"));
        headers.insert("x-old", HeaderValue::from_static("1"));
        headers.insert("x-api-key", HeaderValue::from_static("secret"));
        let mut own = HeaderValue::from_static("hidden");
        own.set_sensitive(true);
        headers.insert("x-team", own);
        let seen = plain_headers(&headers);
        let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["accept", "x-old"]);
        let edited = [("accept", "b"), ("x-new", "2"), ("authorization", "mine")];
        let edited = edited.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        replace_plain_headers(&mut headers, edited).unwrap();
        let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        assert_eq!((value("accept"), value("x-new"), value("x-old")), (Some("b"), Some("2"), None));
        assert_eq!((value("x-api-key"), value("authorization")), (Some("secret"), None));
        assert_eq!(value("x-team"), Some("hidden"));
    }
}
