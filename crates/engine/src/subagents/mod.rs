//! Sub-agents: tasks that a model delegates to other agents, each in a session of its own that names its parent.
//!
//! | file | contents |
//! |---|---|
//! | `task_tools.rs` | the tool `task`, in front of the other tools of an agent |
//! | `batch.rs` | the tasks of one call: the entries of the batch, the results for the model |
//! | `batch_task.rs` | one task of a batch as it is stored; the agents and models that tasks can have |
//! | `routes.rs` | which tools the agents of a batch had, and why |
//! | `task_run.rs` | one task: starts its agent and reports how it ended |
//! | `followed_run.rs` | follows an agent that works for another one: passes on questions, watches the budget |
//! | `child.rs` | the session and the agent of a task |
//! | `record.rs` | what an agent did, from the path of its session |
//! | `left_tasks.rs` | the tasks of batches that do not run in this process |
//! | `running_tasks.rs` | the tasks that run now, for clients that steer or cancel them |

mod batch;
mod batch_task;
mod child;
pub(crate) mod followed_run;
mod left_tasks;
pub(crate) mod record;
mod routes;
pub(crate) mod running_tasks;
mod task_run;
pub(crate) mod task_tools;

use osier_agent::{AgentBudget, AgentHandle, AgentLibrary};

/// The tool that delegates tasks.
pub const TASK_TOOL: &str = "task";

/// How the agents of a workspace delegate tasks.
#[derive(Debug, Clone)]
pub struct SubagentConfig {
    /// The agents that tasks can name.
    pub library: AgentLibrary,
    /// How many tasks of one agent run at the same time.
    pub max_parallel: usize,
    /// How deep tasks may be nested.
    pub max_depth: u32,
    /// The limits of one task. An agent can have stricter ones.
    pub budget: AgentBudget,
}

/// The agent that a sub-agent works for.
#[derive(Debug, Clone)]
pub struct ParentAgent {
    pub agent: AgentHandle,
    /// 1 for an agent that the agent of a conversation started, 2 for one that this one started, and so on.
    pub depth: u32,
}
