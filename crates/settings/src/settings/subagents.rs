//! The settings of tasks that a model delegates to other agents.

use osier_agent::AgentBudget;

use super::kind::dollars;
use super::layers::SettingsLayers;

/// See the module documentation.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentSettings {
    pub enabled: bool,
    pub max_parallel: usize,
    pub max_depth: u32,
    /// The limits of one task. An agent file can only lower them.
    pub budget: AgentBudget,
}

impl SubagentSettings {
    pub(super) fn from_layers(layers: &SettingsLayers) -> SubagentSettings {
        SubagentSettings {
            enabled: layers.bool("subagents.enabled").unwrap_or(true),
            max_parallel: layers.count("subagents.max_parallel").unwrap_or(8),
            max_depth: layers.count("subagents.max_depth").unwrap_or(1),
            budget: AgentBudget {
                max_turns: layers.count("subagents.max_turns"),
                max_tokens: layers.count("subagents.max_tokens"),
                max_seconds: layers.count("subagents.max_seconds"),
                max_cost: layers.find("subagents.max_cost").and_then(|set| dollars(&set.value)),
            },
        }
    }
}
