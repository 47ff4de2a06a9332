//! Builds the workspace of a directory from the settings: what its agents have in common.

use std::ffi::OsString;
use std::sync::Arc;

use osier_agent::{PromptLibrary, StandardSystemPrompt};
use osier_engine::{ModelCatalog, UnattendedHints, Workspace};
use osier_model::KeySource;
use osier_tools::{CommandEnv, ProtectedPaths, ToolContext, ToolSet};

use crate::error::SettingsError;
use crate::home::Home;
use crate::names::{BACKTRACK, unknown_tool};
use crate::sandbox_rules;

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

impl Home {
    pub fn workspace(&self, options: &WorkspaceOptions) -> Result<Workspace, SettingsError> {
        let (tools, backtracking) = self.select_tools(options)?;
        Ok(Workspace { tools, backtracking, ..self.workspace_without_tools(options) })
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
            unattended_hints: options.unattended_hints.clone(),
            models,
        }
    }

    /// The tools that the model may call, and whether it may backtrack.
    fn select_tools(&self, options: &WorkspaceOptions) -> Result<(ToolSet, bool), SettingsError> {
        if options.no_tools {
            return Ok((ToolSet::default(), false));
        }
        let (all, backtracking) = (ToolSet::standard(), self.settings.backtracking);
        let Some(tool_names) = options.tools.as_ref().or(self.settings.tools.as_ref()) else {
            return Ok((all, backtracking));
        };
        let tool_names = tool_names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
        let (own, tool_names): (Vec<&str>, Vec<&str>) = tool_names.partition(|name| *name == BACKTRACK);
        let tools = all.only(&tool_names).map_err(|unknown| SettingsError::Usage(unknown_tool(&unknown)))?;
        Ok((tools, backtracking && !own.is_empty()))
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
        let below = |name: &str| folders.iter().flatten().map(|folder| folder.join(name)).collect();
        PromptLibrary { template_folders: below("prompts"), skill_folders: below("skills") }
    }

    /// The context of tools. Their commands do not get the environment variables of API keys and store passwords.
    fn tool_context(&self, models: &ModelCatalog) -> ToolContext {
        let providers = models.registry().providers().map(|provider| &provider.key);
        let stores = self.settings.stores.values().map(|spec| &spec.password);
        let secret_names: Vec<&String> = providers.chain(stores).flat_map(key_variables).collect();
        let is_secret =
            |name: &OsString| secret_names.iter().any(|secret| name.as_os_str() == secret.as_str());
        let env = CommandEnv::new((self.host.variables)().into_iter().filter(|(name, _)| !is_secret(name)));
        ToolContext {
            protected: Arc::new(self.protected_paths()),
            secrets: Arc::new(self.known_keys(models.registry())),
            sandbox: sandbox_rules::from_settings(self),
            ..ToolContext::new(&self.cwd, self.outputs(), env)
        }
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
