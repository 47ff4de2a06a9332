//! Builds the workspace of a directory from the settings: what its agents have in common.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use osier_agent::{AgentLibrary, PromptLibrary, StandardSystemPrompt};
use osier_engine::{ModelCatalog, SubagentConfig, UnattendedHints, Workspace};
use osier_model::{KeySource, Registry};
use osier_tools::{CommandEnv, ProtectedPaths, ToolContext, ToolSet};

use crate::error::SettingsError;
use crate::home::Home;
use crate::names::{BACKTRACK, TASK, unknown_tool};
use crate::sandbox_rules;
use crate::settings::SubagentSettings;
use crate::trust::CLAUDE_AGENTS;

/// Options of the command line that override settings.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceOptions {
    pub tools: Option<Vec<String>>,
    pub no_tools: bool,
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// What a model learns about a call that nobody can approve.
    pub unattended_hints: UnattendedHints,
}

/// The tools that the model may call.
#[derive(Debug, Default)]
struct SelectedTools {
    tools: ToolSet,
    /// Whether it may backtrack.
    backtracking: bool,
    /// Whether it may delegate tasks.
    delegation: bool,
}

/// The variable with the token for a gateway on another machine. Programs that the model runs must not have it.
const GATEWAY_TOKEN: &str = "OSIER_TOKEN";

impl Home {
    pub fn workspace(&self, options: &WorkspaceOptions) -> Result<Workspace, SettingsError> {
        let SelectedTools { tools, backtracking, delegation } = self.select_tools(options)?;
        let subagents = delegation.then(|| self.subagent_config());
        Ok(Workspace { tools, backtracking, subagents, ..self.workspace_without_tools(options) })
    }

    /// The workspace of an agent that only writes summaries.
    pub fn workspace_without_tools(&self, options: &WorkspaceOptions) -> Workspace {
        let (settings, models) = (&self.settings, self.model_catalog());
        Workspace {
            thinking: settings.thinking,
            tools: ToolSet::default(),
            backtracking: settings.offers_backtracking(),
            tool_context: self.tool_context(&models),
            system_prompt: Arc::new(self.system_prompt(options)),
            prompt_library: self.prompt_library(),
            compaction: settings.compacting,
            restore_on_move: settings.restore_model_on_move,
            approval_mode: settings.approval,
            max_steps: settings.max_steps,
            subagents: None,
            unattended_hints: options.unattended_hints.clone(),
            models,
        }
    }

    fn select_tools(&self, options: &WorkspaceOptions) -> Result<SelectedTools, SettingsError> {
        if options.no_tools {
            return Ok(SelectedTools::default());
        }
        let (all, backtracking) = (ToolSet::standard(), self.settings.backtracking);
        let delegation = self.settings.subagents.enabled;
        let Some(tool_names) = options.tools.as_ref().or(self.settings.tools.as_ref()) else {
            return Ok(SelectedTools { tools: all, backtracking, delegation });
        };
        let tool_names = tool_names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
        let (own, tool_names): (Vec<&str>, Vec<&str>) =
            tool_names.partition(|name| [BACKTRACK, TASK].contains(name));
        let tools = all.only(&tool_names).map_err(|unknown| SettingsError::Usage(unknown_tool(&unknown)))?;
        Ok(SelectedTools {
            tools,
            backtracking: backtracking && own.contains(&BACKTRACK),
            delegation: delegation && own.contains(&TASK),
        })
    }

    fn subagent_config(&self) -> SubagentConfig {
        let SubagentSettings { max_parallel, max_depth, budget, .. } = self.settings.subagents;
        SubagentConfig { library: self.agent_library(), max_parallel, max_depth, budget }
    }

    /// The agent files of the user and of a trusted project.
    pub fn agent_library(&self) -> AgentLibrary {
        let of_project = self.trusted_folder().zip(self.project.as_ref());
        let of_project =
            of_project.map(|(folder, project)| [project.root.join(CLAUDE_AGENTS), folder.join("agents")]);
        let folders = [self.folder.join("agents")].into_iter().chain(of_project.into_iter().flatten());
        AgentLibrary { folders: folders.collect() }
    }

    /// The contents of the system prompt.
    fn system_prompt(&self, options: &WorkspaceOptions) -> StandardSystemPrompt {
        let WorkspaceOptions { system_prompt, append_system_prompt, .. } = options;
        let settings = &self.settings;
        StandardSystemPrompt {
            preamble: system_prompt.clone().or_else(|| settings.system_prompt.clone()),
            append: append_system_prompt.clone().or_else(|| settings.append_system_prompt.clone()),
            cwd: self.cwd.clone(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            user_folder: Some(self.folder.clone()),
            skill_folders: self.prompt_library().skill_folders,
            utc_offset: (self.host.utc_offset)(),
        }
    }

    /// The templates and skills of the user and of a trusted project.
    fn prompt_library(&self) -> PromptLibrary {
        let folders = [Some(self.folder.clone()), self.trusted_folder()];
        let below = |name: &str| folders.iter().flatten().map(|folder| folder.join(name).into()).collect();
        let (mut template_folders, mut skill_folders): (Vec<_>, Vec<_>) = (below("prompts"), below("skills"));
        template_folders.extend(self.package_folders(|contents| contents.prompts));
        skill_folders.extend(self.package_folders(|contents| contents.skills));
        PromptLibrary { template_folders, skill_folders }
    }

    /// The context of tools. Their commands do not get the environment variables of API keys and store passwords.
    fn tool_context(&self, models: &ModelCatalog) -> ToolContext {
        let env = CommandEnv::new(self.variables_without_keys(models.registry()));
        ToolContext {
            protected: Arc::new(self.protected_paths()),
            secrets: Arc::new(self.known_keys(models.registry())),
            sandbox: sandbox_rules::from_settings(self),
            ..ToolContext::new(&self.cwd, self.outputs(), env)
        }
    }

    /// The environment variables of programs that extensions run.
    pub fn command_variables(&self) -> Vec<(OsString, OsString)> {
        self.variables_without_keys(&self.registry())
    }

    fn variables_without_keys(&self, registry: &Registry) -> Vec<(OsString, OsString)> {
        let providers = registry.providers().map(|provider| &provider.key);
        let stores = self.settings.stores.values().map(|spec| &spec.password);
        let secret_names: Vec<&String> = providers.chain(stores).flat_map(key_variables).collect();
        let is_secret = |name: &OsString| {
            name == GATEWAY_TOKEN || secret_names.iter().any(|secret| name.as_os_str() == secret.as_str())
        };
        (self.host.variables)().into_iter().filter(|(name, _)| !is_secret(name)).collect()
    }

    /// The folders and files that no extension can use: Osier's home folder, the stores, and files with keys.
    pub fn protected_from_extensions(&self) -> Vec<PathBuf> {
        let own = self.home_folders().into_iter().chain(self.store_folders());
        own.chain(sandbox_rules::key_files(self)).collect()
    }

    /// The paths that may contain API keys and store passwords.
    fn protected_paths(&self) -> ProtectedPaths {
        ProtectedPaths::new(&self.folder, sandbox_rules::key_files(self))
            .with_read_only_folders(self.store_folders())
    }
}

fn key_variables(key: &KeySource) -> &[String] {
    match key {
        KeySource::Env(names) => names,
        KeySource::None | KeySource::Command(_) | KeySource::File(_) => &[],
    }
}
