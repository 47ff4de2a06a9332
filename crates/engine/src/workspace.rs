//! A workspace: everything that agents in one directory have in common.

use std::sync::Arc;

use osier_agent::{
    AgentConfig, CompactionConfig, DEFAULT_MAX_STEPS, Hooks, PromptLibrary, SystemPromptSource,
    UnattendedHints,
};
use osier_model::{Image, ModelInfo, ThinkingLevel};
use osier_session::Session;
use osier_tools::{ApprovalMode, CommandEnv, ResultBlock, ToolCall, ToolContext, ToolSet, Toolbox};
use serde_json::json;

use crate::agents::{AgentSpec, SummaryModel};
use crate::error::EngineError;
use crate::model_catalog::{ModelCatalog, ModelPreferences};
use crate::reading::model_on_path;
use crate::subagents::SubagentConfig;

/// See the module documentation.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub models: ModelCatalog,
    pub thinking: ThinkingLevel,
    pub tools: ToolSet,
    /// Whether the model may backtrack to checkpoints.
    pub backtracking: bool,
    /// The context of tools: directory, environment, protected paths, secrets, sandbox.
    pub tool_context: ToolContext,
    pub system_prompt: Arc<dyn SystemPromptSource>,
    pub prompt_library: PromptLibrary,
    pub compaction: CompactionConfig,
    /// After a move, use the model and thinking level of the new path.
    pub restore_on_move: bool,
    /// The approval mode of new sessions.
    pub approval_mode: ApprovalMode,
    /// The limit of model calls for one prompt.
    pub max_steps: u32,
    /// How its agents delegate tasks; `None` means that they do not.
    pub subagents: Option<SubagentConfig>,
    /// The result the model gets for a call that cannot be approved in this run.
    pub unattended_hints: UnattendedHints,
}

impl Workspace {
    /// A workspace with these models and the default of everything else: no tools, an empty system prompt.
    pub fn new(models: ModelCatalog, tool_context: ToolContext) -> Workspace {
        Workspace {
            models,
            thinking: ThinkingLevel::default(),
            tools: ToolSet::default(),
            backtracking: false,
            tool_context,
            system_prompt: Arc::new(Vec::new()),
            prompt_library: PromptLibrary::default(),
            compaction: CompactionConfig::default(),
            restore_on_move: true,
            approval_mode: ApprovalMode::default(),
            max_steps: DEFAULT_MAX_STEPS,
            subagents: None,
            unattended_hints: UnattendedHints::default(),
        }
    }

    /// The image at a path, as the `read` tool returns it. `None` if there is none.
    pub async fn read_image(&self, path: &str) -> Option<Image> {
        let ToolContext { cwd, artifacts, env, .. } = &self.tool_context;
        let context = ToolContext::new(cwd, artifacts, CommandEnv::clone(env));
        let call =
            ToolCall { id: String::new(), name: "read".to_owned(), arguments: json!({ "path": path }) };
        let content = ToolSet::standard().run(call, &context).await.content;
        content.into_iter().find_map(|block| match block {
            ResultBlock::Image { data, mime_type } => Some(Image { data, mime_type }),
            _ => None,
        })
    }

    pub fn has_tools(&self) -> bool {
        self.backtracking || !self.tools.specs().is_empty()
    }

    /// The configuration of an agent that answers prompts.
    pub(crate) fn agent_config(&self, spec: &AgentSpec, hooks: Arc<Hooks>) -> AgentConfig {
        AgentConfig {
            default_thinking: self.thinking,
            chosen_model: spec.overrides_session.then(|| spec.model.clone()),
            chosen_thinking: spec.thinking,
            system_prompt: self.system_prompt.clone(),
            prompt_library: self.prompt_library.clone(),
            agent_library: self.subagents.as_ref().map(|config| config.library.clone()),
            backtracking: self.backtracking,
            summary_model: spec.summary_model.clone(),
            compaction: self.compaction,
            restore_on_move: self.restore_on_move,
            approval_mode: spec.approval,
            has_user: spec.has_user,
            max_steps: self.max_steps,
            unattended_hints: self.unattended_hints.clone(),
            hooks,
            ..AgentConfig::new(
                self.models.model.clone(),
                Arc::new(self.models.clone()),
                spec.model.clone(),
                Arc::new(self.tools.clone()),
                self.tool_context.clone(),
            )
        }
    }

    /// The configuration of an agent that runs one command, which may need a summary. It has no tools and asks nothing.
    pub(crate) fn one_shot_config(
        &self,
        model: Arc<ModelInfo>,
        summary_model: Option<Arc<ModelInfo>>,
        hooks: Arc<Hooks>,
    ) -> AgentConfig {
        let ToolContext { cwd, artifacts, secrets, .. } = &self.tool_context;
        let context =
            ToolContext { secrets: secrets.clone(), ..ToolContext::new(cwd, artifacts, CommandEnv::new([])) };
        AgentConfig {
            summary_model,
            compaction: self.compaction,
            backtracking: false,
            one_shot: true,
            hooks,
            ..AgentConfig::new(
                self.models.model.clone(),
                Arc::new(self.models.clone()),
                model,
                Arc::new(ToolSet::default()),
                context,
            )
        }
    }

    /// The model that writes a summary in a session, and whether the user or the settings chose it for summaries.
    pub(crate) async fn summary_model(
        &self,
        session: &Session,
        wanted: &SummaryModel,
    ) -> Result<(Arc<ModelInfo>, bool), EngineError> {
        let requested = match wanted {
            SummaryModel::Unused => return Ok((self.models.offline_model(), false)),
            SummaryModel::Default => None,
            SummaryModel::Named(name) => Some(name.as_str()),
        };
        if let Some(model) = self
            .models
            .find_summary_model(requested)
            .map_err(|source| EngineError::SummaryModel { source, is_setting: requested.is_none() })?
        {
            return Ok((model, true));
        }
        // Users expect the model that answers in this session.
        let model = match model_on_path(session).await? {
            Some(name) => self
                .models
                .usable_model(&name)
                .map_err(|reason| EngineError::SessionModelUnusable { model: name, reason })?,
            None => self.models.select(ModelPreferences::default()).map_err(EngineError::Model)?.model,
        };
        Ok((model, false))
    }
}
