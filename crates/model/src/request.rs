//! What is asked of a model: the conversation as it is to be seen, the tools, and how to answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compat::Compat;
use crate::message::Message;
use crate::thinking::{Ability, ThinkingLevel};
use crate::usage::Price;

/// One question to a model. The same request always becomes the same bytes on the wire.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub model: Arc<ModelInfo>,
    pub system: String,
    pub messages: Vec<Message>,
    pub tools: Vec<ToolSpec>,
    pub thinking: ThinkingLevel,
    /// The limit of output; without one, what the API or the model has by default.
    pub max_tokens: Option<u64>,
    /// The session this belongs to, so that a provider finds its prompt cache again.
    pub session: Option<String>,
    pub cache: Cache,
}

/// A tool the model may call. `parameters` is a JSON schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    pub parameters: Value,
}

/// How long a provider is asked to remember the beginning of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cache {
    /// Not at all: for a question nobody will continue.
    Off,
    /// A few minutes, renewed by each use.
    #[default]
    Short,
}

/// The wire protocol of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    AnthropicMessages,
    OpenaiCompletions,
    OpenaiResponses,
    GoogleGenerativeAi,
    /// Built in; no wire at all.
    Offline,
    /// Played from a script, for tests.
    Scripted,
}

impl Api {
    pub fn name(self) -> &'static str {
        match self {
            Api::AnthropicMessages => "anthropic-messages",
            Api::OpenaiCompletions => "openai-completions",
            Api::OpenaiResponses => "openai-responses",
            Api::GoogleGenerativeAi => "google-generative-ai",
            Api::Offline => "offline",
            Api::Scripted => "scripted",
        }
    }
}

/// Everything known about a model that matters for using it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    pub provider: String,
    pub id: String,
    pub name: String,
    pub api: Api,
    /// Tokens that fit, question and answer together.
    pub context_window: u64,
    /// Tokens of the longest answer.
    pub max_output: u64,
    /// Whether requests name that limit even where the API can do without: the user set it.
    #[serde(skip)]
    pub limits_output: bool,
    pub price: Price,
    pub tools: bool,
    pub images: bool,
    pub thinking: Ability,
    #[serde(skip)]
    pub compat: Compat,
}

impl ModelInfo {
    /// A model about which nothing is known but its name.
    pub fn new(provider: impl Into<String>, id: impl Into<String>, api: Api) -> ModelInfo {
        let id = id.into();
        ModelInfo {
            provider: provider.into(),
            name: id.clone(),
            id,
            api,
            context_window: 128_000,
            max_output: 16_384,
            limits_output: false,
            price: Price::default(),
            tools: true,
            images: false,
            thinking: Ability::default(),
            compat: Compat::default(),
        }
    }

    /// `provider/id`, the name by which it is chosen.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

impl Request {
    pub fn new(model: Arc<ModelInfo>, messages: Vec<Message>) -> Request {
        Request {
            model,
            system: String::new(),
            messages,
            tools: Vec::new(),
            thinking: ThinkingLevel::Off,
            max_tokens: None,
            session: None,
            cache: Cache::default(),
        }
    }

    /// The most tokens of the answer, where somebody set a limit.
    pub(crate) fn limit(&self) -> Option<u64> {
        self.max_tokens.or(self.model.limits_output.then_some(self.model.max_output))
    }

    /// The level of thinking this model really has for the wanted one.
    pub(crate) fn level(&self) -> ThinkingLevel {
        self.model.thinking.nearest(self.thinking)
    }
}
