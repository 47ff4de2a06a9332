//! One attempt: sends the request and reads the response until it ends.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use crate::api::{self, Answer, Flow, Reader, refusal};
use crate::failure::Failure;
use crate::message::StopReason;
use crate::net::{Net, said};
use crate::port::Delta;
use crate::provider::Provider;
use crate::request::{Api, Request};
use crate::retry::retry_after;
use crate::sse::{Decoder, Event};

/// Limits for reading an error response.
const LONGEST_ERROR: usize = 256 << 10;
const ERROR_PATIENCE: Duration = Duration::from_secs(10);
/// Maximum size of a reply in bytes, streamed or not; far more than any model sends.
const LONGEST: usize = 64 << 20;
/// Maximum number of blocks in a reply.
const MOST_BLOCKS: usize = 500;
/// Maximum size of the arguments of one call, in bytes.
const LONGEST_ARGUMENTS: usize = 16 << 20;

/// A request that was sent and whose response is being read.
pub(super) struct Exchange {
    provider: String,
    silence: Duration,
    response: Response,
    decoder: Decoder,
    reader: Box<dyn Reader>,
    kind: Kind,
    /// Bytes received so far.
    came: usize,
    blocks: usize,
    /// Bytes of arguments in the current block.
    arguments: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Events,
    Json,
}

impl Exchange {
    /// Sends the request and waits for the start of a successful response.
    pub(super) async fn open(
        provider: &Provider,
        net: &Net,
        key: Option<&SecretString>,
        request: &Request,
    ) -> Result<Exchange, Failure> {
        let not_configured = |hint: String| Failure::NotConfigured { provider: provider.id.clone(), hint };
        let (Some(call), Some(reader)) = (api::call(request), api::reader(request)) else {
            return Err(not_configured(format!("{} has no wire protocol", request.model.full_name())));
        };
        let headers = headers(provider, key, request.model.api, &call.headers).map_err(not_configured)?;
        let body = call.body.into_text();
        let was_long = body.len() as u64 / 4 > request.model.context_window / 2;
        let client = net.client(&provider.base_url).map_err(|error| network(provider, error))?;
        let sending = client.post(provider.url(&call.path)).headers(headers).body(body).send();
        let response = match timeout(provider.patience.answer, sending).await {
            Err(_) => {
                return Err(network(
                    provider,
                    format!("no answer within {} s", provider.patience.answer.as_secs()),
                ));
            }
            Ok(Err(error)) if error.is_builder() => {
                return Err(not_configured(format!(
                    "`base_url` is not a valid URL: {}",
                    said(&error.without_url())
                )));
            }
            Ok(Err(error)) => return Err(unreachable(provider, &error.without_url())),
            Ok(Ok(response)) => response,
        };
        if !response.status().is_success() {
            return Err(refused(provider, net, request, response, was_long).await);
        }
        let kind = kind(&response).map_err(not_configured)?;
        Ok(Exchange {
            provider: provider.id.clone(),
            silence: provider.patience.silence,
            response,
            decoder: Decoder::default(),
            reader,
            kind,
            came: 0,
            blocks: 0,
            arguments: 0,
        })
    }

    /// Reads the next chunk. Returns `Some` at the end of the reply.
    pub(super) async fn read(&mut self, out: &mut Vec<Delta>) -> Result<Option<StopReason>, Failure> {
        let before = out.len();
        let stop = self.read_on(out).await?;
        if let Err(failure) = self.bound(&out[before..]) {
            out.truncate(before);
            return Err(failure);
        }
        Ok(stop)
    }

    /// Refuses a reply that exceeds the limits.
    fn bound(&mut self, deltas: &[Delta]) -> Result<(), Failure> {
        for delta in deltas {
            match delta {
                Delta::TextStart { .. } | Delta::ThinkingStart { .. } | Delta::ToolCallStart { .. } => {
                    self.blocks += 1;
                    self.arguments = 0;
                }
                Delta::ToolCallArguments { json, .. } => self.arguments += json.len(),
                _ => {}
            }
        }
        if self.blocks > MOST_BLOCKS {
            return Err(self.malformed(&format!("a reply with more than {MOST_BLOCKS} blocks or calls")));
        }
        if self.arguments > LONGEST_ARGUMENTS {
            return Err(self.malformed("a call with more than 16 MiB of arguments"));
        }
        Ok(())
    }

    async fn read_on(&mut self, out: &mut Vec<Delta>) -> Result<Option<StopReason>, Failure> {
        if self.kind == Kind::Json {
            return self.read_whole(out).await;
        }
        let Some(bytes) = self.chunk().await? else {
            return self.over(out);
        };
        let mut events = Vec::new();
        let fits = self.decoder.push(&bytes, &mut events);
        for event in &events {
            if self.reader.event(event, out)? == Flow::Done {
                return self.end(out);
            }
        }
        fits.map_err(|_| self.malformed("an event of more than 64 MiB"))?;
        Ok(None)
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        match timeout(self.silence, self.response.chunk()).await {
            Err(_) => Err(self.cut(format!("no data for {} s", self.silence.as_secs()))),
            Ok(Err(error)) => Err(self.cut(said(&error.without_url()))),
            Ok(Ok(bytes)) => {
                if let Some(bytes) = &bytes {
                    self.came += bytes.len();
                }
                if self.came > LONGEST {
                    return Err(self.malformed("a reply of more than 64 MiB"));
                }
                Ok(bytes.map(Vec::from))
            }
        }
    }

    /// The server closed the connection. An unfinished last event is used if it can be parsed.
    fn over(&mut self, out: &mut Vec<Delta>) -> Result<Option<StopReason>, Failure> {
        if let Some(event) = std::mem::take(&mut self.decoder).finish() {
            match self.reader.event(&event, out) {
                Err(Failure::Malformed { .. }) => return Err(self.cut(String::new())),
                result => result.map(drop)?,
            }
        }
        self.end(out)
    }

    /// Reads the single JSON object that a non-streaming server sends.
    async fn read_whole(&mut self, out: &mut Vec<Delta>) -> Result<Option<StopReason>, Failure> {
        let mut body = Vec::new();
        while let Some(bytes) = self.chunk().await? {
            body.extend_from_slice(&bytes);
        }
        let event = Event { name: String::new(), data: String::from_utf8_lossy(&body).into_owned() };
        self.reader.event(&event, out)?;
        self.end(out)
    }

    fn end(&mut self, out: &mut Vec<Delta>) -> Result<Option<StopReason>, Failure> {
        let mut last = Vec::new();
        match self.reader.end(&mut last) {
            Some(stop) => {
                out.append(&mut last);
                Ok(Some(stop))
            }
            None => Err(self.cut(String::new())),
        }
    }

    fn cut(&self, said: String) -> Failure {
        Failure::Cut { provider: self.provider.clone(), said }
    }

    fn malformed(&self, said: &str) -> Failure {
        Failure::Malformed { provider: self.provider.clone(), said: said.to_owned() }
    }
}

/// The headers of a request to a provider.
pub(crate) fn headers(
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

fn network(provider: &Provider, said: String) -> Failure {
    Failure::Network { provider: provider.id.clone(), said }
}

/// The error for a request that could not be sent. A local server that is not running is not worth a retry; a network
/// outage is.
fn unreachable(provider: &Provider, error: &reqwest::Error) -> Failure {
    if error.is_connect() && provider.is_local() {
        let url = crate::provider::without_userinfo(&provider.base_url);
        let hint = format!("no server answers at {url} ({}); is it running?", said(error));
        return Failure::NotConfigured { provider: provider.id.clone(), hint };
    }
    let hint = if error.is_connect() { "; is this machine online?" } else { "" };
    network(provider, said(error) + hint)
}

fn kind(response: &Response) -> Result<Kind, String> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match kind {
        kind if kind.contains("application/json") => Ok(Kind::Json),
        kind if kind.contains("text/html") => {
            Err("the server returned a web page; check `base_url`".to_owned())
        }
        _ => Ok(Kind::Events),
    }
}

async fn refused(
    provider: &Provider,
    net: &Net,
    request: &Request,
    mut response: Response,
    was_long: bool,
) -> Failure {
    let status = response.status().as_u16();
    let header =
        |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let wait = retry_after(
        header("retry-after").as_deref(),
        header("retry-after-ms").as_deref(),
        net.surroundings.now(),
    );
    let mut body = Vec::new();
    let read_body = async {
        while body.len() < LONGEST_ERROR
            && let Ok(Some(bytes)) = response.chunk().await
        {
            body.extend_from_slice(&bytes);
        }
    };
    // On a timeout, the part received so far is enough.
    let _ = timeout(ERROR_PATIENCE, read_body).await;
    let mut answer = Answer::over_http(&provider.id, &request.model.id, status, &body);
    answer.retry_after = wait.or(answer.retry_after);
    answer.was_long = was_long;
    refusal(&answer)
}
