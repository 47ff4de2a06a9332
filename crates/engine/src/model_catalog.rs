//! The available models, and the choice of an agent's model: the user's choice, then the session's model,
//! then the configured model, then the first provider with a key.
//!
//! A model that the user or the configuration names is used or is an error; it is never replaced.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use osier_agent::ModelLookup;
use osier_model::{Api, Environment, LookupError, Model, ModelInfo, ProviderAccess, Registry};

/// The default model of each provider. The first provider with a key is used.
const DEFAULT_MODELS: [(&str, &str); 3] =
    [("anthropic", "claude-opus-5-5"), ("openai", "gpt-5.5"), ("google", "gemini-3.1-pro-preview")];

/// All models, and the configured preferences.
#[derive(Debug, Clone)]
pub struct ModelCatalog {
    /// Handles requests for every model of the registry.
    pub model: Arc<dyn Model>,
    pub registry: Arc<Registry>,
    /// Where the keys of providers come from.
    pub environment: Environment,
    /// The configured model.
    pub default_model: Option<String>,
    /// The configured model for summaries.
    pub summary_model: Option<String>,
    /// The names of the providers that the user configured.
    pub own_providers: Vec<String>,
}

/// The selected model, and where the selection came from.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSelection {
    pub model: Arc<ModelInfo>,
    pub source: ModelSource,
    /// A notice for the user: why the model of the session is not used.
    pub notice: Option<String>,
}

/// Why a model was selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelSource {
    /// Named by the user for this run.
    Requested,
    /// Used last on the path of the session.
    Session,
    /// Named in the settings.
    Settings,
    /// Its provider has a key.
    Key,
    /// Available on a provider that the user configured.
    Server,
    /// No other model is available.
    Fallback,
}

/// The models that the user and the session ask for; the latter as `provider/id`, used last on the path.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelPreferences<'a> {
    pub requested: Option<&'a str>,
    pub session: Option<&'a str>,
}

impl ModelSelection {
    fn new(model: Arc<ModelInfo>, source: ModelSource) -> ModelSelection {
        ModelSelection { model, source, notice: None }
    }
}

impl ModelCatalog {
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    pub fn select(&self, wanted: ModelPreferences<'_>) -> Result<ModelSelection, LookupError> {
        let registry = self.registry();
        if let Some(name) = wanted.requested {
            return Ok(ModelSelection::new(registry.find(name)?, ModelSource::Requested));
        }
        let unusable = match wanted.session.map(|name| (name, self.usable_model(name))) {
            Some((_, Ok(model))) => return Ok(ModelSelection::new(model, ModelSource::Session)),
            Some((name, Err(reason))) => Some((name, reason)),
            None => None,
        };
        let selection = match &self.default_model {
            Some(name) => ModelSelection::new(registry.find(name)?, ModelSource::Settings),
            None => self.select_default(),
        };
        let notice =
            unusable.map(|(name, reason)| format!("cannot use {name}, the model of this session: {reason}"));
        Ok(ModelSelection { notice, ..selection })
    }

    /// The model that writes summaries, if the user or the settings name one.
    pub fn find_summary_model(&self, requested: Option<&str>) -> Result<Option<Arc<ModelInfo>>, LookupError> {
        let name = requested.or(self.summary_model.as_deref());
        name.map(|name| self.registry().find(name)).transpose()
    }

    /// The model that a session names, if it can be used now; else the reason.
    pub fn usable_model(&self, name: &str) -> Result<Arc<ModelInfo>, String> {
        let model = self.registry().find(name).map_err(|_| "no such model".to_owned())?;
        self.registry().check_configured(&model, &self.environment).map(|()| model)
    }

    /// The models that can be used now.
    pub fn usable_models(&self) -> impl Iterator<Item = &Arc<ModelInfo>> {
        let is_usable =
            |model: &&Arc<ModelInfo>| self.registry().check_configured(model, &self.environment).is_ok();
        self.registry().models().iter().filter(is_usable)
    }

    /// The built-in model, which is always available.
    pub fn offline_model(&self) -> Arc<ModelInfo> {
        let built_in = || Arc::new(ModelInfo::new("offline", "offline", Api::Offline));
        self.registry().find("offline/offline").unwrap_or_else(|_| built_in())
    }

    fn select_default(&self) -> ModelSelection {
        let find_default = |(provider, id): (&str, &str)| {
            self.usable_models().find(|model| model.provider == provider && model.id == id)
        };
        if let Some(model) = DEFAULT_MODELS.into_iter().find_map(find_default) {
            return ModelSelection::new(model.clone(), ModelSource::Key);
        }
        match self.usable_models().find(|model| self.own_providers.contains(&model.provider)) {
            Some(model) => ModelSelection::new(model.clone(), ModelSource::Server),
            None => ModelSelection::new(self.offline_model(), ModelSource::Fallback),
        }
    }
}

impl ModelLookup for ModelCatalog {
    fn find(&self, name: &str) -> Result<Arc<ModelInfo>, LookupError> {
        self.registry().find(name)
    }

    fn usable_models(&self) -> Vec<Arc<ModelInfo>> {
        self.usable_models().cloned().collect()
    }

    fn all_models(&self) -> Vec<Arc<ModelInfo>> {
        self.registry().models().to_vec()
    }

    fn access<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, Result<ProviderAccess, String>> {
        Box::pin(async move {
            let known = self.registry().provider(provider);
            known.ok_or_else(|| format!("unknown provider {provider}"))?.access(&self.environment).await
        })
    }

    fn base_url(&self, provider: &str) -> Option<String> {
        self.registry().provider(provider).map(|provider| provider.base_url.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_models_are_in_the_registry() {
        let registry = Registry::built_in();
        for (provider, id) in DEFAULT_MODELS {
            let is_default = |model: &&Arc<ModelInfo>| model.provider == provider && model.id == id;
            assert!(registry.models().iter().any(|model| is_default(&model)), "{id}");
        }
    }
}
