//! Routes each request to the model of its provider.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::stream;
use tokio_util::sync::CancellationToken;

use crate::environment::Environment;
use crate::error::ModelError;
use crate::http_clients::HttpTransport;
use crate::model::{DeltaStream, Model};
use crate::registry::Registry;
use crate::remote::RemoteModel;
use crate::reply_draft::ReplyDraft;
use crate::request::{Api, ModelInfo, Request};
use crate::retry::RetryPolicy;

/// A [`Model`] that sends each request to the provider it names.
#[derive(Debug)]
pub struct ModelRouter {
    registry: Arc<Registry>,
    transport: HttpTransport,
    remotes: Mutex<HashMap<String, RemoteModel>>,
    /// Answers requests for models without a network.
    offline: Option<Arc<dyn Model>>,
}

impl ModelRouter {
    pub fn new(registry: Arc<Registry>, environment: Environment) -> ModelRouter {
        ModelRouter {
            registry,
            offline: None,
            transport: HttpTransport::new(environment, RetryPolicy::default()),
            remotes: Mutex::default(),
        }
    }

    pub fn with_retry(mut self, retry: RetryPolicy) -> ModelRouter {
        self.transport.retry = retry;
        self
    }

    /// Sends requests for the offline model to this model.
    pub fn with_offline(mut self, model: Arc<dyn Model>) -> ModelRouter {
        self.offline = Some(model);
        self
    }

    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Asks a provider's server for its list of models. Uses the network.
    pub async fn discover(&self, provider: &str) -> Result<Vec<ModelInfo>, ModelError> {
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

    fn remote(&self, provider: &str) -> Option<RemoteModel> {
        let mut remotes = self.remotes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !remotes.contains_key(provider) {
            let known = self.registry.provider(provider)?.clone();
            remotes.insert(provider.to_owned(), RemoteModel::new(known, self.transport.clone()));
        }
        remotes.get(provider).cloned()
    }
}

impl Model for ModelRouter {
    fn stream(&self, request: Request, cancel: CancellationToken) -> DeltaStream {
        let model: Option<Arc<dyn Model>> = match request.model.api {
            Api::Offline => self.offline.clone(),
            _ => self.remote(&request.model.provider).map(|remote| Arc::new(remote) as _),
        };
        match model {
            Some(model) => model.stream(request, cancel),
            None => {
                let provider = request.model.provider.clone();
                let hint = "unknown provider".to_owned();
                let draft = ReplyDraft::new(&request.model, self.transport.environment.now());
                let end = draft.finish(Err(ModelError::NotConfigured { provider, hint }), None);
                Box::pin(stream::iter([end]))
            }
        }
    }
}
