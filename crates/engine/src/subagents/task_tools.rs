//! The tool `task`, in front of the other tools of an agent.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use osier_agent::agent_files::DEFAULT_AGENT;
use osier_agent::{AgentBudget, AgentDefinition, AgentHandle};
use osier_tools::{Preview, ToolCall, ToolContext, ToolKind, ToolOutcome, ToolSpec, Toolbox};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::batch::Batch;
use super::running_tasks::RunningTasks;
use super::{SubagentConfig, TASK_TOOL};
use crate::agents::AgentSpec;
use crate::engine::Engine;
use crate::live_sessions::LiveSession;

/// How many tasks one call may have.
const MAX_TASKS: usize = 32;

const DESCRIPTION: &str = "\
Delegates tasks to other agents, which work at the same time, each with a context of its own. Use it for work that needs many \
steps but whose result is short: searching, reading much, independent changes. An agent sees only the prompt of its task, so say \
everything it needs to know, and what it should report. You get the final answers.";

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct TaskTools {
    inner: Arc<dyn Toolbox>,
    delegation: Arc<Delegation>,
}

/// What an agent needs to delegate tasks.
#[derive(Debug)]
pub(crate) struct Delegation {
    pub(super) engine: Engine,
    /// The delegating agent.
    pub(super) spec: AgentSpec,
    pub(super) config: SubagentConfig,
    /// The tools of the delegating agent, as they are at each moment.
    pub(super) tools: Arc<dyn Toolbox>,
    pub(super) running: Arc<RunningTasks>,
    /// Limits how many tasks run at the same time.
    pub(super) slots: Semaphore,
    agent: OnceLock<AgentHandle>,
    /// The agents that the description of the tool lists.
    listed: OnceLock<Vec<AgentDefinition>>,
}

impl Delegation {
    /// `None` if the agent does not delegate.
    pub(crate) fn new(
        engine: &Engine,
        live: &LiveSession,
        spec: &AgentSpec,
        tools: &Arc<dyn Toolbox>,
    ) -> Option<Arc<Delegation>> {
        let config = spec.workspace.subagents.clone().filter(|_| !spec.is_one_shot)?;
        Some(Arc::new(Delegation {
            engine: engine.clone(),
            spec: spec.clone(),
            tools: tools.clone(),
            running: live.tasks.clone(),
            slots: Semaphore::new(config.max_parallel.max(1)),
            config,
            agent: OnceLock::new(),
            listed: OnceLock::new(),
        }))
    }

    /// The agent exists only after its tools.
    pub(crate) fn set_agent(&self, agent: AgentHandle) {
        // It is set once.
        let _ = self.agent.set(agent);
    }

    pub(super) fn agent(&self) -> Option<&AgentHandle> {
        self.agent.get()
    }

    /// How deep the delegating agent is nested.
    pub(super) fn depth(&self) -> u32 {
        self.spec.parent.as_ref().map_or(0, |parent| parent.depth)
    }

    pub(super) fn budget(&self, definition: &AgentDefinition) -> AgentBudget {
        definition.budget.min(self.config.budget)
    }
}

/// A task as the model writes it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct TaskArgument {
    pub(super) prompt: String,
    #[serde(default)]
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) agent: Option<String>,
}

impl TaskArgument {
    pub(super) fn agent(&self) -> &str {
        self.agent.as_deref().map(str::trim).filter(|name| !name.is_empty()).unwrap_or(DEFAULT_AGENT)
    }
}

fn parse_tasks(arguments: &Value) -> Result<Vec<TaskArgument>, String> {
    let tasks = match &arguments["tasks"] {
        // Some models write a single task without the list.
        Value::Null => json!([arguments]),
        tasks => tasks.clone(),
    };
    let tasks: Vec<TaskArgument> = serde_json::from_value(tasks)
        .map_err(|error| format!("`tasks` must be a list of objects with a `prompt`: {error}"))?;
    match tasks.len() {
        0 => Err("`tasks` is empty; name at least one task".to_owned()),
        count if count > MAX_TASKS => Err(format!("{count} tasks are too many; the limit is {MAX_TASKS}")),
        _ if tasks.iter().any(|task| task.prompt.trim().is_empty()) => Err("a task has no prompt".to_owned()),
        _ => Ok(tasks),
    }
}

impl TaskTools {
    pub(crate) fn new(delegation: Arc<Delegation>) -> TaskTools {
        TaskTools { inner: delegation.tools.clone(), delegation }
    }

    fn task_spec(&self) -> ToolSpec {
        let agents = self.delegation.listed.get_or_init(|| self.delegation.config.library.find_all().0);
        let list: Vec<String> =
            agents.iter().map(|agent| format!("- {}: {}", agent.name, agent.description)).collect();
        let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
        let task = json!({
            "type": "object",
            "properties": {
                "prompt": { "type": "string", "description": "The whole task, with everything the agent needs to know" },
                "description": { "type": "string", "description": "The task in three to six words, for the user" },
                "agent": { "type": "string", "enum": names, "description": format!("The agent; {DEFAULT_AGENT} by default") },
            },
            "required": ["prompt"],
            "additionalProperties": false,
        });
        ToolSpec {
            name: TASK_TOOL.to_owned(),
            description: format!("{DESCRIPTION}\n\nAgents:\n{}", list.join("\n")),
            parameters: json!({
                "type": "object",
                "properties": {
                    "tasks": {
                        "type": "array", "items": task, "minItems": 1, "maxItems": MAX_TASKS,
                        "description": "The tasks. They start together, in no particular order",
                    },
                },
                "required": ["tasks"],
                "additionalProperties": false,
            }),
            kind: ToolKind::Delegates,
        }
    }
}

#[async_trait]
impl Toolbox for TaskTools {
    fn runs_in_parallel(&self, name: &str) -> bool {
        self.inner.runs_in_parallel(name)
    }

    fn prompt_section(&self, tools: &[ToolSpec]) -> Option<String> {
        self.inner.prompt_section(tools)
    }

    fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = self.inner.specs();
        specs.retain(|spec| spec.name != TASK_TOOL);
        specs.push(self.task_spec());
        specs
    }

    async fn preview(&self, call: &ToolCall, ctx: &ToolContext) -> Result<Preview, ToolOutcome> {
        match call.name.as_str() {
            TASK_TOOL => {
                parse_tasks(&call.arguments).map(|_| Preview::nothing()).map_err(ToolOutcome::failed)
            }
            _ => self.inner.preview(call, ctx).await,
        }
    }

    async fn run(&self, call: ToolCall, ctx: &ToolContext) -> ToolOutcome {
        if call.name != TASK_TOOL {
            return self.inner.run(call, ctx).await;
        }
        let tasks = match parse_tasks(&call.arguments) {
            Ok(tasks) => tasks,
            Err(problem) => return ToolOutcome::failed(problem),
        };
        match Batch::start(&self.delegation, &call.id, tasks, ctx).await {
            Ok(batch) => batch.run_detached().await,
            Err(problem) => ToolOutcome::failed(problem),
        }
    }

    async fn resume(&self, call: &ToolCall, ctx: &ToolContext) -> Option<ToolOutcome> {
        if call.name != TASK_TOOL {
            return self.inner.resume(call, ctx).await;
        }
        Batch::resume(&self.delegation, &call.id, ctx).await
    }

    async fn abandon(&self, call: &ToolCall, ctx: &ToolContext) {
        if call.name != TASK_TOOL {
            return self.inner.abandon(call, ctx).await;
        }
        Batch::abandon(&self.delegation, &call.id, ctx).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_task_needs_no_list_and_bad_lists_are_explained() {
        let parse = |arguments: Value| parse_tasks(&arguments).map(|tasks| tasks.len());
        assert_eq!(parse(json!({ "prompt": "look" })), Ok(1));
        assert_eq!(
            parse(json!({ "tasks": [{ "prompt": "a" }, { "prompt": "b", "agent": "explore" }] })),
            Ok(2)
        );
        assert!(parse(json!({ "tasks": [] })).unwrap_err().contains("empty"));
        assert!(parse(json!({ "tasks": [{ "prompt": " " }] })).unwrap_err().contains("no prompt"));
        assert!(parse(json!({ "tasks": "x" })).unwrap_err().contains("list"));
        assert!(parse(json!({ "tasks": vec![json!({ "prompt": "a" }); 33] })).unwrap_err().contains("32"));
        let named =
            |agent: &str| TaskArgument { prompt: "x".into(), description: None, agent: Some(agent.into()) };
        assert_eq!((named("").agent(), named("explore").agent()), ("general", "explore"));
    }
}
