//! The token usage and cost of one reply, as a message stores them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tokens of one reply. `input` excludes tokens read from or written to a prompt cache.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub total_tokens: u64,
    /// The part of `cache_write` that is cached for an hour, which some providers bill at a different price.
    #[serde(rename = "cacheWrite1h", skip_serializing_if = "is_zero")]
    pub cache_write_1h: u64,
    /// The part of `output` that is thinking.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    pub cost: Cost,
}

/// The cost of a reply in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    pub total: f64,
}

fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

impl TokenUsage {
    /// Sets `total_tokens` to the sum of the parts.
    pub fn with_total(mut self) -> TokenUsage {
        self.total_tokens = self.prompt_tokens().saturating_add(self.output);
        self
    }

    /// All tokens of the prompt, cached or not.
    pub fn prompt_tokens(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: TokenUsage) {
        for (sum, more) in [
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write, other.cache_write),
            (&mut self.total_tokens, other.total_tokens),
            (&mut self.cache_write_1h, other.cache_write_1h),
            (&mut self.reasoning, other.reasoning),
        ] {
            *sum = sum.saturating_add(more);
        }
        for (sum, more) in [
            (&mut self.cost.input, other.cost.input),
            (&mut self.cost.output, other.cost.output),
            (&mut self.cost.cache_read, other.cost.cache_read),
            (&mut self.cost.cache_write, other.cost.cache_write),
            (&mut self.cost.total, other.cost.total),
        ] {
            *sum += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_without_a_total_is_read() {
        let usage: TokenUsage =
            serde_json::from_str(r#"{"input":5,"output":6,"cacheRead":0,"cacheWrite":0}"#).unwrap();
        assert_eq!((usage.total_tokens, usage.with_total().total_tokens), (0, 11));
    }
}
