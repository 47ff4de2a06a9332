//! What "compatible" means for one server: the points on which those that speak OpenAI's or Anthropic's protocol differ.
//!
//! The defaults suit a server nobody knows; a provider or a model sets what it knows better.

use serde::{Deserialize, Serialize};

/// All switches, decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Compat {
    /// The system prompt goes under the role `developer`.
    pub developer_role: bool,
    pub max_tokens_field: MaxTokensField,
    /// Asks for usage at the end of the stream; otherwise many servers send none.
    pub stream_options: bool,
    pub reasoning: Reasoning,
    /// Earlier thoughts are sent back under the field they came in.
    pub reasoning_back: bool,
    /// `store: false`, so that the provider keeps nothing.
    pub store: bool,
    pub prompt_cache_key: bool,
    /// Anthropic's cache markers.
    pub cache_control: bool,
    /// A tool result may hold images; otherwise they follow in a user message.
    pub tool_result_images: bool,
    /// A message that only calls tools has the content `null`; some servers want `""`.
    pub null_content: bool,
    /// Thoughts are bound to everything before them, so the server must be told to drop those that no longer fit.
    pub bound_thinking: bool,
}

/// How the limit of output is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    MaxTokens,
    MaxCompletionTokens,
    None,
}

/// How a server of Chat Completions is asked to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reasoning {
    None,
    /// `reasoning_effort: "low"`
    Effort,
    /// `reasoning: {effort: "low"}`
    Openrouter,
    /// `enable_thinking: true`
    EnableThinking,
    /// `chat_template_kwargs: {enable_thinking: true}`
    ChatTemplate,
}

impl Default for Compat {
    fn default() -> Compat {
        Compat {
            developer_role: false,
            max_tokens_field: MaxTokensField::MaxTokens,
            stream_options: true,
            reasoning: Reasoning::None,
            reasoning_back: true,
            store: false,
            prompt_cache_key: false,
            cache_control: false,
            tool_result_images: false,
            null_content: false,
            bound_thinking: false,
        }
    }
}

/// The switches somebody set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CompatSpec {
    pub developer_role: Option<bool>,
    pub max_tokens_field: Option<MaxTokensField>,
    pub stream_options: Option<bool>,
    pub reasoning: Option<Reasoning>,
    pub reasoning_back: Option<bool>,
    pub store: Option<bool>,
    pub prompt_cache_key: Option<bool>,
    pub cache_control: Option<bool>,
    pub tool_result_images: Option<bool>,
    pub null_content: Option<bool>,
    pub bound_thinking: Option<bool>,
}

impl Compat {
    /// These switches, with what `spec` sets on top.
    pub fn with(self, spec: &CompatSpec) -> Compat {
        Compat {
            developer_role: spec.developer_role.unwrap_or(self.developer_role),
            max_tokens_field: spec.max_tokens_field.unwrap_or(self.max_tokens_field),
            stream_options: spec.stream_options.unwrap_or(self.stream_options),
            reasoning: spec.reasoning.unwrap_or(self.reasoning),
            reasoning_back: spec.reasoning_back.unwrap_or(self.reasoning_back),
            store: spec.store.unwrap_or(self.store),
            prompt_cache_key: spec.prompt_cache_key.unwrap_or(self.prompt_cache_key),
            cache_control: spec.cache_control.unwrap_or(self.cache_control),
            tool_result_images: spec.tool_result_images.unwrap_or(self.tool_result_images),
            null_content: spec.null_content.unwrap_or(self.null_content),
            bound_thinking: spec.bound_thinking.unwrap_or(self.bound_thinking),
        }
    }
}
