//! How hard a model is asked to think, and how each kind of model wants to be asked.

use serde::{Deserialize, Serialize};

/// The levels a user chooses from. Models have fewer; see [`Ability::nearest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
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

    /// Tokens of thought for models that are given a number. `most` is what the model can write at all.
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

/// In what words a model is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// It does not think, or cannot be told how much.
    #[default]
    None,
    /// A number of tokens.
    Budget,
    /// It decides itself, guided by an effort.
    Adaptive,
    /// The name of a level.
    Effort,
}

/// What a model can do when asked to think.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ability {
    pub style: Style,
    /// The levels it knows, besides off.
    pub levels: Vec<ThinkingLevel>,
    /// The API's word for "do not think", or `omit` if saying nothing means that. Without it the model always thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off: Option<String>,
}

impl Ability {
    pub fn can_think(&self) -> bool {
        self.style != Style::None
    }

    /// All levels that make a difference, in order.
    pub fn choices(&self) -> Vec<ThinkingLevel> {
        let off = (!self.can_think() || self.off.is_some()).then_some(ThinkingLevel::Off);
        let mut choices: Vec<_> = off.into_iter().chain(self.levels.iter().copied()).collect();
        choices.sort_unstable();
        choices
    }

    /// The level this model has for the wanted one: the next lower, or its lowest.
    pub fn nearest(&self, wanted: ThinkingLevel) -> ThinkingLevel {
        let choices = self.choices();
        let below = choices.iter().rev().find(|level| {
            **level <= wanted && (**level != ThinkingLevel::Off || wanted == ThinkingLevel::Off)
        });
        below.or_else(|| choices.iter().find(|level| **level > wanted)).copied().unwrap_or_default()
    }

    /// The word that turns thinking off, if one has to be said.
    pub(crate) fn off_word(&self) -> Option<&str> {
        self.off.as_deref().filter(|word| *word != "omit")
    }
}

#[cfg(test)]
mod tests {
    use super::ThinkingLevel::{High, Low, Max, Medium, Minimal, Off, Xhigh};
    use super::*;

    #[test]
    fn a_level_that_is_missing_becomes_the_next_lower_or_the_lowest() {
        let some = Ability { style: Style::Effort, levels: vec![Low, High], off: Some("none".to_owned()) };
        assert_eq!(
            ThinkingLevel::ALL.map(|level| some.nearest(level)),
            [Off, Low, Low, Low, High, High, High]
        );
        let always = Ability { off: None, ..some };
        assert_eq!(always.nearest(Off), Low);
        assert_eq!(ThinkingLevel::ALL.map(|level| Ability::default().nearest(level)), [Off; 7]);
        assert_eq!(always.choices(), [Low, High]);
    }

    #[test]
    fn levels_have_names_and_growing_budgets() {
        assert_eq!(
            [Off, Minimal, Low, Medium, High, Xhigh, Max].map(|level| ThinkingLevel::parse(level.name())),
            ThinkingLevel::ALL.map(Some)
        );
        let budgets = ThinkingLevel::ALL.map(|level| level.budget(64_000));
        assert!(budgets.is_sorted() && budgets[6] == 64_000, "{budgets:?}");
        assert_eq!(High.budget(4_000), 4_000);
    }
}
