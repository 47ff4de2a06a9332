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
    pub(super) fn with(mut self, overrides: ProviderSpec) -> ProviderSpec {
        let sets_a_key = overrides.api_key_env.is_some()
            || overrides.api_key_command.is_some()
            || overrides.api_key_file.is_some();
        if sets_a_key {
            self.api_key_env = overrides.api_key_env;
            self.api_key_command = overrides.api_key_command;
            self.api_key_file = overrides.api_key_file;
        }
        self.headers.extend(overrides.headers);
        for mut model in overrides.models {
            model.sets_max_output = model.max_output.is_some();
            match self.models.iter_mut().find(|known| known.id == model.id) {
                Some(known) => *known = std::mem::take(known).with(model),
                None => self.models.push(model),
            }
        }
        ProviderSpec {
            name: overrides.name.or(self.name),
            api: overrides.api.or(self.api),
            base_url: overrides.base_url.or(self.base_url),
            any_model: overrides.any_model.or(self.any_model),
            compat: merge_compat(self.compat, overrides.compat),
            answer_timeout: overrides.answer_timeout.or(self.answer_timeout),
            silence_timeout: overrides.silence_timeout.or(self.silence_timeout),
            unknown: BTreeMap::new(),
            ..self
        }
    }

    /// Reports unknown keys.
    pub(super) fn problems(&self, id: &str) -> Vec<String> {
        let in_provider = self.unknown.keys().map(|key| unknown_key(id, key, "", PROVIDER_KEYS));
        let in_models = self.models.iter().flat_map(|model| {
            let owner = format!(" of model {}", model.id);
            model.unknown.keys().map(move |key| unknown_key(id, key, &owner, MODEL_KEYS))
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
    fn with(self, overrides: ModelSpec) -> ModelSpec {
        ModelSpec {
            id: overrides.id,
            name: overrides.name.or(self.name),
            api: overrides.api.or(self.api),
            context_window: overrides.context_window.or(self.context_window),
            max_output: overrides.max_output.or(self.max_output),
            price: overrides.price.or(self.price),
            tools: overrides.tools.or(self.tools),
            images: overrides.images.or(self.images),
            thinking: overrides.thinking.or(self.thinking),
            compat: merge_compat(self.compat, overrides.compat),
            sets_max_output: self.sets_max_output || overrides.sets_max_output,
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
            Api::OpenaiCompletions
            | Api::GoogleGenerativeAi
            | Api::Offline
            | Api::Extension
            | Api::Scripted => default,
        }
    }
}

fn merge_compat(base: CompatSpec, overrides: CompatSpec) -> CompatSpec {
    CompatSpec {
        developer_role: overrides.developer_role.or(base.developer_role),
        max_tokens_field: overrides.max_tokens_field.or(base.max_tokens_field),
        stream_options: overrides.stream_options.or(base.stream_options),
        reasoning: overrides.reasoning.or(base.reasoning),
        reasoning_back: overrides.reasoning_back.or(base.reasoning_back),
        store: overrides.store.or(base.store),
        prompt_cache_key: overrides.prompt_cache_key.or(base.prompt_cache_key),
        cache_control: overrides.cache_control.or(base.cache_control),
        tool_result_images: overrides.tool_result_images.or(base.tool_result_images),
        null_content: overrides.null_content.or(base.null_content),
        bound_thinking: overrides.bound_thinking.or(base.bound_thinking),
    }
}

fn unknown_key(provider: &str, key: &str, owner: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|known| (strsim::jaro_winkler(key, known), known))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let hint = near
        .filter(|(similarity, _)| *similarity > 0.8)
        .map_or_else(String::new, |(_, near)| format!("; did you mean `{near}`?"));
    format!("providers.{provider}: unknown key `{key}`{owner}{hint}")
}
