//! Providers and models as written in a settings file. Every field is optional and has a default.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

use crate::compat::{Compat, CompatSpec};
use crate::key::KeySource;
use crate::provider::{Provider, Timeouts};
use crate::request::{Api, ModelInfo};
use crate::thinking::{ThinkingAbility, ThinkingLevel, ThinkingStyle};
use crate::usage::Price;

/// `[providers.NAME]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ProviderSpec {
    pub name: Option<String>,
    pub api: Option<Api>,
    pub base_url: Option<String>,
    pub api_key_env: Option<OneOrMany>,
    pub api_key_command: Option<String>,
    pub api_key_file: Option<PathBuf>,
    pub headers: BTreeMap<String, SecretString>,
    /// Whether unlisted models are accepted; by default they are.
    pub any_model: Option<bool>,
    pub compat: CompatSpec,
    /// Seconds to wait for the start of a response, and between two of its chunks.
    pub answer_timeout: Option<u64>,
    pub silence_timeout: Option<u64>,
    pub models: Vec<ModelSpec>,
    #[serde(flatten)]
    pub unknown: BTreeMap<String, toml::Value>,
}

/// `[[providers.NAME.models]]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ModelSpec {
    pub id: String,
    pub name: Option<String>,
    /// Overrides the provider's protocol.
    pub api: Option<Api>,
    pub context_window: Option<u64>,
    pub max_output: Option<u64>,
    pub price: Option<Price>,
    pub tools: Option<bool>,
    pub images: Option<bool>,
    pub thinking: Option<ThinkingSpec>,
    pub compat: CompatSpec,
    /// Whether the user set `max_output`.
    #[serde(skip)]
    pub sets_max_output: bool,
    #[serde(flatten)]
    pub unknown: BTreeMap<String, toml::Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// `true` or `false`, or the exact thinking support.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ThinkingSpec {
    Enabled(bool),
    Exact(ThinkingAbility),
}

const PROVIDER_KEYS: &[&str] = &[
    "name",
    "api",
    "base_url",
    "api_key_env",
    "api_key_command",
    "api_key_file",
    "headers",
    "any_model",
    "compat",
    "answer_timeout",
    "silence_timeout",
    "models",
];
const MODEL_KEYS: &[&str] =
    &["id", "name", "api", "context_window", "max_output", "price", "tools", "images", "thinking", "compat"];

impl ProviderSpec {
    /// Applies the user's settings in `over`. Models with the same id are merged.
    pub(super) fn with(mut self, over: ProviderSpec) -> ProviderSpec {
        let sets_a_key =
            over.api_key_env.is_some() || over.api_key_command.is_some() || over.api_key_file.is_some();
        if sets_a_key {
            self.api_key_env = over.api_key_env;
            self.api_key_command = over.api_key_command;
            self.api_key_file = over.api_key_file;
        }
        self.headers.extend(over.headers);
        for mut model in over.models {
            model.sets_max_output = model.max_output.is_some();
            match self.models.iter_mut().find(|known| known.id == model.id) {
                Some(known) => *known = std::mem::take(known).with(model),
                None => self.models.push(model),
            }
        }
        ProviderSpec {
            name: over.name.or(self.name),
            api: over.api.or(self.api),
            base_url: over.base_url.or(self.base_url),
            any_model: over.any_model.or(self.any_model),
            compat: merge_compat(self.compat, over.compat),
            answer_timeout: over.answer_timeout.or(self.answer_timeout),
            silence_timeout: over.silence_timeout.or(self.silence_timeout),
            unknown: BTreeMap::new(),
            ..self
        }
    }

    /// Reports unknown keys.
    pub(super) fn problems(&self, id: &str) -> Vec<String> {
        let in_provider = self.unknown.keys().map(|key| unknown_key(id, key, "", PROVIDER_KEYS));
        let in_models = self.models.iter().flat_map(|model| {
            let whose = format!(" of model {}", model.id);
            model.unknown.keys().map(move |key| unknown_key(id, key, &whose, MODEL_KEYS))
        });
        in_provider.chain(in_models).collect()
    }

    pub(super) fn provider(&self, id: &str) -> Result<Provider, String> {
        let problem = |what: &str| Err(format!("providers.{id}: {what}"));
        let is_offline = self.api == Some(Api::Offline) && id == "offline";
        let base_url = self.base_url.clone().unwrap_or_default();
        if base_url.trim().is_empty() && !is_offline {
            return problem("`base_url` is missing");
        }
        let keys = [self.api_key_env.is_some(), self.api_key_command.is_some(), self.api_key_file.is_some()];
        if keys.into_iter().filter(|given| *given).count() > 1 {
            return problem("only one of `api_key_env`, `api_key_command` and `api_key_file` can be set");
        }
        if self.models.iter().any(|model| model.id.trim().is_empty()) {
            return problem("a model has no `id`");
        }
        let defaults = Timeouts::default();
        let seconds = |given: Option<u64>, default: Duration| given.map_or(default, Duration::from_secs);
        Ok(Provider {
            id: id.to_owned(),
            name: self.name.clone().unwrap_or_else(|| id.to_owned()),
            api: self.api.unwrap_or(Api::OpenaiCompletions),
            base_url,
            key: self.key(),
            headers: self.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            any_model: self.any_model.unwrap_or(!is_offline),
            compat: self.compat,
            timeouts: Timeouts {
                response: seconds(self.answer_timeout, defaults.response),
                idle: seconds(self.silence_timeout, defaults.idle),
            },
        })
    }

    fn key(&self) -> KeySource {
        match (&self.api_key_env, &self.api_key_command, &self.api_key_file) {
            (Some(OneOrMany::One(name)), ..) => KeySource::Env(vec![name.clone()]),
            (Some(OneOrMany::Many(names)), ..) => KeySource::Env(names.clone()),
            (_, Some(command), _) => KeySource::Command(command.clone()),
            (.., Some(file)) => KeySource::File(file.clone()),
            (None, None, None) => KeySource::None,
        }
    }
}

impl ModelSpec {
    fn with(self, over: ModelSpec) -> ModelSpec {
        ModelSpec {
            id: over.id,
            name: over.name.or(self.name),
            api: over.api.or(self.api),
            context_window: over.context_window.or(self.context_window),
            max_output: over.max_output.or(self.max_output),
            price: over.price.or(self.price),
            tools: over.tools.or(self.tools),
            images: over.images.or(self.images),
            thinking: over.thinking.or(self.thinking),
            compat: merge_compat(self.compat, over.compat),
            sets_max_output: self.sets_max_output || over.sets_max_output,
            unknown: BTreeMap::new(),
        }
    }

    pub(super) fn info(&self, provider: &Provider) -> ModelInfo {
        let api = self.api.unwrap_or(provider.api);
        let default_window = if provider.is_local() { 32_768 } else { 128_000 };
        let context_window = self.context_window.unwrap_or(default_window).max(1);
        ModelInfo {
            provider: provider.id.clone(),
            id: self.id.clone(),
            name: self.name.clone().unwrap_or_else(|| self.id.clone()),
            api,
            context_window,
            max_output: self.max_output.unwrap_or_else(|| 16_384.min(context_window / 2)).min(context_window),
            always_send_max_output: self.sets_max_output,
            price: self.price.clone().unwrap_or_default(),
            tools: self.tools.unwrap_or(true),
            images: self.images.unwrap_or(false),
            thinking: self.thinking.as_ref().map(|thinking| thinking.ability(api)).unwrap_or_default(),
            compat: provider.compat_for(self),
        }
    }
}

impl ThinkingSpec {
    fn ability(&self, api: Api) -> ThinkingAbility {
        match self {
            ThinkingSpec::Exact(ability) => ability.clone(),
            ThinkingSpec::Enabled(false) => ThinkingAbility::default(),
            ThinkingSpec::Enabled(true) => ThinkingAbility {
                style: if api == Api::AnthropicMessages {
                    ThinkingStyle::Budget
                } else {
                    ThinkingStyle::Effort
                },
                levels: vec![ThinkingLevel::Low, ThinkingLevel::Medium, ThinkingLevel::High],
                off: Some("omit".to_owned()),
            },
        }
    }
}

impl Compat {
    /// The default settings for a protocol.
    pub(super) fn for_api(api: Api) -> Compat {
        let default = Compat::default();
        match api {
            Api::AnthropicMessages => Compat { cache_control: true, tool_result_images: true, ..default },
            Api::OpenaiResponses => Compat { tool_result_images: true, prompt_cache_key: true, ..default },
            Api::OpenaiCompletions | Api::GoogleGenerativeAi | Api::Offline | Api::Scripted => default,
        }
    }
}

fn merge_compat(below: CompatSpec, over: CompatSpec) -> CompatSpec {
    CompatSpec {
        developer_role: over.developer_role.or(below.developer_role),
        max_tokens_field: over.max_tokens_field.or(below.max_tokens_field),
        stream_options: over.stream_options.or(below.stream_options),
        reasoning: over.reasoning.or(below.reasoning),
        reasoning_back: over.reasoning_back.or(below.reasoning_back),
        store: over.store.or(below.store),
        prompt_cache_key: over.prompt_cache_key.or(below.prompt_cache_key),
        cache_control: over.cache_control.or(below.cache_control),
        tool_result_images: over.tool_result_images.or(below.tool_result_images),
        null_content: over.null_content.or(below.null_content),
        bound_thinking: over.bound_thinking.or(below.bound_thinking),
    }
}

fn unknown_key(provider: &str, key: &str, whose: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|known| (strsim::jaro_winkler(key, known), known))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let hint = near
        .filter(|(similarity, _)| *similarity > 0.8)
        .map_or_else(String::new, |(_, near)| format!("; did you mean `{near}`?"));
    format!("providers.{provider}: unknown key `{key}`{whose}{hint}")
}
