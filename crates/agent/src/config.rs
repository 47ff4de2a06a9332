//! The configuration of an agent. The caller provides everything: this crate reads no environment variables
//! and looks for no home folder.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use osier_model::{LookupError, Model, ModelInfo, ProviderAccess, Registry, ThinkingLevel};
use osier_tools::approvals::ApprovalMode;
use osier_tools::{ToolContext, Toolbox};

use crate::agent_files::AgentLibrary;
use crate::agent_handle::AgentHandle;
use crate::compaction::CompactionConfig;
use crate::hooks::Hooks;
use crate::prompt_library::PromptLibrary;
use crate::system_prompt_source::SystemPromptSource;

/// The default limit of model calls for one prompt.
pub const DEFAULT_MAX_STEPS: u32 = 200;

/// See the module documentation. It has many fields because the caller decides everything about an agent.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// Handles requests for every configured model.
    pub model: Arc<dyn Model>,
    pub model_lookup: Arc<dyn ModelLookup>,
    /// Used if the path names no model, or one that is no longer configured.
    pub default_model: Arc<ModelInfo>,
    pub default_thinking: ThinkingLevel,
    /// The user's choice for this run. It overrides the path once, at the next prompt.
    pub chosen_model: Option<Arc<ModelInfo>>,
    pub chosen_thinking: Option<ThinkingLevel>,
    pub tools: Arc<dyn Toolbox>,
    /// The working environment of tools. Progress, cancellation and the files read are set for each call.
    pub tool_context: ToolContext,
    /// The source of the system prompt.
    pub system_prompt: Arc<dyn SystemPromptSource>,
    /// The folders of templates and skills.
    pub prompt_library: PromptLibrary,
    /// The agents that the model can delegate tasks to, for lists; `None` if it cannot delegate.
    pub agent_library: Option<AgentLibrary>,
    /// Whether the model has the `backtrack` tool and sees checkpoints.
    pub backtracking: bool,
    /// Writes summaries; `None` means the model in use.
    pub summary_model: Option<Arc<ModelInfo>>,
    pub compaction: CompactionConfig,
    /// After a move, use the model and thinking level of the new path. If false, they stay as they are.
    pub restore_on_move: bool,
    pub hooks: Arc<Hooks>,
    /// The approval mode of this run. It overrides the session's mode and is not stored.
    pub approval_mode: Option<ApprovalMode>,
    /// Whether to trust the approvals stored in the session. If false, the session may come from another user
    /// and could allow itself anything: only what the user allows during this run counts, and it is not
    /// stored.
    pub trust_session_approvals: bool,
    /// Whether a user is present to answer questions. If false, calls that need approval are refused.
    pub has_user: bool,
    /// What a model learns about a call that is refused because no user is present.
    pub unattended_hints: UnattendedHints,
    /// The agent that this one works for. It limits the rights of this one.
    pub parent: Option<AgentHandle>,
    /// The agent exits after one command, so the cost of a failed summary is stored at once.
    pub one_shot: bool,
    /// The limit of model calls for one prompt. At the limit, the user decides whether to continue; without a
    /// user, the turn ends.
    pub max_steps: u32,
}

impl AgentConfig {
    pub fn new(
        model: Arc<dyn Model>,
        lookup: Arc<dyn ModelLookup>,
        default_model: Arc<ModelInfo>,
        tools: Arc<dyn Toolbox>,
        context: ToolContext,
    ) -> AgentConfig {
        AgentConfig {
            model,
            model_lookup: lookup,
            default_model,
            default_thinking: ThinkingLevel::default(),
            chosen_model: None,
            chosen_thinking: None,
            tools,
            tool_context: context,
            system_prompt: Arc::new(Vec::new()),
            prompt_library: PromptLibrary::default(),
            agent_library: None,
            backtracking: true,
            summary_model: None,
            compaction: CompactionConfig::default(),
            restore_on_move: true,
            hooks: Arc::default(),
            approval_mode: None,
            trust_session_approvals: true,
            has_user: false,
            unattended_hints: UnattendedHints::default(),
            parent: None,
            one_shot: false,
            max_steps: DEFAULT_MAX_STEPS,
        }
    }
}

/// How to allow calls in a run that cannot ask the user. The program that runs the agent provides the text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnattendedHints {
    /// For changes of files in the project.
    pub writes: String,
    /// For commands, if there is a sandbox.
    pub runs: String,
    pub other: String,
}

/// The models that an agent can use.
#[derive(Debug, Clone)]
pub struct AgentModels {
    /// Handles requests for every model of `lookup`.
    pub model: Arc<dyn Model>,
    pub lookup: Arc<dyn ModelLookup>,
}

/// Finds models by name.
pub trait ModelLookup: Send + Sync + Debug {
    fn find(&self, name: &str) -> Result<Arc<ModelInfo>, LookupError>;

    /// The models that can be used now.
    fn usable_models(&self) -> Vec<Arc<ModelInfo>>;

    /// All models, also those whose provider has no key.
    fn all_models(&self) -> Vec<Arc<ModelInfo>> {
        self.usable_models()
    }

    /// What requests to a provider need, if the lookup knows it. The error says what is missing.
    fn access<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, Result<ProviderAccess, String>> {
        Box::pin(async move { Err(format!("unknown provider {provider}")) })
    }

    /// Where the provider of a model is reached, if the lookup knows it.
    fn base_url(&self, _provider: &str) -> Option<String> {
        None
    }
}

impl ModelLookup for Registry {
    fn find(&self, name: &str) -> Result<Arc<ModelInfo>, LookupError> {
        Registry::find(self, name)
    }

    fn usable_models(&self) -> Vec<Arc<ModelInfo>> {
        self.models().to_vec()
    }
}

/// A fixed list of models, found by full name.
impl ModelLookup for Vec<Arc<ModelInfo>> {
    fn find(&self, name: &str) -> Result<Arc<ModelInfo>, LookupError> {
        let found = self.iter().find(|model| model.full_name() == name).cloned();
        found.ok_or_else(|| LookupError::Unknown { name: name.to_owned(), nearest: Vec::new() })
    }

    fn usable_models(&self) -> Vec<Arc<ModelInfo>> {
        self.clone()
    }
}
