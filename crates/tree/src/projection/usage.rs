//! Usage: the tokens, requests and cost of a session, of its branches and of each model.
//!
//! The total includes all branches, deleted ones too. A line that a later line with the same id replaced is not counted.

mod branches;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entry::{Entry, EntryKind, MessageRole, flag};
use crate::fold::{Place, SessionTree};
use crate::heads::{Head, Seq};
use crate::scan::RawJson;

use super::preview::{field, message_field};

pub use branches::BranchUsage;

/// The tokens, requests and cost of one or more requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageTotals {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub total_tokens: u64,
    pub requests: u64,
    /// In dollars.
    pub cost: f64,
}

impl UsageTotals {
    /// Reads a `usage` object. It counts as one request unless it has a `requests` field.
    pub fn parse(usage: RawJson<'_>) -> Option<UsageTotals> {
        if !usage.is_object() {
            return None;
        }
        let number = |value: RawJson<'_>| value.number().filter(|number| number.is_finite() && *number > 0.0);
        let (mut read, mut total, mut cost) =
            (UsageTotals { requests: 1, ..UsageTotals::default() }, None, None);
        usage.each_field(|key, value| {
            let tokens = || number(value).unwrap_or_default() as u64;
            match key {
                "input" => read.input = tokens(),
                "output" => read.output = tokens(),
                "cacheRead" => read.cache_read = tokens(),
                "cacheWrite" => read.cache_write = tokens(),
                "totalTokens" => total = number(value),
                "requests" => read.requests = tokens().max(1),
                "cost" => cost = Some(value),
                _ => {}
            }
        });
        read.total_tokens = total.map_or_else(|| read.sum(), |total| total as u64);
        read.cost = cost.map_or(0.0, |cost| {
            let part = |key| cost.get(key).and_then(number);
            let parts = || ["input", "output", "cacheRead", "cacheWrite"].into_iter().filter_map(part).sum();
            number(cost).or_else(|| part("total")).unwrap_or_else(parts)
        });
        Some(read)
    }

    fn sum(&self) -> u64 {
        [self.output, self.cache_read, self.cache_write].into_iter().fold(self.input, u64::saturating_add)
    }

    /// Whether there was no request.
    pub fn is_unused(&self) -> bool {
        self.requests == 0
    }

    pub fn add(&mut self, other: &UsageTotals) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.input, other.input);
        add(&mut self.output, other.output);
        add(&mut self.cache_read, other.cache_read);
        add(&mut self.cache_write, other.cache_write);
        add(&mut self.total_tokens, other.total_tokens);
        add(&mut self.requests, other.requests);
        self.cost += other.cost;
    }
}

impl<'a> std::iter::Sum<&'a UsageTotals> for UsageTotals {
    fn sum<I: Iterator<Item = &'a UsageTotals>>(usages: I) -> UsageTotals {
        usages.fold(UsageTotals::default(), |mut sum, usage| {
            sum.add(usage);
            sum
        })
    }
}

/// The usage of one model, or of tools and summaries if there is no model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    pub provider: Option<String>,
    pub model: Option<String>,
    #[serde(flatten)]
    pub usage: UsageTotals,
}

/// The usage of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageReport {
    /// All branches.
    pub session: UsageTotals,
    /// The path to the leaf.
    pub path: UsageTotals,
    /// The part of `session` that sub-agents used.
    #[serde(default, skip_serializing_if = "UsageTotals::is_unused")]
    pub subagents: UsageTotals,
    /// Most expensive first.
    pub models: Vec<ModelUsage>,
    pub branches: Vec<BranchUsage>,
}

/// The entries whose lines a `UsageMeter` needs.
pub fn usage_entries(tree: &SessionTree) -> impl Iterator<Item = Seq> + '_ {
    tree.heads().iter().filter(|(_, head)| may_have_usage(head)).map(|(seq, _)| seq)
}

pub(crate) fn may_have_usage(head: &Head) -> bool {
    let kind = matches!(
        head.kind,
        EntryKind::Usage | EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::SubagentResult
    );
    let role = matches!(head.role, MessageRole::Assistant | MessageRole::ToolResult);
    (kind || role) && !head.has_flag(flag::SUPERSEDED)
}

/// Sums the usage of the lines of a log, in any order. A line that is added twice counts once.
#[derive(Debug, Default)]
pub struct UsageMeter {
    by_entry: BTreeMap<Seq, (UsageTotals, Arc<ModelKey>)>,
    models: BTreeSet<Arc<ModelKey>>,
}

/// Provider and model, if the line names them.
type ModelKey = (Option<String>, Option<String>);

impl UsageMeter {
    pub fn add_entry(&mut self, seq: Seq, entry: &Entry<'_>) {
        let Some(ModelUsage { provider, model, usage }) = entry_usage(entry) else { return };
        let model = (provider, model);
        let model = self.models.get(&model).cloned().unwrap_or_else(|| Arc::new(model));
        self.models.insert(Arc::clone(&model));
        self.by_entry.insert(seq, (usage, model));
    }

    /// The totals. `leaf` is the end of the active path. Replaced lines are not counted.
    pub fn report(&self, tree: &SessionTree, leaf: Place) -> UsageReport {
        let mut spent = BTreeMap::new();
        let mut models: BTreeMap<&ModelKey, UsageTotals> = BTreeMap::new();
        for (seq, (usage, model)) in &self.by_entry {
            if !tree.head(*seq).has_flag(flag::SUPERSEDED) {
                spent.insert(*seq, *usage);
                // Sub-agents may use several models; they are listed separately.
                if tree.head(*seq).kind != EntryKind::SubagentResult {
                    models.entry(model).or_default().add(usage);
                }
            }
        }
        UsageReport {
            session: spent.values().sum(),
            subagents: spent
                .iter()
                .filter(|(seq, _)| tree.head(**seq).kind == EntryKind::SubagentResult)
                .map(|(_, usage)| usage)
                .sum(),
            path: tree.path(leaf).iter().filter_map(|seq| spent.get(seq)).sum(),
            models: sort_by_cost(models),
            branches: branches::branches(tree, leaf, &spent),
        }
    }
}

/// The usage of an entry, and its model.
pub fn entry_usage(entry: &Entry<'_>) -> Option<ModelUsage> {
    let usage = message_field(entry, "usage").and_then(UsageTotals::parse)?;
    let (provider, model) = entry_model(entry);
    Some(ModelUsage { provider, model, usage })
}

fn sort_by_cost(models: BTreeMap<&ModelKey, UsageTotals>) -> Vec<ModelUsage> {
    let mut models: Vec<ModelUsage> = models
        .into_iter()
        .map(|((provider, model), usage)| ModelUsage {
            provider: provider.clone(),
            model: model.clone(),
            usage,
        })
        .collect();
    models.sort_by(|a, b| {
        b.usage.cost.total_cmp(&a.usage.cost).then(b.usage.total_tokens.cmp(&a.usage.total_tokens))
    });
    models
}

fn entry_model(entry: &Entry<'_>) -> ModelKey {
    let text = |value: Option<RawJson<'_>>| value.and_then(RawJson::text).map(Into::into);
    match entry.role {
        MessageRole::ToolResult => (None, None),
        MessageRole::Assistant => {
            let model = message_field(entry, "responseModel").filter(|model| model.is_string());
            (text(message_field(entry, "provider")), text(model.or_else(|| message_field(entry, "model"))))
        }
        _ => (text(field(entry, "provider")), text(field(entry, "model"))),
    }
}

/// Formats a cost, with more decimals for small amounts.
pub fn format_cost(dollars: f64) -> String {
    match dollars {
        d if d <= 0.0 => "$0".to_owned(),
        d if d < 0.01 => format!("${d:.4}"),
        d if d < 1.0 => format!("${d:.3}"),
        d => format!("${d:.2}"),
    }
}

/// Formats a number of tokens: `999`, `1.2k`, `12k`, `1.2M`.
pub fn format_tokens(tokens: u64) -> String {
    let in_units = |unit: f64, sign: &str| {
        let count = tokens as f64 / unit;
        if count < 9.95 { format!("{count:.1}{sign}") } else { format!("{count:.0}{sign}") }
    };
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..999_500 => in_units(1e3, "k"),
        _ => in_units(1e6, "M"),
    }
}
