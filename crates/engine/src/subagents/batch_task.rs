//! One task of a batch as it is stored, and the agents and models that tasks can have.

use std::sync::Arc;

use osier_agent::{AgentDefinition, AgentHandle};
use osier_model::ModelInfo;
use osier_tree::projection::preview::one_line;
use osier_tree::projection::subagents::TaskOutcome;
use serde_json::{Value, json};

use super::followed_run::RunEnd;
use super::task_tools::Delegation;

/// The length of a task's title, in characters.
pub(super) const TITLE_CHARS: usize = 80;

/// A task of a batch.
#[derive(Debug, Clone)]
pub(super) struct BatchTask {
    pub(super) id: String,
    pub(super) order: u64,
    /// The task as the batch stores it.
    pub(super) stored: Value,
    pub(super) prompt: String,
    pub(super) session_id: String,
    /// The agent that does it, or why there is none.
    pub(super) agent: Result<(AgentDefinition, Arc<ModelInfo>), String>,
}

impl BatchTask {
    pub(super) fn agent_name(&self) -> &str {
        self.stored["agent"].as_str().unwrap_or_default()
    }

    pub(super) fn title(&self) -> String {
        one_line(self.stored["title"].as_str().unwrap_or(&self.prompt), TITLE_CHARS)
    }

    /// How it ended in an earlier process, unless it completed: then its session has the answer.
    pub(super) fn recorded_end(&self) -> Option<RunEnd> {
        match self.stored["status"].as_str()? {
            "failed" => Some(RunEnd::Failed(self.stored["error"].as_str().unwrap_or("it failed").to_owned())),
            "cancelled" => Some(RunEnd::Cancelled),
            _ => None,
        }
    }

    /// A row of the results.
    pub(super) fn outcome(&self, status: &str) -> TaskOutcome {
        TaskOutcome::default()
            .with("id", json!(self.id))
            .with("sortOrder", json!(self.order))
            .with("status", json!(status))
            .with("title", json!(self.title()))
            .with("goal", json!(self.prompt))
    }
}

/// The agents that exist now, and the model of the delegating agent.
pub(super) struct Agents {
    known: Vec<AgentDefinition>,
    model: Arc<ModelInfo>,
    models: crate::model_catalog::ModelCatalog,
}

impl Agents {
    pub(super) async fn load(
        delegation: &Delegation,
        agent: &AgentHandle,
    ) -> Result<Agents, osier_agent::AgentError> {
        let library = delegation.config.library.clone();
        let known = tokio::task::spawn_blocking(move || library.find_all().0).await.unwrap_or_default();
        let model = agent.model_choice().await?.model;
        Ok(Agents { known, model, models: delegation.spec.workspace.models.clone() })
    }

    /// The agent with this name and its model. `Err` is a text for the model.
    pub(super) fn choose(&self, name: &str) -> Result<(AgentDefinition, Arc<ModelInfo>), String> {
        let Some(definition) = self.known.iter().find(|agent| agent.name == name) else {
            let names: Vec<&str> = self.known.iter().map(|agent| agent.name.as_str()).collect();
            return Err(format!("there is no agent `{name}`; the agents are {}", names.join(", ")));
        };
        let model = match &definition.model {
            None => self.model.clone(),
            Some(model) => self
                .models
                .usable_model(model)
                .map_err(|reason| format!("the agent `{name}` cannot use its model {model}: {reason}"))?,
        };
        Ok((definition.clone(), model))
    }
}
