//! Compatibility settings: the points on which servers that implement OpenAI's or Anthropic's protocol differ.
//!
//! The defaults suit an unknown server. A provider or a model overrides them.

use serde::{Deserialize, Serialize};

/// The resolved settings of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Compat {
    /// Sends the system prompt with the role `developer`.
    pub developer_role: bool,
    pub max_tokens_field: MaxTokensField,
    /// Requests usage at the end of the stream; many servers send none otherwise.
    pub stream_options: bool,
    pub reasoning: ReasoningFormat,
    /// Sends earlier thinking back in the field it came in.
    pub reasoning_back: bool,
    /// Sends `store: false`, so that the provider stores nothing.
    pub store: bool,
    pub prompt_cache_key: bool,
    /// Sends Anthropic's cache markers.
    pub cache_control: bool,
    /// A tool result may contain images; otherwise they follow in a user message.
    pub tool_result_images: bool,
    /// A message that only calls tools has the content `null`; some servers want `""`.
    pub null_content: bool,
    /// Thinking blocks are bound to the messages before them. The request tells the server to drop those that no longer match.
    pub bound_thinking: bool,
}

/// The name of the field for the output limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    MaxTokens,
    MaxCompletionTokens,
    None,
}

/// How a Chat Completions request enables thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningFormat {
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
            reasoning: ReasoningFormat::None,
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

/// The settings that a provider or a model overrides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CompatSpec {
    pub developer_role: Option<bool>,
    pub max_tokens_field: Option<MaxTokensField>,
    pub stream_options: Option<bool>,
    pub reasoning: Option<ReasoningFormat>,
    pub reasoning_back: Option<bool>,
    pub store: Option<bool>,
    pub prompt_cache_key: Option<bool>,
    pub cache_control: Option<bool>,
    pub tool_result_images: Option<bool>,
    pub null_content: Option<bool>,
    pub bound_thinking: Option<bool>,
}

impl Compat {
    /// Applies the overrides of `spec`.
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
