//! What an agent is put together from. Callers bring all of it: nothing here reads the environment or looks for a home.

use std::fmt::Debug;
use std::sync::Arc;

use osier_model::{LookupError, Model, ModelInfo, Registry, ThinkingLevel};
use osier_tools::approvals::Mode;
use osier_tools::{ToolContext, Toolbox};

use crate::briefing::Briefing;
use crate::compaction::Compacting;
use crate::gates::{Gates, Open};
use crate::prompts::Prompts;

/// The usual limit of model calls for one prompt.
pub const MAX_STEPS: u32 = 200;

/// See the module.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Answers requests, whichever model they name.
    pub model: Arc<dyn Model>,
    pub lookup: Arc<dyn Lookup>,
    /// The model of a path that names none, or one that is not known any more.
    pub default_model: Arc<ModelInfo>,
    pub default_thinking: ThinkingLevel,
    /// What the user chose for this run, whatever the path says. Each takes effect once, with the next prompt.
    pub chosen_model: Option<Arc<ModelInfo>>,
    pub chosen_thinking: Option<ThinkingLevel>,
    pub tools: Arc<dyn Toolbox>,
    /// Where tools work. Progress, cancelling and what was read are filled in for each call.
    pub context: ToolContext,
    /// What the model is told before the conversation.
    pub briefing: Arc<dyn Briefing>,
    /// Where the templates and skills lie that the user calls by name.
    pub prompts: Prompts,
    /// Whether the model may return to checkpoints, and sees them.
    pub backtracking: bool,
    /// Writes summaries instead of the model in force.
    pub summary_model: Option<Arc<ModelInfo>>,
    pub compacting: Compacting,
    /// After a move the model and the level of thinking are those of the new path. Without this they stay.
    pub restore_on_move: bool,
    pub gates: Arc<dyn Gates>,
    /// The approval mode of this run, over the session's own. It is not stored.
    pub approval: Option<Mode>,
    /// The approvals that the session itself holds count. Without this it may come from elsewhere, and could allow itself
    /// anything: only what the user allows in this run counts, and is not stored.
    pub own_approvals: bool,
    /// Somebody is there to answer questions. Without anybody, what needs asking is refused.
    pub attended: bool,
    /// Model calls for one prompt. Then the user is asked whether to continue; without anybody to ask, the turn ends.
    pub max_steps: u32,
}

impl Parts {
    pub fn new(
        model: Arc<dyn Model>,
        lookup: Arc<dyn Lookup>,
        default_model: Arc<ModelInfo>,
        tools: Arc<dyn Toolbox>,
        context: ToolContext,
    ) -> Parts {
        Parts {
            model,
            lookup,
            default_model,
            default_thinking: ThinkingLevel::default(),
            chosen_model: None,
            chosen_thinking: None,
            tools,
            context,
            briefing: Arc::new(Vec::new()),
            prompts: Prompts::default(),
            backtracking: true,
            summary_model: None,
            compacting: Compacting::default(),
            restore_on_move: true,
            gates: Arc::new(Open),
            approval: None,
            own_approvals: true,
            attended: false,
            max_steps: MAX_STEPS,
        }
    }
}

/// Knows models by name.
pub trait Lookup: Send + Sync + Debug {
    fn find(&self, name: &str) -> Result<Arc<ModelInfo>, LookupError>;
}

impl Lookup for Registry {
    fn find(&self, name: &str) -> Result<Arc<ModelInfo>, LookupError> {
        Registry::find(self, name)
    }
}

/// Some models, by their full names.
impl Lookup for Vec<Arc<ModelInfo>> {
    fn find(&self, name: &str) -> Result<Arc<ModelInfo>, LookupError> {
        let found = self.iter().find(|model| model.full_name() == name).cloned();
        found.ok_or_else(|| LookupError::Unknown { name: name.to_owned(), nearest: Vec::new() })
    }
}
