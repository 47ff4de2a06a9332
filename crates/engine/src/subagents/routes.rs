//! Which tools the agents of a batch had, and why: a record for people who read it later.

use std::collections::BTreeSet;

use osier_agent::AgentDefinition;
use serde_json::{Value, json};

use super::TASK_TOOL;
use super::batch::Batch;

impl Batch {
    /// Which tools the agents of the batch had, and why.
    pub(super) fn routes(&self) -> Vec<Value> {
        let mut seen = BTreeSet::new();
        let agents = self.tasks.iter().filter_map(|task| task.agent.as_ref().ok());
        let distinct = agents.filter(|(definition, _)| seen.insert(definition.name.clone()));
        distinct.flat_map(|(definition, _)| self.agent_routes(definition)).collect()
    }

    fn agent_routes(&self, definition: &AgentDefinition) -> Vec<Value> {
        let of_parent = self.delegation.tools.specs();
        let is_sandboxed = self.agent.approvals().sandboxed;
        let is_wanted =
            |tool: &str| definition.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool));
        let route = |tool: &str, allowed: bool, reason: &str| {
            let runtime = if tool == "bash" && is_sandboxed { "sandbox" } else { "host" };
            json!({
                "agent": definition.name, "toolName": tool, "requestedRuntime": runtime,
                "chosenRuntime": allowed.then_some(runtime), "reason": reason, "allowed": allowed,
            })
        };
        let own = of_parent.iter().map(|spec| match is_wanted(&spec.name) {
            true => route(&spec.name, true, "the agent and its parent have it"),
            false => route(&spec.name, false, "the agent does not have it"),
        });
        let missing =
            definition.tools.iter().flatten().filter(|tool| {
                tool.as_str() != TASK_TOOL && of_parent.iter().all(|spec| spec.name != **tool)
            });
        let missing: Vec<Value> =
            missing.map(|tool| route(tool, false, "its parent does not have it")).collect();
        let delegates = self.delegation.may_delegate(definition);
        let task = match delegates {
            true => route(TASK_TOOL, true, "nesting is allowed"),
            false => route(TASK_TOOL, false, "the agent does not have it, or tasks are nested too deep"),
        };
        let backtrack = route("backtrack", false, "sub-agents never backtrack");
        own.chain(missing).chain([task, backtrack]).collect()
    }
}
