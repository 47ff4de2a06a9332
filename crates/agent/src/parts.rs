//! The configuration of an agent. The caller provides everything: this crate reads no environment variables
//! and looks for no home folder.

use std::fmt::Debug;
use std::sync::Arc;

use osier_model::{LookupError, Model, ModelInfo, Registry, ThinkingLevel};
use osier_tools::approvals::Mode;
use osier_tools::{ToolContext, Toolbox};

use crate::briefing::Briefing;
use crate::compaction::Compacting;
use crate::gates::{Gates, Open};
use crate::prompts::Prompts;

/// The default limit of model calls for one prompt.
pub const MAX_STEPS: u32 = 200;

/// See the module documentation.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Handles requests for every configured model.
    pub model: Arc<dyn Model>,
    pub lookup: Arc<dyn Lookup>,
    /// Used if the path names no model, or one that is no longer configured.
    pub default_model: Arc<ModelInfo>,
    pub default_thinking: ThinkingLevel,
    /// The user's choice for this run. It overrides the path once, at the next prompt.
    pub chosen_model: Option<Arc<ModelInfo>>,
    pub chosen_thinking: Option<ThinkingLevel>,
    pub tools: Arc<dyn Toolbox>,
    /// The working environment of tools. Progress, cancellation and the files read are set for each call.
    pub context: ToolContext,
    /// The source of the system prompt.
    pub briefing: Arc<dyn Briefing>,
    /// The folders of templates and skills.
    pub prompts: Prompts,
    /// Whether the model has the `backtrack` tool and sees checkpoints.
    pub backtracking: bool,
    /// Writes summaries; `None` means the model in use.
    pub summary_model: Option<Arc<ModelInfo>>,
    pub compacting: Compacting,
    /// After a move, use the model and thinking level of the new path. If false, they stay as they are.
    pub restore_on_move: bool,
    pub gates: Arc<dyn Gates>,
    /// The approval mode of this run. It overrides the session's mode and is not stored.
    pub approval: Option<Mode>,
    /// Whether to trust the approvals stored in the session. If false, the session may come from another user
    /// and could allow itself anything: only what the user allows during this run counts, and it is not
    /// stored.
    pub own_approvals: bool,
    /// Whether a user is present to answer questions. If false, calls that need approval are refused.
    pub attended: bool,
    /// The agent exits after one command, so the cost of a failed summary is stored at once.
    pub one_shot: bool,
    /// The limit of model calls for one prompt. At the limit, the user decides whether to continue; without a
    /// user, the turn ends.
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
            one_shot: false,
            max_steps: MAX_STEPS,
        }
    }
}

/// Finds models by name.
pub trait Lookup: Send + Sync + Debug {
    fn find(&self, name: &str) -> Result<Arc<ModelInfo>, LookupError>;
}

impl Lookup for Registry {
    fn find(&self, name: &str) -> Result<Arc<ModelInfo>, LookupError> {
        Registry::find(self, name)
    }
}

/// A fixed list of models, found by full name.
impl Lookup for Vec<Arc<ModelInfo>> {
    fn find(&self, name: &str) -> Result<Arc<ModelInfo>, LookupError> {
        let found = self.iter().find(|model| model.full_name() == name).cloned();
        found.ok_or_else(|| LookupError::Unknown { name: name.to_owned(), nearest: Vec::new() })
    }
}
