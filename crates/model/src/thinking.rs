//! Thinking levels, and how each kind of model is configured to use them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The thinking levels. A model may support only some of them; see `ThinkingAbility::nearest`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    #[default]
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl ThinkingLevel {
    pub const ALL: [ThinkingLevel; 7] =
        [Self::Off, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    pub fn parse(name: &str) -> Option<ThinkingLevel> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The thinking budget in tokens, for models that take a number. `most` is the maximum for the model.
    pub(crate) fn budget(self, most: u64) -> u64 {
        let budget = match self {
            Self::Off => 0,
            Self::Minimal => 1_024,
            Self::Low => 2_048,
            Self::Medium => 8_192,
            Self::High => 16_384,
            Self::Xhigh => 32_768,
            Self::Max => most,
        };
        budget.min(most)
    }
}

/// How a request specifies the thinking level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThinkingStyle {
    /// The model does not think, or its thinking cannot be controlled.
    #[default]
    None,
    /// As a number of tokens.
    Budget,
    /// The model decides, guided by an effort level.
    Adaptive,
    /// As the name of a level.
    Effort,
}

/// The thinking support of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ThinkingAbility {
    pub style: ThinkingStyle,
    /// The supported levels, without `off`.
    pub levels: Vec<ThinkingLevel>,
    /// The API's value for "do not think", or `omit` if leaving the field out has that effect. `None` if the model always
    /// thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off: Option<String>,
}

impl ThinkingAbility {
    pub fn can_think(&self) -> bool {
        self.style != ThinkingStyle::None
    }

    /// All supported levels in order, including `off` if thinking can be turned off.
    pub fn choices(&self) -> Vec<ThinkingLevel> {
        let off = (!self.can_think() || self.off.is_some()).then_some(ThinkingLevel::Off);
        let mut choices: Vec<_> = off.into_iter().chain(self.levels.iter().copied()).collect();
        choices.sort_unstable();
        choices
    }

    /// The supported level closest to `wanted`: the next lower one, or the lowest.
    pub fn nearest(&self, wanted: ThinkingLevel) -> ThinkingLevel {
        let choices = self.choices();
        let below = choices.iter().rev().find(|level| {
            **level <= wanted && (**level != ThinkingLevel::Off || wanted == ThinkingLevel::Off)
        });
        below.or_else(|| choices.iter().find(|level| **level > wanted)).copied().unwrap_or_default()
    }

    /// The value that turns thinking off, if the request must contain one.
    pub(crate) fn off_value(&self) -> Option<&str> {
        self.off.as_deref().filter(|word| *word != "omit")
    }
}

#[cfg(test)]
mod tests {
    use super::ThinkingLevel::{High, Low, Max, Medium, Minimal, Off, Xhigh};
    use super::*;

    #[test]
    fn missing_level_maps_to_the_next_lower_or_the_lowest() {
        let some = ThinkingAbility {
            style: ThinkingStyle::Effort,
            levels: vec![Low, High],
            off: Some("none".to_owned()),
        };
        assert_eq!(
            ThinkingLevel::ALL.map(|level| some.nearest(level)),
            [Off, Low, Low, Low, High, High, High]
        );
        let always = ThinkingAbility { off: None, ..some };
        assert_eq!(always.nearest(Off), Low);
        assert_eq!(ThinkingLevel::ALL.map(|level| ThinkingAbility::default().nearest(level)), [Off; 7]);
        assert_eq!(always.choices(), [Low, High]);
    }

    #[test]
    fn level_names_round_trip_and_budgets_grow() {
        assert_eq!(
            [Off, Minimal, Low, Medium, High, Xhigh, Max].map(|level| ThinkingLevel::parse(level.name())),
            ThinkingLevel::ALL.map(Some)
        );
        let budgets = ThinkingLevel::ALL.map(|level| level.budget(64_000));
        assert!(budgets.is_sorted() && budgets[6] == 64_000, "{budgets:?}");
        assert_eq!(High.budget(4_000), 4_000);
    }
}
