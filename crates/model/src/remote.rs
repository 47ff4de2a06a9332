//! A model on a remote server: sends a request, reads the response stream, retries transient errors, and stops at once
//! when canceled. The protocols are in `api`.

mod http_attempt;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use secrecy::SecretString;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use self::http_attempt::HttpAttempt;
pub(crate) use self::http_attempt::request_headers;
use crate::discover::discover_models;
use crate::error::ModelError;
use crate::http_clients::HttpTransport;
use crate::message::StopReason;
use crate::model::{Delta, DeltaStream, Model};
use crate::provider::Provider;
use crate::redact::redact_and_shorten;
use crate::registry::Registry;
use crate::reply_draft::ReplyDraft;
use crate::request::{ModelInfo, Request};
use crate::usage::TokenUsage;

/// The models of one provider, reached over HTTP.
#[derive(Clone)]
pub(crate) struct RemoteModel {
    provider: Arc<Provider>,
    transport: HttpTransport,
    /// Fetched once; cleared when the server rejects it.
    key: Arc<Mutex<Option<SecretString>>>,
}

impl RemoteModel {
    pub(crate) fn new(provider: Arc<Provider>, transport: HttpTransport) -> RemoteModel {
        RemoteModel { provider, transport, key: Arc::default() }
    }

    async fn key(&self) -> Result<Option<SecretString>, ModelError> {
        let mut known = self.key.lock().await;
        if known.is_none() {
            *known = self
                .provider
                .key
                .fetch(&self.transport.environment)
                .await
                .map_err(|hint| self.not_configured(hint))?;
        }
        Ok(known.clone())
    }

    fn not_configured(&self, hint: String) -> ModelError {
        ModelError::NotConfigured { provider: self.provider.id.clone(), hint }
    }

    /// Redacts the key that was used and all other secrets in the text of an error.
    async fn redacted(&self, failure: ModelError, used: Option<&SecretString>) -> ModelError {
        let own = self.provider.secrets();
        let secrets: Vec<&SecretString> = used.into_iter().chain(&own).collect();
        let failure = failure.map_detail(|detail| redact_and_shorten(detail, &secrets));
        if matches!(failure, ModelError::Unauthorized { .. }) {
            *self.key.lock().await = None;
        }
        failure
    }
}

impl fmt::Debug for RemoteModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteModel").field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl Model for RemoteModel {
    fn stream(&self, request: Request, cancel: CancellationToken) -> DeltaStream {
        let run = self.start_stream(request, cancel);
        Box::pin(stream::unfold(run, |mut run| async move { run.next().await.map(|delta| (delta, run)) }))
    }
}

impl RemoteModel {
    /// Asks the server for its list of models.
    pub(crate) async fn discover(&self, registry: &Registry) -> Result<Vec<ModelInfo>, ModelError> {
        let key = self.key().await?;
        match discover_models(registry, &self.provider, &self.transport, key.as_ref()).await {
            Ok(models) => Ok(models),
            Err(failure) => Err(self.redacted(failure, key.as_ref()).await),
        }
    }

    fn start_stream(&self, request: Request, cancel: CancellationToken) -> ReplyStream {
        let draft = self.new_draft(&request);
        ReplyStream {
            remote: self.clone(),
            request: Arc::new(request),
            cancel,
            key: None,
            attempts: 0,
            draft,
            before_content: Vec::new(),
            ready: VecDeque::new(),
            has_content: false,
            state: StreamState::Connecting,
        }
    }

    fn new_draft(&self, request: &Request) -> ReplyDraft {
        ReplyDraft::new(&request.model, self.transport.environment.now())
    }
}

/// A reply that is being received, over all attempts.
struct ReplyStream {
    remote: RemoteModel,
    request: Arc<Request>,
    cancel: CancellationToken,
    /// The key of the current attempt.
    key: Option<SecretString>,
    attempts: u32,
    /// The deltas delivered so far, as a message.
    draft: ReplyDraft,
    /// Deltas received before any content. They are dropped if the attempt fails and is retried.
    before_content: Vec<Delta>,
    ready: VecDeque<Delta>,
    has_content: bool,
    state: StreamState,
}

enum StreamState {
    Connecting,
    Reading(Box<HttpAttempt>),
    RetryDelay(Duration),
    /// Ended, after all ready deltas are delivered.
    Closing(Result<StopReason, ModelError>),
    Ended,
}

impl ReplyStream {
    async fn next(&mut self) -> Option<Delta> {
        loop {
            if matches!(self.state, StreamState::Ended) {
                return None;
            }
            if self.cancel.is_cancelled() {
                self.cancel();
            }
            if let Some(delta) = self.ready.pop_front() {
                self.draft.apply(&delta);
                return Some(delta);
            }
            if let StreamState::Closing(result) = &self.state {
                let result = result.clone();
                return Some(self.final_delta(result));
            }
            let cancel = self.cancel.clone();
            tokio::select! {
                biased;
                () = cancel.cancelled() => {}
                () = self.step() => {}
            }
        }
    }

    /// Runs the next asynchronous step. Not cancel safe, but after cancellation the stream only ends.
    async fn step(&mut self) {
        match std::mem::replace(&mut self.state, StreamState::Connecting) {
            StreamState::Connecting => match self.connect().await {
                Ok(exchange) => self.state = StreamState::Reading(Box::new(exchange)),
                Err(failure) => self.retry_or_fail(failure).await,
            },
            StreamState::RetryDelay(delay) => tokio::time::sleep(delay).await,
            StreamState::Reading(mut exchange) => {
                let mut deltas = Vec::new();
                let result = exchange.read(&mut deltas).await;
                self.queue_deltas(deltas);
                match result {
                    Ok(None) => self.state = StreamState::Reading(exchange),
                    Ok(Some(stop)) => {
                        tracing::debug!(?stop, usage = ?self.usage(), "the reply is complete");
                        self.close(Ok(stop));
                    }
                    Err(failure) => self.retry_or_fail(failure).await,
                }
            }
            closing => self.state = closing,
        }
    }

    async fn connect(&mut self) -> Result<HttpAttempt, ModelError> {
        self.attempts += 1;
        tracing::debug!(model = %self.request.model.full_name(), attempt = self.attempts, "sending a request");
        self.key = self.remote.key().await?;
        HttpAttempt::open(&self.remote.provider, &self.remote.transport, self.key.as_ref(), &self.request)
            .await
    }

    /// Retries or ends with the error. No call of a reply runs before the reply ends, so a reply that is cut off in the middle
    /// can be retried like one that never started.
    async fn retry_or_fail(&mut self, failure: ModelError) {
        let failure = self.remote.redacted(failure, self.key.as_ref()).await;
        tracing::warn!(model = %self.request.model.full_name(), attempt = self.attempts, error = %failure, "the model call failed");
        match self.remote.transport.retry.delay(self.attempts, &failure, random_fraction()) {
            Some(delay) => {
                tracing::debug!(?delay, "trying again");
                let usage = self.usage();
                self.before_content.clear();
                self.ready.clear();
                self.has_content = false;
                self.draft = self.remote.new_draft(&self.request);
                self.ready.push_back(Delta::Retrying {
                    attempt: self.attempts,
                    max_attempts: self.remote.transport.retry.max_attempts,
                    delay,
                    error: failure,
                    usage,
                });
                self.state = StreamState::RetryDelay(delay);
            }
            None => self.close(Err(failure)),
        }
    }

    /// The usage that the server last reported for this attempt, whether it was delivered or not.
    fn usage(&self) -> TokenUsage {
        let reported = self.ready.iter().chain(&self.before_content).rev().find_map(|delta| match delta {
            Delta::Usage(usage) => Some(*usage),
            _ => None,
        });
        reported.unwrap_or_else(|| self.draft.usage())
    }

    /// Drops the content that was not delivered, but keeps the usage and its cost.
    fn cancel(&mut self) {
        if !matches!(self.state, StreamState::Closing(Err(ModelError::Cancelled))) {
            tracing::debug!("canceled a request");
            self.ready.retain(|delta| matches!(delta, Delta::Start { .. } | Delta::Usage(_)));
            self.close(Err(ModelError::Cancelled));
        }
    }

    /// Ends the stream after the ready deltas.
    fn close(&mut self, result: Result<StopReason, ModelError>) {
        self.ready.extend(self.before_content.drain(..));
        self.state = StreamState::Closing(result);
    }

    fn queue_deltas(&mut self, deltas: Vec<Delta>) {
        for mut delta in deltas {
            if let Delta::Usage(usage) = &mut delta {
                usage.cost = self.request.model.price.cost(usage);
            }
            self.has_content |= delta.is_content();
            if self.has_content {
                self.ready.extend(self.before_content.drain(..));
                self.ready.push_back(delta);
            } else {
                self.before_content.push(delta);
            }
        }
    }

    fn final_delta(&mut self, result: Result<StopReason, ModelError>) -> Delta {
        self.state = StreamState::Ended;
        self.draft.clone().finish(result, self.request.output_limit())
    }
}

/// A random number between 0 and 1.
fn random_fraction() -> f64 {
    let random = getrandom::u32().unwrap_or(u32::MAX / 2);
    f64::from(random) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::message::Message;
    use crate::registry::Registry;
    use crate::retry::RetryPolicy;

    /// Usage received before any content is not visible through the public interface, so this test uses the internals.
    #[tokio::test]
    async fn cancel_before_any_content_keeps_the_cost() {
        let registry = Registry::built_in();
        let model = registry.models().iter().find(|model| model.price.input > 0.0).unwrap().clone();
        let provider = registry.providers().find(|provider| provider.id == model.provider).unwrap();
        let remote = RemoteModel::new(
            provider.clone(),
            HttpTransport::new(Environment::empty(), RetryPolicy::default()),
        );
        let cancel = CancellationToken::new();
        let mut run = remote.start_stream(Request::new(model, vec![Message::user("hi")]), cancel.clone());
        let usage = TokenUsage { input: 1000, ..TokenUsage::default() };
        run.queue_deltas(vec![Delta::Start { response_id: None, response_model: None }, Delta::Usage(usage)]);
        cancel.cancel();
        let mut last = None;
        while let Some(delta) = run.next().await {
            last = Some(delta);
        }
        let Some(Delta::Failed(ModelError::Cancelled, message)) = last else { panic!("{last:?}") };
        assert_eq!(message.usage.input, 1000);
        assert!(message.usage.cost.total > 0.0);
    }
}
