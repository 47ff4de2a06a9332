//! Providers and models that extensions register. Osier calls them over the network, or their extension streams the replies.
//!
//! A provider of an extension never gets a key of Osier's: `$NAME` is read from the variables that extensions may see.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use osier_agent::{AgentModels, ModelLookup};
use osier_model::{
    Api, CancellationToken, CompatSpec, DeltaStream, Environment, KeySource, LookupError, Model, ModelInfo,
    ModelRouter, ModelSpec, OneOrMany, Price, ProviderAccess, ProviderSpec, Registry, Request,
};
use serde::Deserialize;

use super::LoadingSession;
use super::extension::Extension;
use super::provider_compat::{self, RegisteredCompat, ThinkingLevelMap};
use super::provider_stream;
use super::session::SessionExtensions;
use crate::frame::Failure;
use crate::grants::Grant;

/// A provider as an extension registers it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegisteredProvider {
    pub(crate) id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    base_url: Option<String>,
    #[serde(default)]
    api_key: Option<String>,
    #[serde(default)]
    api: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    auth_header: bool,
    #[serde(default)]
    models: Option<Vec<RegisteredModel>>,
    /// The extension streams the replies.
    #[serde(default)]
    streams: bool,
    /// Its models choose other models.
    #[serde(default)]
    is_virtual: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RegisteredModel {
    id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    api: Option<String>,
    /// Where this model is reached, if not where the provider is.
    #[serde(default)]
    base_url: Option<String>,
    /// More headers than those of the provider.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    reasoning: bool,
    #[serde(default)]
    input: Vec<String>,
    #[serde(default)]
    cost: ModelCost,
    #[serde(default)]
    context_window: Option<f64>,
    #[serde(default)]
    max_tokens: Option<f64>,
    #[serde(default)]
    compat: RegisteredCompat,
    #[serde(default)]
    thinking_level_map: ThinkingLevelMap,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ModelCost {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

/// The variable that stands for the key of a provider.
fn key_variable(provider: &str) -> String {
    format!("the key of {provider}")
}

impl RegisteredProvider {
    /// Fails if the extension may not use the network, or run the command that prints the key. Keys of Osier go only to the
    /// servers that the user configured.
    pub(crate) fn check(&self, extension: &Extension) -> Result<(), Failure> {
        if self.is_virtual && Registry::built_in().provider(&self.id).is_some() {
            return Err(Failure::new(format!(
                "a virtual model needs a provider of its own; {} has other models",
                self.id
            )));
        }
        if !self.streams {
            extension.grants.require(Grant::Network).map_err(Failure::new)?;
            let registry = Registry::built_in();
            let known = registry.provider(&self.id).filter(|known| known.key != KeySource::None);
            if known.is_some() && self.api_key.is_none() {
                return Err(Failure::new(format!(
                    "cannot change the server of {} without an apiKey: Osier sends its own keys only to servers of the settings; \
                     set providers.{}.base_url there",
                    self.id, self.id
                )));
            }
        }
        if self.api_key.as_ref().is_some_and(|key| key.starts_with('!')) {
            extension.grants.require(Grant::RunPrograms).map_err(Failure::new)?;
        }
        Ok(())
    }

    fn spec(&self) -> ProviderSpec {
        let api = if self.streams { Some(Api::Extension) } else { self.api.as_deref().and_then(parse_api) };
        let (api_key_env, api_key_command) = match self.api_key.as_deref() {
            None => (None, None),
            Some(key) => match key.strip_prefix('!') {
                Some(command) => (None, Some(command.to_owned())),
                None => (Some(OneOrMany::One(key_variable(&self.id))), None),
            },
        };
        let base_url = match self.streams {
            true => Some("extension:".to_owned()),
            false => self.base_url.clone(),
        };
        ProviderSpec {
            name: self.name.clone(),
            api,
            base_url,
            api_key_env,
            api_key_command,
            headers: self.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect(),
            any_model: Some(false),
            models: self.models.iter().flatten().map(|model| model.spec(api)).collect(),
            ..ProviderSpec::default()
        }
    }

    /// The value of the key, unless a command prints it.
    fn key(&self, variables: &BTreeMap<&str, &str>) -> Option<String> {
        let key = self.api_key.as_deref().filter(|key| !key.starts_with('!'))?;
        match key.strip_prefix('$') {
            Some(name) => variables.get(name.trim_matches(['{', '}'])).map(|value| (*value).to_owned()),
            None => Some(key.to_owned()),
        }
    }

    fn has(&self, model: &ModelInfo) -> bool {
        let listed = |models: &Vec<RegisteredModel>| models.iter().any(|known| known.id == model.id);
        self.id == model.provider && self.models.as_ref().is_none_or(listed)
    }
}

impl RegisteredModel {
    /// Whether requests for this model go to another place, or have other headers, than the provider says.
    fn has_own_requests(&self) -> bool {
        self.base_url.is_some() || !self.headers.is_empty()
    }

    /// With the protocol of its provider.
    fn spec(&self, provider: Option<Api>) -> ModelSpec {
        let streams = provider == Some(Api::Extension);
        let own = self.api.as_deref().and_then(parse_api).filter(|_| !streams);
        let api = own.or(provider).unwrap_or(Api::OpenaiCompletions);
        let ModelCost { input, output, cache_read, cache_write } = self.cost.clone();
        let count = |number: Option<f64>| number.filter(|number| *number >= 1.0).map(|number| number as u64);
        ModelSpec {
            id: self.id.clone(),
            name: self.name.clone(),
            api: if streams { Some(Api::Extension) } else { own },
            context_window: count(self.context_window),
            max_output: count(self.max_tokens),
            price: Some(Price { input, output, cache_read, cache_write, ..Price::default() }),
            images: Some(self.input.iter().any(|kind| kind == "image")),
            thinking: Some(provider_compat::thinking(api, self.reasoning, &self.thinking_level_map)),
            compat: match api {
                Api::OpenaiCompletions => self.compat.spec(self.reasoning),
                _ => CompatSpec::default(),
            },
            ..ModelSpec::default()
        }
    }
}

fn parse_api(name: &str) -> Option<Api> {
    serde_json::from_value(name.into()).ok()
}

/// What all extensions of a session registered, ready for requests.
#[derive(Debug)]
struct ProviderSet {
    providers: Vec<(Arc<Extension>, RegisteredProvider)>,
    router: ModelRouter,
    /// For models with a URL or headers of their own, by their full names.
    model_routers: BTreeMap<String, ModelRouter>,
    environment: Environment,
}

impl ProviderSet {
    fn new(session: &SessionExtensions, providers: Vec<(Arc<Extension>, RegisteredProvider)>) -> ProviderSet {
        let (mut specs, mut keys) = (BTreeMap::new(), BTreeMap::new());
        for (extension, provider) in &providers {
            let mut spec = provider.spec();
            let key = provider.key(&session.options.visible_variables(&extension.grants));
            if let (Some(key), true) = (&key, provider.auth_header) {
                spec.headers.insert("authorization".to_owned(), format!("Bearer {key}").into());
            }
            keys.extend(key.map(|key| (key_variable(&provider.id), key)));
            specs.insert(provider.id.clone(), spec);
        }
        let environment = Environment::new(move |name| keys.get(name).cloned());
        let router_of = |specs| ModelRouter::new(Arc::new(Registry::new(specs)), environment.clone());
        let mut model_routers = BTreeMap::new();
        for (_, provider) in providers.iter().filter(|(_, provider)| !provider.streams) {
            for model in provider.models.iter().flatten().filter(|model| model.has_own_requests()) {
                let mut spec = specs[&provider.id].clone();
                spec.base_url = model.base_url.clone().or(spec.base_url);
                let headers = model.headers.iter();
                spec.headers.extend(headers.map(|(name, value)| (name.clone(), value.clone().into())));
                let router = router_of(BTreeMap::from([(provider.id.clone(), spec)]));
                model_routers.insert(format!("{}/{}", provider.id, model.id), router);
            }
        }
        let router = router_of(specs);
        ProviderSet { providers, router, model_routers, environment }
    }

    fn router_of(&self, model: &ModelInfo) -> &ModelRouter {
        self.model_routers.get(&model.full_name()).unwrap_or(&self.router)
    }

    fn owner(&self, model: &ModelInfo) -> Option<&(Arc<Extension>, RegisteredProvider)> {
        self.providers.iter().find(|(_, provider)| provider.has(model))
    }

    fn replaces(&self, provider: &str) -> bool {
        self.providers.iter().any(|(_, known)| known.id == provider)
    }

    /// The models that have a key, or need none.
    fn usable_models(&self) -> Vec<Arc<ModelInfo>> {
        let registry = self.router.registry();
        let is_usable = |model: &&Arc<ModelInfo>| {
            self.owner(model).is_some_and(|(_, provider)| {
                let needs_none = provider.api_key.is_none();
                needs_none || registry.check_configured(model, &self.environment).is_ok()
            })
        };
        registry.models().iter().filter(is_usable).cloned().collect()
    }
}

/// The models of an agent, with those of extensions.
#[derive(Debug)]
pub(crate) struct ExtendedModels {
    models: AgentModels,
    session: LoadingSession,
    /// What was registered when the models were last used.
    known: Mutex<Option<Arc<ProviderSet>>>,
}

impl ExtendedModels {
    pub(crate) fn extend(models: AgentModels, session: LoadingSession) -> AgentModels {
        let extended = Arc::new(ExtendedModels { models, session, known: Mutex::default() });
        AgentModels { model: extended.clone(), lookup: extended }
    }

    /// The providers of the extensions that run, if there are any.
    fn providers(&self) -> Option<(Arc<SessionExtensions>, Arc<ProviderSet>)> {
        let session = self.session.get()?;
        let of_extension = |extension: &Arc<Extension>| {
            let providers = extension.providers();
            providers.into_iter().map(|provider| (extension.clone(), provider)).collect::<Vec<_>>()
        };
        let mut now: Vec<(Arc<Extension>, RegisteredProvider)> = Vec::new();
        for (extension, provider) in session.present().flat_map(of_extension) {
            // The first one has the name. Its key must not reach the server of another extension.
            if now.iter().all(|(_, known)| known.id != provider.id) {
                now.push((extension, provider));
            }
        }
        if now.is_empty() {
            return None;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |set: &Arc<ProviderSet>| {
            let pairs = set.providers.iter().zip(&now);
            set.providers.len() == now.len()
                && pairs.into_iter().all(|(old, new)| Arc::ptr_eq(&old.0, &new.0) && old.1 == new.1)
        };
        let set = match known.clone().filter(is_same) {
            Some(set) => set,
            None => known.insert(Arc::new(ProviderSet::new(&session, now))).clone(),
        };
        Some((session.clone(), set))
    }
}

impl Model for ExtendedModels {
    fn stream(&self, request: Request, cancel: CancellationToken) -> DeltaStream {
        let Some((session, set)) = self.providers() else { return self.models.model.stream(request, cancel) };
        match set.owner(&request.model) {
            None => self.models.model.stream(request, cancel),
            Some((extension, provider)) if provider.streams => {
                let key = provider.key(&session.options.visible_variables(&extension.grants));
                provider_stream::stream(&session, extension, request, key, cancel)
            }
            Some(_) => set.router_of(&request.model).stream(request, cancel),
        }
    }
}

impl ModelLookup for ExtendedModels {
    fn find(&self, name: &str) -> Result<Arc<ModelInfo>, LookupError> {
        let Some((_, set)) = self.providers() else { return self.models.lookup.find(name) };
        let own = set.usable_models();
        if let Some(model) = own.iter().find(|model| model.full_name() == name) {
            return Ok(model.clone());
        }
        self.models.lookup.find(name).or_else(|error| {
            let named = own.into_iter().find(|model| model.id == name);
            named.ok_or(error)
        })
    }

    fn usable_models(&self) -> Vec<Arc<ModelInfo>> {
        let mut models = self.models.lookup.usable_models();
        if let Some((_, set)) = self.providers() {
            models.retain(|model| !set.replaces(&model.provider));
            models.extend(set.usable_models());
        }
        models
    }

    fn all_models(&self) -> Vec<Arc<ModelInfo>> {
        let mut models = self.models.lookup.all_models();
        if let Some((_, set)) = self.providers() {
            models.retain(|model| !set.replaces(&model.provider));
            let registered = set.router.registry().models().iter();
            models.extend(registered.filter(|model| set.owner(model).is_some()).cloned());
        }
        models
    }

    fn access<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, Result<ProviderAccess, String>> {
        Box::pin(async move {
            let own = self.providers().filter(|(_, set)| set.replaces(provider));
            let Some((_, set)) = own else { return self.models.lookup.access(provider).await };
            let known = set.router.registry().provider(provider);
            known.ok_or_else(|| format!("unknown provider {provider}"))?.access(&set.environment).await
        })
    }

    fn base_url(&self, provider: &str) -> Option<String> {
        let own = self.providers().and_then(|(_, set)| {
            set.router.registry().provider(provider).filter(|_| set.replaces(provider)).cloned()
        });
        match own {
            Some(provider) => Some(provider.base_url.clone()),
            None => self.models.lookup.base_url(provider),
        }
    }
}
