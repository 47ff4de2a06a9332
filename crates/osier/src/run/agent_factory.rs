//! Builds the agent of a run from the settings, the command line, the model and the tools, and starts it on a session.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use osier_agent::{AgentConfig, Client, Gates, Prompt, PromptLibrary, StandardSystemPrompt, Worker};
use osier_engine::{LiveSession, reading};
use osier_model::{KeySource, ModelInfo, ModelRouter, ThinkingLevel};
use osier_session::Session;
use osier_tools::{ApprovalMode, CommandEnv, ProtectedPaths, Sandbox, ToolContext, ToolSet, Toolbox};

use super::args::Args;
use super::event_stream::EventStream;
use super::prompt;
use super::session_selection::SessionSelection;
use crate::config::{BACKTRACK, unknown_tool};
use crate::failure::usage_error;
use crate::home::{self, Home};
use crate::layout::sanitize_line;
use crate::sandbox;
use crate::settings::model_selection::{
    ModelPreferences, ModelSelection as ModelChoice, ModelSource, find_summary_model, select_model,
};

/// Everything that is needed to start an agent on a session.
#[derive(Debug)]
pub(super) struct AgentFactory {
    pub(super) home: Home,
    pub(super) args: Args,
    /// A user is present to answer questions.
    attended: bool,
    models: Arc<ModelRouter>,
    tools: ToolSet,
    /// The model may backtrack to checkpoints.
    backtracking: bool,
    model: ModelChoice,
    summary_model: Option<Arc<ModelInfo>>,
    /// Can block switching sessions and forks.
    pub(super) gates: Arc<dyn Gates>,
    /// Confines the commands of tools.
    pub(super) sandbox: Option<Arc<Sandbox>>,
    /// Notices to show at startup.
    pub(super) notices: Vec<String>,
}

/// An open session with its worker and its events.
#[derive(Debug)]
pub(super) struct RunningSession {
    pub(super) live: Arc<LiveSession>,
    pub(super) worker: Worker,
    pub(super) events: EventStream,
}

impl AgentFactory {
    pub(super) async fn new(
        args: Args,
        home: Home,
        choice: &SessionSelection,
        attended: bool,
    ) -> Result<AgentFactory> {
        let mut remarks = Vec::new();
        let home = match choice.other_directory(&home).filter(|_| args.cwd.is_none()) {
            Some(cwd) => home_of_session(&home, cwd, &mut remarks)?,
            None => home,
        };
        let (tools, backtracking) = select_tools(&args, &home)?;
        let models = Arc::new(home.models());
        let registry = models.registry();
        remarks.extend(registry.problems().iter().map(ToString::to_string));
        let of_session = match choice {
            SessionSelection::Existing(live) => reading::model_on_path(live.session()).await?,
            SessionSelection::New { .. } => None,
        };
        let wanted = ModelPreferences { command_line: args.model.as_deref(), session: of_session.as_deref() };
        let model = select_model(wanted, &home.settings, registry, &home.environment());
        let model = model.map_err(|error| match &args.model {
            Some(_) => usage_error(error.to_string()),
            None => anyhow!(error),
        })?;
        // A user can accept another model; a script must name one.
        if let Some(text) = model.notice.as_ref().filter(|_| !attended) {
            bail!("{text}; choose another model with --model, for example --model offline");
        }
        if let Some(text) = &model.notice {
            remarks.push(format!("{text}; using {} instead", model.model.full_name()));
        }
        let summary_model = find_summary_model(None, &home.settings, registry)
            .context("cannot use the setting summary_model")?;
        let gates = Arc::new(osier_agent::gates::AllowAllGates);
        let sandbox = sandbox::from_settings(&home);
        if let Some(sandbox) = sandbox.as_ref().filter(|_| attended) {
            sandbox.warm_up();
        }
        Ok(AgentFactory {
            home,
            args,
            attended,
            models,
            tools,
            backtracking,
            model,
            summary_model,
            gates,
            sandbox,
            notices: remarks,
        })
    }

    /// The same for another session, with the settings reloaded. `--name` applies only to the first session.
    pub(super) async fn for_session(&self, choice: &SessionSelection) -> Result<AgentFactory> {
        let args = Args { name: None, ..self.args.clone() };
        AgentFactory::new(args, self.home.reload()?, choice, self.attended).await
    }

    pub(super) fn has_tools(&self) -> bool {
        self.backtracking || !self.tools.specs().is_empty()
    }

    pub(super) fn model_name(&self) -> String {
        self.model.model.full_name()
    }

    /// The prompt on the command line.
    pub(super) async fn first_prompt(&self) -> Result<Prompt> {
        prompt::compose_prompt(&self.args.words, &self.tool_context()).await
    }

    /// Prints the notices to standard error.
    pub(super) fn print_notices(&self) {
        for text in &self.notices {
            crate::out::notice(&format!("osier: {text}"));
        }
    }

    /// Whether only the built-in model is available.
    pub(super) fn is_offline_only(&self) -> bool {
        self.model.source == ModelSource::Fallback
    }

    /// The names of the models that can be used now.
    pub(super) fn model_names(&self) -> Vec<String> {
        let (registry, surroundings) = (self.models.registry(), self.home.environment());
        let is_ready = |model: &&Arc<ModelInfo>| registry.check_configured(model, &surroundings).is_ok();
        registry.models().iter().filter(is_ready).map(|model| model.full_name()).collect()
    }

    /// Opens the chosen session, starts an agent on it, and subscribes to its events.
    pub(super) async fn start(&self, choice: SessionSelection) -> Result<RunningSession> {
        let live = choice.open(&self.home).await?;
        let session = live.session();
        let version = session.version();
        let worker = self.start_worker(session).await?;
        let events = EventStream::subscribe(&worker, session, version).await?;
        Ok(RunningSession { live, worker, events })
    }

    /// Starts an agent on a session.
    pub(super) async fn start_worker(&self, session: &Session) -> Result<Worker> {
        let is_new = session.version().entries == 0;
        if let Some(name) =
            self.args.name.as_deref().filter(|name| session.tree().marks().name() != Some(name))
        {
            session.rename(name).await?;
        }
        let worker = Worker::start(session.clone(), self.agent_config(session)).await?;
        if is_new && self.home.settings.approval != ApprovalMode::default() && self.args.approval.is_none() {
            worker.send(osier_agent::ClientCommand::SetApproval(self.home.settings.approval)).await?;
        }
        Ok(worker)
    }

    fn agent_config(&self, session: &Session) -> AgentConfig {
        let settings = &self.home.settings;
        let is_chosen = self.model.source == ModelSource::CommandLine || self.model.notice.is_some();
        AgentConfig {
            default_thinking: settings.thinking,
            chosen_model: is_chosen.then(|| self.model.model.clone()),
            chosen_thinking: self.args.thinking.as_deref().and_then(ThinkingLevel::parse),
            system_prompt: Arc::new(self.system_prompt_parts()),
            prompt_library: self.prompt_folders(),
            backtracking: self.backtracking,
            summary_model: self.summary_model.clone(),
            compaction: settings.compacting,
            restore_on_move: settings.restore_model_on_move,
            approval_mode: self.args.approval.as_deref().and_then(ApprovalMode::from_name),
            trust_session_approvals: self.home.engine.is_own_session(session),
            has_user: self.attended,
            max_steps: settings.max_steps,
            gates: self.gates.clone(),
            ..AgentConfig::new(
                self.models.clone(),
                self.models.registry().clone(),
                self.model.model.clone(),
                Arc::new(self.tools.clone()),
                self.tool_context(),
            )
        }
    }

    /// The contents of the system prompt.
    fn system_prompt_parts(&self) -> StandardSystemPrompt {
        let (args, settings) = (&self.args, &self.home.settings);
        StandardSystemPrompt {
            preamble: args.system_prompt.clone().or_else(|| settings.system_prompt.clone()),
            append: args.append_system_prompt.clone().or_else(|| settings.append_system_prompt.clone()),
            cwd: self.home.cwd.clone(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            user_folder: Some(self.home.folder.clone()),
            skill_folders: self.prompt_folders().skill_folders,
            utc_offset: home::utc_offset(),
        }
    }

    /// The templates and skills of the user and of a trusted project.
    pub(super) fn prompt_folders(&self) -> PromptLibrary {
        let folders = [Some(self.home.folder.clone()), self.home.trusted_folder()];
        let below = |name: &str| folders.iter().flatten().map(|folder| folder.join(name)).collect();
        PromptLibrary { template_folders: below("prompts"), skill_folders: below("skills") }
    }

    /// The context of tools. Their commands do not get the environment variables of API keys and store passwords.
    fn tool_context(&self) -> ToolContext {
        let providers = self.models.registry().providers().map(|provider| &provider.key);
        let stores = self.home.settings.stores.values().map(|spec| &spec.password);
        let keys: Vec<&String> = providers.chain(stores).flat_map(key_variables).collect();
        let is_key = |name: &std::ffi::OsString| keys.iter().any(|key| name.as_os_str() == key.as_str());
        let env = CommandEnv::new(self.home.variables().filter(|(name, _)| !is_key(name)));
        let artefacts = self.home.outputs();
        let (closed, keys) =
            (Arc::new(self.protected_paths()), Arc::new(self.home.known_keys(self.models.registry())));
        let sandbox = self.sandbox.clone();
        ToolContext {
            protected: closed,
            secrets: keys,
            sandbox,
            ..ToolContext::new(&self.home.cwd, artefacts, env)
        }
    }

    /// The paths that may contain API keys and store passwords.
    fn protected_paths(&self) -> ProtectedPaths {
        ProtectedPaths::new(&self.home.folder, sandbox::key_files(&self.home))
            .with_read_only_folders(self.home.store_folders())
    }
}

fn key_variables(key: &KeySource) -> &[String] {
    match key {
        KeySource::Env(names) => names,
        KeySource::None | KeySource::Command(_) | KeySource::File(_) => &[],
    }
}

/// The settings for the directory of a session.
fn home_of_session(from: &Home, cwd: &Path, remarks: &mut Vec<String>) -> Result<Home> {
    let home = from.for_directory(cwd)?;
    remarks
        .push(format!("working in {}, the directory of the session", sanitize_line(&home.display_path(cwd))));
    remarks.extend(crate::trust::untrusted_notice(&home));
    Ok(home)
}

/// The tools that the model may call, and whether it may backtrack.
fn select_tools(args: &Args, home: &Home) -> Result<(ToolSet, bool)> {
    let (all, backtracking) = (ToolSet::standard(), home.settings.backtracking);
    if args.no_tools {
        return Ok((ToolSet::default(), false));
    }
    let Some(wanted) = args.tools.as_ref().or(home.settings.tools.as_ref()) else {
        return Ok((all, backtracking));
    };
    let wanted = wanted.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    let (own, wanted): (Vec<&str>, Vec<&str>) = wanted.partition(|name| *name == BACKTRACK);
    let tools = all.only(&wanted).map_err(|unknown| usage_error(unknown_tool(&unknown)))?;
    Ok((tools, backtracking && !own.is_empty()))
}
