//! The prices of tokens.

pub use osier_tree::token_usage::{Cost, TokenUsage};
use serde::{Deserialize, Serialize};

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
}
