//! A request to a model: the conversation, the tools and the options.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compat::Compat;
use crate::message::Message;
use crate::observer::RequestObserver;
use crate::thinking::{ThinkingAbility, ThinkingLevel};
use crate::usage::Price;

/// A request to a model. The same request always produces the same bytes on the wire.
#[derive(Debug, Clone)]
pub struct Request {
    pub model: Arc<ModelInfo>,
    pub system: String,
    pub messages: Vec<Message>,
    pub tools: Vec<ToolSpec>,
    pub thinking: ThinkingLevel,
    /// The output limit in tokens. Without it, the default of the API or the model applies.
    pub max_tokens: Option<u64>,
    /// The session id, used as the key of the provider's prompt cache.
    pub session: Option<String>,
    pub cache: CacheRetention,
    /// The body to send instead of the one that the other fields describe.
    pub body: Option<Arc<Value>>,
    /// Sees the request over HTTP.
    pub observer: Option<Arc<dyn RequestObserver>>,
}

/// Requests are equal if their contents are, even if their observers differ.
impl PartialEq for Request {
    fn eq(&self, other: &Request) -> bool {
        let Request {
            model,
            system,
            messages,
            tools,
            thinking,
            max_tokens,
            session,
            cache,
            body,
            observer: _,
        } = self;
        *model == other.model
            && *system == other.system
            && *messages == other.messages
            && *tools == other.tools
            && *thinking == other.thinking
            && *max_tokens == other.max_tokens
            && *session == other.session
            && *cache == other.cache
            && *body == other.body
    }
}

/// A tool the model may call. `parameters` is a JSON schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    pub parameters: Value,
}

/// How long the provider caches the start of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheRetention {
    /// Not at all, for a request that is not continued.
    Off,
    /// A few minutes, extended by each use.
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
    /// The built-in offline model; no network.
    Offline,
    /// The extension that registered the model streams its replies.
    Extension,
    /// The scripted model for tests.
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
            Api::Extension => "extension",
            Api::Scripted => "scripted",
        }
    }
}

/// The properties of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    pub provider: String,
    pub id: String,
    pub name: String,
    pub api: Api,
    /// Maximum tokens of prompt and answer together.
    pub context_window: u64,
    /// Maximum tokens of an answer.
    pub max_output: u64,
    /// Whether requests always send `max_output`, because the user set it.
    #[serde(skip)]
    pub always_send_max_output: bool,
    pub price: Price,
    pub tools: bool,
    pub images: bool,
    pub thinking: ThinkingAbility,
    #[serde(skip)]
    pub compat: Compat,
}

impl ModelInfo {
    /// A model with default properties.
    pub fn new(provider: impl Into<String>, id: impl Into<String>, api: Api) -> ModelInfo {
        let id = id.into();
        ModelInfo {
            provider: provider.into(),
            name: id.clone(),
            id,
            api,
            context_window: 128_000,
            max_output: 16_384,
            always_send_max_output: false,
            price: Price::default(),
            tools: true,
            images: false,
            thinking: ThinkingAbility::default(),
            compat: Compat::default(),
        }
    }

    /// `provider/id`, the name for selecting the model.
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
            cache: CacheRetention::default(),
            body: None,
            observer: None,
        }
    }

    /// The output limit, if the request or the user's settings have one.
    pub(crate) fn output_limit(&self) -> Option<u64> {
        self.max_tokens.or(self.model.always_send_max_output.then_some(self.model.max_output))
    }

    /// The thinking level to use: the closest one that the model supports.
    pub(crate) fn thinking_level(&self) -> ThinkingLevel {
        self.model.thinking.nearest(self.thinking)
    }
}
