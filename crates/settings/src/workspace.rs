//! Builds the workspace of a directory from the settings: what its agents have in common.

use std::ffi::OsString;
use std::sync::Arc;

use anyhow::Result;
use osier_agent::{PromptLibrary, StandardSystemPrompt};
use osier_engine::{ModelCatalog, Workspace};
use osier_model::KeySource;
use osier_tools::{CommandEnv, ProtectedPaths, ToolContext, ToolSet};

use crate::config::{BACKTRACK, unknown_tool};
use crate::failure::usage_error;
use crate::home::{self, Home};
use crate::sandbox;

/// Options of the command line that override settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkspaceOptions {
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) no_tools: bool,
    pub(crate) system_prompt: Option<String>,
    pub(crate) append_system_prompt: Option<String>,
}

impl Home {
    pub(crate) fn workspace(&self, options: &WorkspaceOptions) -> Result<Workspace> {
        let (tools, backtracking) = self.select_tools(options)?;
        Ok(Workspace { tools, backtracking, ..self.workspace_without_tools(options) })
    }

    /// The workspace of an agent that only writes summaries.
    pub(crate) fn workspace_without_tools(&self, options: &WorkspaceOptions) -> Workspace {
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
            models,
        }
    }

    /// The tools that the model may call, and whether it may backtrack.
    fn select_tools(&self, options: &WorkspaceOptions) -> Result<(ToolSet, bool)> {
        if options.no_tools {
            return Ok((ToolSet::default(), false));
        }
        let (all, backtracking) = (ToolSet::standard(), self.settings.backtracking);
        let Some(wanted) = options.tools.as_ref().or(self.settings.tools.as_ref()) else {
            return Ok((all, backtracking));
        };
        let wanted = wanted.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
        let (own, wanted): (Vec<&str>, Vec<&str>) = wanted.partition(|name| *name == BACKTRACK);
        let tools = all.only(&wanted).map_err(|unknown| usage_error(unknown_tool(&unknown)))?;
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
            utc_offset: home::utc_offset(),
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
        let env = CommandEnv::new(self.variables().filter(|(name, _)| !is_secret(name)));
        ToolContext {
            protected: Arc::new(self.protected_paths()),
            secrets: Arc::new(self.known_keys(models.registry())),
            sandbox: sandbox::from_settings(self),
            ..ToolContext::new(&self.cwd, self.outputs(), env)
        }
    }

    /// The paths that may contain API keys and store passwords.
    fn protected_paths(&self) -> ProtectedPaths {
        ProtectedPaths::new(&self.folder, sandbox::key_files(self))
            .with_read_only_folders(self.store_folders())
    }
}

fn key_variables(key: &KeySource) -> &[String] {
    match key {
        KeySource::Env(names) => names,
        KeySource::None | KeySource::Command(_) | KeySource::File(_) => &[],
    }
}
