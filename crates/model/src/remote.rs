//! A model on a remote server: sends a request, reads the response stream, retries transient errors, and stops at once
//! when canceled. The protocols are in `api`.

mod exchange;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use secrecy::SecretString;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use self::exchange::Exchange;
pub(crate) use self::exchange::headers;
use crate::discover::discover;
use crate::draft::Draft;
use crate::failure::Failure;
use crate::message::StopReason;
use crate::net::Net;
use crate::port::{Delta, Deltas, Model};
use crate::provider::Provider;
use crate::registry::Registry;
use crate::request::{ModelInfo, Request};
use crate::told::presentable;
use crate::usage::Usage;

/// The models of one provider, reached over HTTP.
#[derive(Clone)]
pub(crate) struct Remote {
    provider: Arc<Provider>,
    net: Net,
    /// Fetched once; cleared when the server rejects it.
    key: Arc<Mutex<Option<SecretString>>>,
}

impl Remote {
    pub(crate) fn new(provider: Arc<Provider>, net: Net) -> Remote {
        Remote { provider, net, key: Arc::default() }
    }

    async fn key(&self) -> Result<Option<SecretString>, Failure> {
        let mut known = self.key.lock().await;
        if known.is_none() {
            *known = self
                .provider
                .key
                .fetch(&self.net.surroundings)
                .await
                .map_err(|hint| self.not_configured(hint))?;
        }
        Ok(known.clone())
    }

    fn not_configured(&self, hint: String) -> Failure {
        Failure::NotConfigured { provider: self.provider.id.clone(), hint }
    }

    /// Redacts the key that was used and all other secrets in the text of an error.
    async fn cleaned(&self, failure: Failure, used: Option<&SecretString>) -> Failure {
        let own = self.provider.secrets();
        let secrets: Vec<&SecretString> = used.into_iter().chain(&own).collect();
        let failure = failure.map_said(|said| presentable(said, &secrets));
        if matches!(failure, Failure::Unauthorized { .. }) {
            *self.key.lock().await = None;
        }
        failure
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl Model for Remote {
    fn stream(&self, request: Request, cancel: CancellationToken) -> Deltas {
        let run = self.run(request, cancel);
        Box::pin(stream::unfold(run, |mut run| async move { run.next().await.map(|delta| (delta, run)) }))
    }
}

impl Remote {
    /// Asks the server for its list of models.
    pub(crate) async fn discover(&self, registry: &Registry) -> Result<Vec<ModelInfo>, Failure> {
        let key = self.key().await?;
        match discover(registry, &self.provider, &self.net, key.as_ref()).await {
            Ok(models) => Ok(models),
            Err(failure) => Err(self.cleaned(failure, key.as_ref()).await),
        }
    }

    fn run(&self, request: Request, cancel: CancellationToken) -> Run {
        let draft = self.blank(&request);
        Run {
            remote: self.clone(),
            request: Arc::new(request),
            cancel,
            key: None,
            tried: 0,
            draft,
            held: Vec::new(),
            ready: VecDeque::new(),
            has_content: false,
            state: State::Asking,
        }
    }

    fn blank(&self, request: &Request) -> Draft {
        Draft::new(&request.model, self.net.surroundings.now())
    }
}

/// A reply that is being received, over all attempts.
struct Run {
    remote: Remote,
    request: Arc<Request>,
    cancel: CancellationToken,
    /// The key of the current attempt.
    key: Option<SecretString>,
    tried: u32,
    /// The deltas delivered so far, as a message.
    draft: Draft,
    /// Deltas received before any content. They are dropped if the attempt fails and is retried.
    held: Vec<Delta>,
    ready: VecDeque<Delta>,
    has_content: bool,
    state: State,
}

enum State {
    Asking,
    Reading(Box<Exchange>),
    Waiting(Duration),
    /// Ended, after all ready deltas are delivered.
    Closing(Result<StopReason, Failure>),
    Ended,
}

impl Run {
    async fn next(&mut self) -> Option<Delta> {
        loop {
            if matches!(self.state, State::Ended) {
                return None;
            }
            if self.cancel.is_cancelled() {
                self.cancelled();
            }
            if let Some(delta) = self.ready.pop_front() {
                self.draft.apply(&delta);
                return Some(delta);
            }
            if let State::Closing(ending) = &self.state {
                let ending = ending.clone();
                return Some(self.end(ending));
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
        match std::mem::replace(&mut self.state, State::Asking) {
            State::Asking => match self.ask().await {
                Ok(exchange) => self.state = State::Reading(Box::new(exchange)),
                Err(failure) => self.failed(failure).await,
            },
            State::Waiting(delay) => tokio::time::sleep(delay).await,
            State::Reading(mut exchange) => {
                let mut deltas = Vec::new();
                let result = exchange.read(&mut deltas).await;
                self.take(deltas);
                match result {
                    Ok(None) => self.state = State::Reading(exchange),
                    Ok(Some(stop)) => self.over(Ok(stop)),
                    Err(failure) => self.failed(failure).await,
                }
            }
            closing => self.state = closing,
        }
    }

    async fn ask(&mut self) -> Result<Exchange, Failure> {
        self.tried += 1;
        self.key = self.remote.key().await?;
        Exchange::open(&self.remote.provider, &self.remote.net, self.key.as_ref(), &self.request).await
    }

    /// Retries or ends with the error. No call of a reply runs before the reply ends, so a reply that is cut off in the middle
    /// can be retried like one that never started.
    async fn failed(&mut self, failure: Failure) {
        let failure = self.remote.cleaned(failure, self.key.as_ref()).await;
        match self.remote.net.retry.delay(self.tried, &failure, dice()) {
            Some(delay) => {
                let usage = self.usage();
                self.held.clear();
                self.ready.clear();
                self.has_content = false;
                self.draft = self.remote.blank(&self.request);
                self.ready.push_back(Delta::Retrying { attempt: self.tried, delay, why: failure, usage });
                self.state = State::Waiting(delay);
            }
            None => self.over(Err(failure)),
        }
    }

    /// Drops content that the server reported of this try last, handed out or not.
    fn usage(&self) -> Usage {
        let reported = self.ready.iter().chain(&self.held).rev().find_map(|delta| match delta {
            Delta::Usage(usage) => Some(*usage),
            _ => None,
        });
        reported.unwrap_or_else(|| self.draft.usage())
    }

    /// What was not delivered, but keeps the usage and cost.
    fn cancelled(&mut self) {
        if !matches!(self.state, State::Closing(Err(Failure::Cancelled))) {
            self.ready.retain(|delta| matches!(delta, Delta::Start { .. } | Delta::Usage(_)));
            self.over(Err(Failure::Cancelled));
        }
    }

    /// Ends the stream after the ready deltas.
    fn over(&mut self, result: Result<StopReason, Failure>) {
        self.ready.extend(self.held.drain(..));
        self.state = State::Closing(result);
    }

    fn take(&mut self, deltas: Vec<Delta>) {
        for mut delta in deltas {
            if let Delta::Usage(usage) = &mut delta {
                usage.cost = self.request.model.price.cost(usage);
            }
            self.has_content |= delta.is_content();
            if self.has_content {
                self.ready.extend(self.held.drain(..));
                self.ready.push_back(delta);
            } else {
                self.held.push(delta);
            }
        }
    }

    fn end(&mut self, ending: Result<StopReason, Failure>) -> Delta {
        self.state = State::Ended;
        self.draft.clone().end(ending, self.request.limit())
    }
}

/// A random number between 0 and 1.
fn dice() -> f64 {
    let random = getrandom::u32().unwrap_or(u32::MAX / 2);
    f64::from(random) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::registry::Registry;
    use crate::retry::Retry;
    use crate::surroundings::Surroundings;

    /// Usage received before any content is not visible through the public interface, so this test uses the internals.
    #[tokio::test]
    async fn cancel_before_any_content_keeps_the_cost() {
        let registry = Registry::built_in();
        let model = registry.models().iter().find(|model| model.price.input > 0.0).unwrap().clone();
        let provider = registry.providers().find(|provider| provider.id == model.provider).unwrap();
        let remote = Remote::new(provider.clone(), Net::new(Surroundings::none(), Retry::default()));
        let cancel = CancellationToken::new();
        let mut run = remote.run(Request::new(model, vec![Message::user("hi")]), cancel.clone());
        let usage = Usage { input: 1000, ..Usage::default() };
        run.take(vec![Delta::Start { response_id: None, response_model: None }, Delta::Usage(usage)]);
        cancel.cancel();
        let mut last = None;
        while let Some(delta) = run.next().await {
            last = Some(delta);
        }
        let Some(Delta::Failed(Failure::Cancelled, message)) = last else { panic!("{last:?}") };
        assert_eq!(message.usage.input, 1000);
        assert!(message.usage.cost.total > 0.0);
    }
}
