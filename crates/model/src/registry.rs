//! The known providers and models: the built-in list with the user's settings on top.
//!
//! Uses no network and runs no commands: it checks whether a key is configured, but never fetches it.

mod lookup;
mod spec;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use self::lookup::LookupError;
pub use self::spec::{ModelSpec, OneOrMany, ProviderSpec, ThinkingSpec};
use crate::compat::Compat;
use crate::environment::Environment;
use crate::provider::Provider;
use crate::request::ModelInfo;

/// The list of providers and models.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    providers: BTreeMap<String, Arc<Provider>>,
    models: Vec<Arc<ModelInfo>>,
    problems: Vec<String>,
}

impl Registry {
    /// The built-in list alone.
    pub fn built_in() -> Registry {
        Registry::new(BTreeMap::new())
    }

    /// The built-in list with the user's `[providers]` settings on top.
    pub fn new(user: BTreeMap<String, ProviderSpec>) -> Registry {
        let mut specs = built_in_specs();
        let mut problems = Vec::new();
        for (id, spec) in user {
            problems.extend(spec.problems(&id));
            let known = specs.remove(&id).unwrap_or_default();
            specs.insert(id, known.with(spec));
        }
        Registry::build(specs, problems)
    }

    fn build(specs: BTreeMap<String, ProviderSpec>, problems: Vec<String>) -> Registry {
        let mut registry = Registry { problems, ..Registry::default() };
        for (id, spec) in specs {
            match spec.provider(&id) {
                Ok(provider) => {
                    let models = spec.models.iter().map(|model| Arc::new(model.info(&provider)));
                    registry.models.extend(models);
                    registry.providers.insert(id, Arc::new(provider));
                }
                Err(problem) => registry.problems.push(problem),
            }
        }
        registry
    }

    /// Problems in the user's settings, as text for users. All other settings are applied.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    pub fn provider(&self, id: &str) -> Option<&Arc<Provider>> {
        self.providers.get(id)
    }

    pub fn providers(&self) -> impl Iterator<Item = &Arc<Provider>> {
        self.providers.values()
    }

    /// All listed models, ordered by provider.
    pub fn models(&self) -> &[Arc<ModelInfo>] {
        &self.models
    }

    /// Checks that a model can be used. The error says what is missing.
    pub fn check_configured(&self, model: &ModelInfo, environment: &Environment) -> Result<(), String> {
        match self.providers.get(&model.provider) {
            Some(provider) => provider.key.check_configured(environment),
            None => Err(format!("unknown provider {}", model.provider)),
        }
    }

    /// Finds a model by `provider/id`, by its id, or by the end of its id.
    pub fn find(&self, name: &str) -> Result<Arc<ModelInfo>, LookupError> {
        lookup::find(self, name)
    }

    /// The assumed properties of an unlisted model: those of the listed model with the most similar id, without its price.
    pub(crate) fn assume_model(&self, provider: &Provider, id: &str) -> ModelInfo {
        let shared = |model: &&Arc<ModelInfo>| {
            model.id.bytes().zip(id.bytes()).take_while(|(theirs, ours)| theirs == ours).count()
        };
        let siblings = self.models.iter().filter(|model| model.provider == provider.id);
        match siblings.filter(|model| shared(model) >= 5).max_by_key(shared) {
            Some(sibling) => ModelInfo {
                id: id.to_owned(),
                name: id.to_owned(),
                price: crate::usage::Price::default(),
                ..ModelInfo::clone(sibling)
            },
            None => ModelSpec { id: id.to_owned(), ..ModelSpec::default() }.info(provider),
        }
    }
}

fn built_in_specs() -> BTreeMap<String, ProviderSpec> {
    #[derive(serde::Deserialize)]
    struct ModelsFile {
        providers: BTreeMap<String, ProviderSpec>,
    }
    let file: ModelsFile =
        toml::from_str(include_str!("../models.toml")).expect("the built-in list is valid; a test checks it");
    file.providers
}

impl Provider {
    fn compat_for(&self, model: &ModelSpec) -> Compat {
        Compat::for_api(model.api.unwrap_or(self.api)).with(&self.compat).with(&model.compat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeySource;
    use crate::request::Api;
    use crate::thinking::ThinkingLevel;
    use expect_test::expect;

    fn registry(config: &str) -> Registry {
        #[derive(serde::Deserialize)]
        struct File {
            providers: BTreeMap<String, ProviderSpec>,
        }
        Registry::new(toml::from_str::<File>(config).unwrap().providers)
    }

    #[test]
    fn built_in_list_is_consistent() {
        let registry = Registry::built_in();
        assert!(registry.problems().is_empty(), "{:?}", registry.problems());
        for model in registry.models() {
            assert!(model.max_output <= model.context_window, "{}", model.full_name());
            assert!(model.price.output >= model.price.input, "{}", model.full_name());
            assert!(
                !model.thinking.can_think() || !model.thinking.levels.is_empty(),
                "{}",
                model.full_name()
            );
            assert_eq!(*registry.find(&model.full_name()).unwrap(), **model);
        }
    }

    #[test]
    fn user_defined_server() {
        let registry = registry(
            r#"
            [providers.local]
            api = "openai-completions"
            base_url = "http://127.0.0.1:8080/v1"
            api_key_env = "LOCAL_KEY"
            [[providers.local.models]]
            id = "smollm2"
            context_window = 8192
            "#,
        );
        assert!(registry.problems().is_empty());
        let model = registry.find("local/smollm2").unwrap();
        assert_eq!((model.api, model.context_window, model.max_output), (Api::OpenaiCompletions, 8192, 4096));
        assert_eq!(registry.provider("local").unwrap().key, KeySource::Env(vec!["LOCAL_KEY".to_owned()]));
        assert_eq!(registry.check_configured(&model, &Environment::empty()), Err("set LOCAL_KEY".to_owned()));
        let with_key = Environment::new(|name| (name == "LOCAL_KEY").then(|| "x".to_owned()));
        assert_eq!(registry.check_configured(&model, &with_key), Ok(()));
    }

    #[test]
    fn user_settings_override_and_extend_the_built_in_list() {
        let registry = registry(
            r#"
            [providers.anthropic]
            base_url = "https://proxy.example"
            api_key_command = "pass anthropic"
            headers = { "x-team" = "osier" }
            [[providers.anthropic.models]]
            id = "claude-opus-5-5"
            context_window = 200_000
            [[providers.anthropic.models]]
            id = "claude-next"
            thinking = true
            compat = { cache_control = false }
            "#,
        );
        let provider = registry.provider("anthropic").unwrap();
        assert_eq!(
            (provider.base_url.as_str(), provider.api),
            ("https://proxy.example", Api::AnthropicMessages)
        );
        assert_eq!(provider.key, KeySource::Command("pass anthropic".to_owned()));
        let known = registry.find("anthropic/claude-opus-5-5").unwrap();
        assert_eq!((known.context_window, known.max_output, known.price.input), (200_000, 128_000, 4.0));
        let new = registry.find("claude-next").unwrap();
        assert!(new.thinking.can_think() && !new.compat.cache_control);
        assert_eq!(new.thinking.nearest(ThinkingLevel::Max), ThinkingLevel::High);
    }

    #[test]
    fn unknown_keys_are_reported_with_a_suggestion_and_the_rest_is_used() {
        let registry = registry(
            r#"
            [providers.local]
            api = "openai-completions"
            base_ulr = "http://127.0.0.1:8080/v1"
            [providers.other]
            base_url = "http://127.0.0.1:8081/v1"
            api_key_env = "A"
            api_key_file = "~/k"
            [[providers.other.models]]
            id = "m"
            context = 1
            [providers.none]
            api = "offline"
            "#,
        );
        let problems = registry.problems().join("\n");
        expect![[r#"
            providers.local: unknown key `base_ulr`; did you mean `base_url`?
            providers.other: unknown key `context` of model m; did you mean `context_window`?
            providers.local: `base_url` is missing
            providers.none: `base_url` is missing
            providers.other: only one of `api_key_env`, `api_key_command` and `api_key_file` can be set"#]]
        .assert_eq(&problems);
        assert!(registry.find("anthropic/claude-opus-5-5").is_ok());
    }

    #[test]
    fn unknown_price_key_is_an_error() {
        for price in ["{ inptu = 3 }", "{ input = 3, tiers = [{ abvoe = 1 }] }"] {
            let config = format!("base_url = \"http://x\"\nmodels = [{{ id = \"m\", price = {price} }}]");
            let error = toml::from_str::<ProviderSpec>(&config).unwrap_err().to_string();
            assert!(error.contains("unknown field"), "{error}");
        }
    }

    #[test]
    fn unlisted_model_copies_its_nearest_sibling_without_a_price() {
        let registry = Registry::built_in();
        let new = registry.find("anthropic/claude-opus-6").unwrap();
        assert_eq!((new.id.as_str(), new.context_window, new.price.input), ("claude-opus-6", 1_000_000, 0.0));
        assert!(new.compat.cache_control && new.images);
        let local = registry.find("ollama/qwen3:8b").unwrap();
        assert_eq!((local.id.as_str(), local.context_window), ("qwen3:8b", 32_768));
        let routed = registry.find("openrouter/anthropic/claude-opus-5.5").unwrap();
        assert_eq!(
            (routed.provider.as_str(), routed.id.as_str()),
            ("openrouter", "anthropic/claude-opus-5.5")
        );
    }
}
