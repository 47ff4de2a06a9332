//! Builds the agent of a run from the settings, the command line, the model and the tools, and starts it on a session.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use osier_agent::{AgentConfig, Client, Gates, Prompt, PromptLibrary, StandardSystemPrompt, Worker};
use osier_model::{KeySource, ModelInfo, ModelRouter, ThinkingLevel};
use osier_session::Session;
use osier_tools::{Closed, Env, Mode, Sandbox, ToolContext, Toolbox, Tools};

use super::args::Args;
use super::choice::{Choice, is_ours};
use super::follow::Follow;
use super::prompt;
use crate::config::{BACKTRACK, no_tool};
use crate::failure::usage_error;
use crate::home::{self, Home};
use crate::layout::sanitize_line;
use crate::reading;
use crate::sandbox;
use crate::settings::choice::{Choice as ModelChoice, Wanted, Why, choose, for_summaries};

/// Everything that is needed to start an agent on a session.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) home: Home,
    pub(super) args: Args,
    /// A user is present to answer questions.
    attended: bool,
    models: Arc<ModelRouter>,
    tools: Tools,
    /// The model may backtrack to checkpoints.
    backtracking: bool,
    model: ModelChoice,
    summary_model: Option<Arc<ModelInfo>>,
    /// Can block switching sessions and forks.
    pub(super) gates: Arc<dyn Gates>,
    /// Confines the commands of tools.
    pub(super) sandbox: Option<Arc<Sandbox>>,
    /// Notices to show at startup.
    pub(super) remarks: Vec<String>,
}

/// An open session with its worker and its events.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) session: Session,
    pub(super) worker: Worker,
    pub(super) follow: Follow,
}

impl Desk {
    pub(super) async fn new(args: Args, home: Home, choice: &Choice, attended: bool) -> Result<Desk> {
        let mut remarks = Vec::new();
        let home = match choice.elsewhere(&home).filter(|_| args.cwd.is_none()) {
            Some(cwd) => moved(&home, cwd, &mut remarks)?,
            None => home,
        };
        let (tools, backtracking) = tools(&args, &home)?;
        let models = Arc::new(home.models());
        let registry = models.registry();
        remarks.extend(registry.problems().iter().map(ToString::to_string));
        let of_session = match choice {
            Choice::There(session) => reading::model_on_path(session).await?,
            Choice::New { .. } => None,
        };
        let wanted = Wanted { asked: args.model.as_deref(), of_session: of_session.as_deref() };
        let model = choose(wanted, &home.settings, registry, &home.environment());
        let model = model.map_err(|error| match &args.model {
            Some(_) => usage_error(error.to_string()),
            None => anyhow!(error),
        })?;
        // A user can accept another model; a script must name one.
        if let Some(text) = model.remark.as_ref().filter(|_| !attended) {
            bail!("{text}; choose another model with --model, for example --model offline");
        }
        if let Some(text) = &model.remark {
            remarks.push(format!("{text}; using {} instead", model.model.full_name()));
        }
        let summary_model =
            for_summaries(None, &home.settings, registry).context("cannot use the setting summary_model")?;
        let gates = Arc::new(osier_agent::gates::AllowAllGates);
        let sandbox = sandbox::from_settings(&home);
        if let Some(sandbox) = sandbox.as_ref().filter(|_| attended) {
            sandbox.warm_up();
        }
        Ok(Desk {
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
            remarks,
        })
    }

    /// The same for another session, with the settings reloaded. `--name` applies only to the first session.
    pub(super) async fn another(&self, choice: &Choice) -> Result<Desk> {
        let args = Args { name: None, ..self.args.clone() };
        Desk::new(args, self.home.reload()?, choice, self.attended).await
    }

    pub(super) fn has_tools(&self) -> bool {
        self.backtracking || !self.tools.specs().is_empty()
    }

    pub(super) fn model_name(&self) -> String {
        self.model.model.full_name()
    }

    /// The prompt on the command line.
    pub(super) async fn first(&self) -> Result<Prompt> {
        prompt::compose(&self.args.words, &self.context()).await
    }

    /// Prints the notices to standard error.
    pub(super) fn tell(&self) {
        for text in &self.remarks {
            crate::out::notice(&format!("osier: {text}"));
        }
    }

    /// Whether only the built-in model is available.
    pub(super) fn has_no_key(&self) -> bool {
        self.model.why == Why::Fallback
    }

    /// The names of the models that can be used now.
    pub(super) fn model_names(&self) -> Vec<String> {
        let (registry, surroundings) = (self.models.registry(), self.home.environment());
        let is_ready = |model: &&Arc<ModelInfo>| registry.check_configured(model, &surroundings).is_ok();
        registry.models().iter().filter(is_ready).map(|model| model.full_name()).collect()
    }

    /// Opens the chosen session, starts an agent on it, and subscribes to its events.
    pub(super) async fn open(&self, choice: Choice) -> Result<Open> {
        let session = choice.open(&self.home).await?;
        let version = session.version();
        let worker = self.work(&session).await?;
        let follow = Follow::since(&worker, &session, version).await?;
        Ok(Open { session, worker, follow })
    }

    /// Starts an agent on a session.
    pub(super) async fn work(&self, session: &Session) -> Result<Worker> {
        let is_new = session.version().entries == 0;
        if let Some(name) =
            self.args.name.as_deref().filter(|name| session.tree().marks().name() != Some(name))
        {
            session.rename(name).await?;
        }
        let worker = Worker::start(session.clone(), self.parts(session)).await?;
        if is_new && self.home.settings.approval != Mode::default() && self.args.approval.is_none() {
            worker.send(osier_agent::ClientCommand::SetApproval(self.home.settings.approval)).await?;
        }
        Ok(worker)
    }

    fn parts(&self, session: &Session) -> AgentConfig {
        let settings = &self.home.settings;
        let is_chosen = self.model.why == Why::CommandLine || self.model.remark.is_some();
        AgentConfig {
            default_thinking: settings.thinking,
            chosen_model: is_chosen.then(|| self.model.model.clone()),
            chosen_thinking: self.args.thinking.as_deref().and_then(ThinkingLevel::parse),
            system_prompt: Arc::new(self.facts()),
            prompt_library: self.prompts(),
            backtracking: self.backtracking,
            summary_model: self.summary_model.clone(),
            compaction: settings.compacting,
            restore_on_move: settings.restore_model_on_move,
            approval_mode: self.args.approval.as_deref().and_then(Mode::named),
            trust_session_approvals: is_ours(session, &self.home),
            has_user: self.attended,
            max_steps: settings.max_steps,
            gates: self.gates.clone(),
            ..AgentConfig::new(
                self.models.clone(),
                self.models.registry().clone(),
                self.model.model.clone(),
                Arc::new(self.tools.clone()),
                self.context(),
            )
        }
    }

    /// The contents of the system prompt.
    fn facts(&self) -> StandardSystemPrompt {
        let (args, settings) = (&self.args, &self.home.settings);
        StandardSystemPrompt {
            preamble: args.system_prompt.clone().or_else(|| settings.system_prompt.clone()),
            append: args.append_system_prompt.clone().or_else(|| settings.append_system_prompt.clone()),
            cwd: self.home.cwd.clone(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            user_folder: Some(self.home.folder.clone()),
            skill_folders: self.prompts().skill_folders,
            utc_offset: home::utc_offset(),
        }
    }

    /// The templates and skills of the user and of a trusted project.
    pub(super) fn prompts(&self) -> PromptLibrary {
        let folders = [Some(self.home.folder.clone()), self.home.trusted_folder()];
        let below = |name: &str| folders.iter().flatten().map(|folder| folder.join(name)).collect();
        PromptLibrary { template_folders: below("prompts"), skill_folders: below("skills") }
    }

    /// The context of tools. Their commands do not get the environment variables of API keys and store passwords.
    fn context(&self) -> ToolContext {
        let providers = self.models.registry().providers().map(|provider| &provider.key);
        let stores = self.home.settings.stores.values().map(|spec| &spec.password);
        let keys: Vec<&String> = providers.chain(stores).flat_map(key_variables).collect();
        let is_key = |name: &std::ffi::OsString| keys.iter().any(|key| name.as_os_str() == key.as_str());
        let env = Env::new(self.home.variables().filter(|(name, _)| !is_key(name)));
        let artefacts = self.home.outputs();
        let (closed, keys) =
            (Arc::new(self.closed()), Arc::new(self.home.known_keys(self.models.registry())));
        let sandbox = self.sandbox.clone();
        ToolContext { closed, keys, sandbox, ..ToolContext::new(&self.home.cwd, artefacts, env) }
    }

    /// The paths that may contain API keys and store passwords.
    fn closed(&self) -> Closed {
        Closed::new(&self.home.folder, sandbox::key_files(&self.home)).sealing(self.home.store_folders())
    }
}

fn key_variables(key: &KeySource) -> &[String] {
    match key {
        KeySource::Env(names) => names,
        KeySource::None | KeySource::Command(_) | KeySource::File(_) => &[],
    }
}

/// The settings for the directory of a session.
fn moved(from: &Home, cwd: &Path, remarks: &mut Vec<String>) -> Result<Home> {
    let home = from.for_directory(cwd)?;
    remarks.push(format!("working in {}, the directory of the session", sanitize_line(&home.display_path(cwd))));
    remarks.extend(crate::trust::untrusted(&home));
    Ok(home)
}

/// The tools that the model may call, and whether it may backtrack.
fn tools(args: &Args, home: &Home) -> Result<(Tools, bool)> {
    let (all, backtracking) = (Tools::standard(), home.settings.backtracking);
    if args.no_tools {
        return Ok((Tools::default(), false));
    }
    let Some(wanted) = args.tools.as_ref().or(home.settings.tools.as_ref()) else {
        return Ok((all, backtracking));
    };
    let wanted = wanted.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    let (own, wanted): (Vec<&str>, Vec<&str>) = wanted.partition(|name| *name == BACKTRACK);
    let tools = all.only(&wanted).map_err(|unknown| usage_error(no_tool(&unknown)))?;
    Ok((tools, backtracking && !own.is_empty()))
}
