//! What a run works with: the home and its settings, the model, the tools; and the session once it is open.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use osier_agent::{Client, Facts, Parts, Prompts, Said, Worker};
use osier_model::{KeySource, ModelInfo, Models, ThinkingLevel};
use osier_session::Session;
use osier_tools::{Env, Mode, ToolContext, Toolbox, Tools};
use osier_tree::entry::read_entry;
use osier_tree::projection::preview::Previews;
use osier_tree::{Kind, Role, Seq};

use super::args::Args;
use super::card;
use super::choice::{Choice, is_ours};
use super::follow::Follow;
use super::prompt;
use crate::failure::usage;
use crate::home::{self, Home};
use crate::layout::plain;
use crate::out::remark;
use crate::reading;
use crate::settings::choice::{Choice as ModelChoice, Wanted, Why, choose, for_summaries};

/// See the module.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) home: Home,
    pub(super) args: Args,
    /// Somebody is there to answer questions.
    attended: bool,
    models: Arc<Models>,
    tools: Tools,
    /// The model may return to checkpoints.
    backtracking: bool,
    model: ModelChoice,
    summary_model: Option<Arc<ModelInfo>>,
}

/// The tool for it is the agent's own.
const BACKTRACK: &str = "backtrack";

/// An open session with an agent at work on it.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) session: Session,
    pub(super) worker: Worker,
    pub(super) follow: Follow,
}

impl Desk {
    pub(super) async fn new(args: Args, home: Home, choice: &Choice, attended: bool) -> Result<Desk> {
        let home = match choice.elsewhere(&home).filter(|_| args.cwd.is_none()) {
            Some(cwd) => moved(cwd)?,
            None => home,
        };
        let (tools, backtracking) = tools(&args, &home)?;
        let models = Arc::new(home.models());
        let registry = models.registry();
        for problem in registry.problems() {
            remark(&format!("osier: {problem}"));
        }
        let of_session = match choice {
            Choice::There(session) => reading::model_on_path(session).await?,
            Choice::New { .. } => None,
        };
        let wanted = Wanted { asked: args.model.as_deref(), of_session: of_session.as_deref() };
        let model = choose(wanted, &home.settings, registry, &home.surroundings());
        let model = model.map_err(|error| match &args.model {
            Some(_) => usage(error.to_string()),
            None => anyhow!(error),
        })?;
        // A person may as well go on with another model; a program must say which.
        if let Some(text) = model.remark.as_ref().filter(|_| !attended) {
            bail!("{text}; name another one with --model, say --model offline");
        }
        let summary_model =
            for_summaries(None, &home.settings, registry).context("the setting summary_model")?;
        Ok(Desk { home, args, attended, models, tools, backtracking, model, summary_model })
    }

    /// The same for another session. What named the first one is not said again.
    pub(super) async fn again(self, choice: &Choice) -> Result<Desk> {
        let args = Args { name: None, ..self.args };
        Desk::new(args, self.home, choice, self.attended).await
    }

    pub(super) fn has_tools(&self) -> bool {
        self.backtracking || !self.tools.specs().is_empty()
    }

    pub(super) fn model_name(&self) -> String {
        self.model.model.full_name()
    }

    /// What the command line says to the model.
    pub(super) async fn first(&self) -> Result<Said> {
        prompt::compose(&self.args.words, &self.context()).await
    }

    /// Which model answers, and what to do about it.
    pub(super) fn introduction(&self) -> String {
        let model = self.model_name();
        let cwd = plain(&self.home.shown(&self.home.cwd));
        match self.model.why {
            Why::Nothing => format!(
                "osier in {cwd}, with the built-in model {model}: it needs no key, and follows simple requests only\n\
                 For a real one set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or see `osier models`; /help helps"
            ),
            _ => format!(
                "osier in {cwd}, with {model}\n/help lists the commands; Ctrl-C stops a turn, Ctrl-D leaves"
            ),
        }
    }

    /// Opens what was chosen, and puts an agent to work on it.
    pub(super) async fn open(&self, choice: Choice) -> Result<Open> {
        let is_new = matches!(choice, Choice::New { .. });
        let session = choice.open(&self.home).await?;
        let version = session.version();
        if let Some(name) =
            self.args.name.as_deref().filter(|name| session.tree().marks().name() != Some(name))
        {
            session.rename(name).await?;
        }
        let worker = Worker::start(session.clone(), self.parts(&session)).await?;
        if is_new && self.home.settings.approval != Mode::default() && self.args.approval.is_none() {
            worker.send(osier_agent::Command::SetApproval(self.home.settings.approval)).await?;
        }
        if let Some(text) = &self.model.remark {
            remark(&format!("osier: {text}; going on with {}", self.model_name()));
        }
        let follow = Follow::since(&worker, &session, version).await?;
        Ok(Open { session, worker, follow })
    }

    fn parts(&self, session: &Session) -> Parts {
        let settings = &self.home.settings;
        let is_chosen = self.model.why == Why::Asked || self.model.remark.is_some();
        Parts {
            default_thinking: settings.thinking,
            chosen_model: is_chosen.then(|| self.model.model.clone()),
            chosen_thinking: self.args.thinking.as_deref().and_then(ThinkingLevel::parse),
            briefing: Arc::new(self.facts()),
            prompts: self.prompts(),
            backtracking: self.backtracking,
            summary_model: self.summary_model.clone(),
            compacting: settings.compacting,
            restore_on_move: settings.restore_model_on_move,
            approval: self.args.approval.as_deref().and_then(Mode::named),
            own_approvals: is_ours(session, &self.home),
            attended: self.attended,
            ..Parts::new(
                self.models.clone(),
                self.models.registry().clone(),
                self.model.model.clone(),
                Arc::new(self.tools.clone()),
                self.context(),
            )
        }
    }

    /// What the model is told before the conversation.
    fn facts(&self) -> Facts {
        let (args, settings) = (&self.args, &self.home.settings);
        Facts {
            preamble: args.system_prompt.clone().or_else(|| settings.system_prompt.clone()),
            append: args.append_system_prompt.clone().or_else(|| settings.append_system_prompt.clone()),
            cwd: self.home.cwd.clone(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            user_folder: Some(self.home.folder.clone()),
            skill_folders: self.prompts().skills,
            utc_offset: home::utc_offset(),
        }
    }

    /// The templates and skills of the user, and of a project that is trusted.
    pub(super) fn prompts(&self) -> Prompts {
        let folders = [Some(self.home.folder.clone()), self.home.trusted_folder()];
        let below = |name: &str| folders.iter().flatten().map(|folder| folder.join(name)).collect();
        Prompts { templates: below("prompts"), skills: below("skills") }
    }

    /// Where tools work. Keys of models are not for the commands they run.
    fn context(&self) -> ToolContext {
        let providers = self.models.registry().providers();
        let keys: Vec<&String> = providers.flat_map(|provider| key_variables(&provider.key)).collect();
        let is_key = |name: &std::ffi::OsString| keys.iter().any(|key| name.as_os_str() == key.as_str());
        let env = Env::new(self.home.variables().filter(|(name, _)| !is_key(name)));
        ToolContext::new(&self.home.cwd, self.home.folder.join("cache").join("output"), env)
    }
}

fn key_variables(key: &KeySource) -> &[String] {
    match key {
        KeySource::Env(names) => names,
        KeySource::None | KeySource::Command(_) | KeySource::File(_) => &[],
    }
}

/// The home of the directory that a session belongs to.
fn moved(cwd: &Path) -> Result<Home> {
    let home = Home::at(cwd)?;
    remark(&format!("osier: working in {}, where the session belongs", plain(&home.shown(cwd))));
    crate::trust::tell(&home);
    Ok(home)
}

/// The tools a model may call, and whether it may return to checkpoints.
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
    let mut known: Vec<String> = all.specs().into_iter().map(|spec| spec.name).collect();
    known.push(BACKTRACK.to_owned());
    let tools = all.only(&wanted).map_err(|unknown| {
        usage(format!("no tool {}; the tools are {}", plain(&unknown.join(", ")), known.join(", ")))
    })?;
    Ok((tools, backtracking && !own.is_empty()))
}

impl Open {
    /// The model in force on the path.
    pub(super) async fn model(&self) -> Result<Option<String>> {
        reading::model_on_path(&self.session).await
    }

    /// The last entries of the conversation, a line each.
    pub(super) async fn recent(&self, most: usize) -> Result<Vec<String>> {
        let tree = self.session.tree();
        let talks = |seq: &Seq| {
            let head = tree.head(*seq);
            head.kind != Kind::Message || head.role != Role::System
        };
        let place = tree.heads().anchor(self.session.main().place());
        let mut last: Vec<Seq> = tree.heads().up(place).filter(talks).take(most).collect();
        last.reverse();
        let lines = reading::lines(&self.session, &last).await?;
        let mut previews = Previews::new(None);
        let entries = last.iter().filter_map(|seq| read_entry(lines.get(seq)?).ok());
        let line = |entry| card::of(&entry).map_or_else(|| previews.preview(&entry), |card| card.text());
        Ok(entries.map(line).collect())
    }
}
