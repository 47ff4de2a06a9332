//! The token usage and cost of a reply.

use serde::{Deserialize, Serialize};

/// The tokens of one reply. `input` excludes tokens read from or written to a prompt cache.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
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

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    /// Prices for the whole request if the prompt is longer than a tier's `above`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<PriceTier>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PriceTier {
    pub above: u64,
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

/// Caching for an hour costs 2 times the input price, caching for five minutes 1.25 times.
const HOUR_CACHE_PRICE_FACTOR: f64 = 2.0 / 1.25;

impl Price {
    /// The cost of a reply. Tokens without a price cost nothing.
    pub fn cost(&self, usage: &TokenUsage) -> Cost {
        let base = PriceTier {
            above: 0,
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
        };
        let tiers =
            self.tiers.iter().filter(|tier| usage.prompt_tokens() > tier.above).max_by_key(|tier| tier.above);
        let rate = tiers.copied().unwrap_or(base);
        let dollars = |tokens: u64, price: f64| tokens as f64 * price / 1_000_000.0;
        let hour = usage.cache_write_1h.min(usage.cache_write);
        let mut cost = Cost {
            input: dollars(usage.input, rate.input),
            output: dollars(usage.output, rate.output),
            cache_read: dollars(usage.cache_read, rate.cache_read),
            cache_write: dollars(usage.cache_write - hour, rate.cache_write)
                + dollars(hour, rate.cache_write * HOUR_CACHE_PRICE_FACTOR),
            total: 0.0,
        };
        cost.total = cost.input + cost.output + cost.cache_read + cost.cache_write;
        cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_type_has_its_price() {
        let price = Price { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75, tiers: vec![] };
        let usage = TokenUsage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 2_000_000,
            cache_write: 400_000,
            cache_write_1h: 200_000,
            ..TokenUsage::default()
        };
        let cost = price.cost(&usage);
        assert_eq!((cost.input, cost.output, cost.cache_read), (3.0, 1.5, 0.6));
        assert!((cost.cache_write - (0.75 + 1.2)).abs() < 1e-12, "{cost:?}");
        assert!((cost.total - 7.05).abs() < 1e-12, "{cost:?}");
    }

    #[test]
    fn long_prompt_is_billed_at_its_tier() {
        let tier = |above, input| PriceTier { above, input, ..PriceTier::default() };
        let price = Price { input: 1.0, tiers: vec![tier(200, 2.0), tier(1_000, 4.0)], ..Price::default() };
        let cost =
            |input| price.cost(&TokenUsage { input, ..TokenUsage::default() }).input * 1e6 / input as f64;
        assert_eq!([cost(200), cost(201), cost(5_000)].map(f64::round), [1.0, 2.0, 4.0]);
    }

    #[test]
    fn usage_without_a_total_is_read() {
        let usage: TokenUsage =
            serde_json::from_str(r#"{"input":5,"output":6,"cacheRead":0,"cacheWrite":0}"#).unwrap();
        assert_eq!((usage.total_tokens, usage.with_total().total_tokens), (0, 11));
    }
}
