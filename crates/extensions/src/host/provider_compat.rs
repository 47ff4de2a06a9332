//! What an extension says about the server and the thinking of a model, in the words of pi, as Osier's settings.

use std::collections::BTreeMap;

use osier_model::{
    Api, CompatSpec, MaxTokensField, ReasoningFormat, ThinkingAbility, ThinkingLevel, ThinkingSpec,
    ThinkingStyle,
};
use serde::Deserialize;

/// The switches of pi that Osier has too. Others are ignored.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RegisteredCompat {
    supports_store: Option<bool>,
    supports_developer_role: Option<bool>,
    supports_reasoning_effort: Option<bool>,
    supports_usage_in_streaming: Option<bool>,
    max_tokens_field: Option<MaxTokensField>,
    requires_reasoning_content_on_assistant_messages: Option<bool>,
    thinking_format: Option<String>,
    cache_control_format: Option<String>,
}

/// The values of thinking levels for a provider. `null` marks a level that the model does not have.
pub(super) type ThinkingLevelMap = BTreeMap<String, Option<String>>;

impl RegisteredCompat {
    /// The settings of a model. As in pi, a model that thinks gets the level as its effort unless something else is said.
    pub(super) fn spec(&self, reasoning: bool) -> CompatSpec {
        CompatSpec {
            developer_role: self.supports_developer_role,
            max_tokens_field: self.max_tokens_field,
            stream_options: self.supports_usage_in_streaming,
            reasoning: reasoning.then(|| self.reasoning_format()),
            reasoning_back: self.requires_reasoning_content_on_assistant_messages,
            // pi sends the field only to servers that know it.
            store: self.supports_store,
            cache_control: self.cache_control_format.as_ref().map(|format| format == "anthropic"),
            ..CompatSpec::default()
        }
    }

    fn reasoning_format(&self) -> ReasoningFormat {
        match self.thinking_format.as_deref() {
            Some("openrouter") => ReasoningFormat::Openrouter,
            Some("qwen") => ReasoningFormat::EnableThinking,
            Some("qwen-chat-template" | "chat-template") => ReasoningFormat::ChatTemplate,
            _ if self.supports_reasoning_effort == Some(false) => ReasoningFormat::None,
            _ => ReasoningFormat::Effort,
        }
    }
}

/// The thinking of a model: the usual levels, without those that the map excludes, and with those that it adds.
pub(super) fn thinking(api: Api, reasoning: bool, map: &ThinkingLevelMap) -> ThinkingSpec {
    if !reasoning || map.is_empty() {
        return ThinkingSpec::Enabled(reasoning);
    }
    use ThinkingLevel::{High, Low, Max, Medium, Minimal, Xhigh};
    let is_usual = |level: ThinkingLevel| matches!(level, Minimal | Low | Medium | High);
    let has = |level: &ThinkingLevel| map.get(level.name()).map_or(is_usual(*level), Option::is_some);
    let levels = [Minimal, Low, Medium, High, Xhigh, Max].into_iter().filter(has).collect();
    let style = if api == Api::AnthropicMessages { ThinkingStyle::Budget } else { ThinkingStyle::Effort };
    let off = map.get("off").map_or(Some("omit".to_owned()), |off| off.as_ref().map(|_| "omit".to_owned()));
    ThinkingSpec::Exact(ThinkingAbility { style, levels, off })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compat(value: serde_json::Value) -> CompatSpec {
        serde_json::from_value::<RegisteredCompat>(value).unwrap().spec(true)
    }

    #[test]
    fn switches_of_pi_become_settings() {
        assert_eq!(compat(json!({})).reasoning, Some(ReasoningFormat::Effort));
        assert_eq!(
            compat(json!({ "supportsReasoningEffort": false })).reasoning,
            Some(ReasoningFormat::None)
        );
        assert_eq!(
            compat(json!({ "thinkingFormat": "qwen" })).reasoning,
            Some(ReasoningFormat::EnableThinking)
        );
        let all = compat(
            json!({ "supportsDeveloperRole": true, "maxTokensField": "max_completion_tokens", "supportsStrictMode": false, "cacheControlFormat": "anthropic" }),
        );
        assert_eq!((all.developer_role, all.cache_control), (Some(true), Some(true)));
        assert_eq!(all.max_tokens_field, Some(MaxTokensField::MaxCompletionTokens));
        assert_eq!(RegisteredCompat::default().spec(false), CompatSpec::default());
    }

    #[test]
    fn a_map_excludes_and_adds_thinking_levels() {
        let map = serde_json::from_value(json!({ "minimal": null, "xhigh": "max", "off": null })).unwrap();
        let ThinkingSpec::Exact(ability) = thinking(Api::OpenaiCompletions, true, &map) else {
            panic!("no map")
        };
        use ThinkingLevel::{High, Low, Medium, Xhigh};
        assert_eq!((ability.choices(), ability.off), (vec![Low, Medium, High, Xhigh], None));
        assert_eq!(thinking(Api::OpenaiCompletions, false, &map), ThinkingSpec::Enabled(false));
    }
}
