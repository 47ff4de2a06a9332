//! Routes each request to the model of its provider.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::stream;
use tokio_util::sync::CancellationToken;

use crate::draft::Draft;
use crate::failure::Failure;
use crate::net::Net;
use crate::offline::Offline;
use crate::port::{Deltas, Model};
use crate::registry::Registry;
use crate::remote::Remote;
use crate::request::{Api, ModelInfo, Request};
use crate::retry::Retry;
use crate::surroundings::Surroundings;

/// A [`Model`] that sends each request to the provider it names.
#[derive(Debug)]
pub struct Models {
    registry: Arc<Registry>,
    net: Net,
    remotes: Mutex<HashMap<String, Remote>>,
    offline: Offline,
}

impl Models {
    pub fn new(registry: Arc<Registry>, surroundings: Surroundings) -> Models {
        Models {
            registry,
            offline: Offline::new(surroundings.clone()),
            net: Net::new(surroundings, Retry::default()),
            remotes: Mutex::default(),
        }
    }

    pub fn with_retry(mut self, retry: Retry) -> Models {
        self.net.retry = retry;
        self
    }

    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Asks a provider's server for its list of models. Uses the network.
    pub async fn discover(&self, provider: &str) -> Result<Vec<ModelInfo>, Failure> {
        let known = self.registry.provider(provider).filter(|provider| provider.api != Api::Offline);
        match known.and_then(|_| self.remote(provider)) {
            Some(remote) => remote.discover(&self.registry).await,
            None => Ok(self
                .registry
                .models()
                .iter()
                .filter(|model| model.provider == provider)
                .map(|model| ModelInfo::clone(model))
                .collect()),
        }
    }

    fn remote(&self, provider: &str) -> Option<Remote> {
        let mut remotes = self.remotes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !remotes.contains_key(provider) {
            let known = self.registry.provider(provider)?.clone();
            remotes.insert(provider.to_owned(), Remote::new(known, self.net.clone()));
        }
        remotes.get(provider).cloned()
    }
}

impl Model for Models {
    fn stream(&self, request: Request, cancel: CancellationToken) -> Deltas {
        if request.model.api == Api::Offline {
            return self.offline.stream(request, cancel);
        }
        match self.remote(&request.model.provider) {
            Some(remote) => remote.stream(request, cancel),
            None => {
                let provider = request.model.provider.clone();
                let hint = "unknown provider; `osier models` lists the available models".to_owned();
                let draft = Draft::new(&request.model, self.net.surroundings.now());
                let end = draft.end(Err(Failure::NotConfigured { provider, hint }), None);
                Box::pin(stream::iter([end]))
            }
        }
    }
}
