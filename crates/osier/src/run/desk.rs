//! What a run works with: the home and its settings, the model, the tools; and the session once it is open.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use osier_agent::{Client, Facts, Parts, Prompts, Said, Worker};
use osier_model::{KeySource, Models, ThinkingLevel};
use osier_session::Session;
use osier_tools::{Env, Mode, ToolContext, Toolbox, Tools};
use osier_tree::entry::read_entry;
use osier_tree::projection::context::model_of;
use osier_tree::projection::preview::Previews;
use osier_tree::{Kind, Role, Seq};

use super::args::Args;
use super::choice::Choice;
use super::follow::Follow;
use super::prompt;
use crate::failure::usage;
use crate::home::{self, Home};
use crate::layout::plain;
use crate::out::remark;
use crate::reading;
use crate::settings::choice::{Choice as ModelChoice, Wanted, Why, choose};

/// See the module.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) home: Home,
    pub(super) args: Args,
    /// Somebody is there to answer questions.
    attended: bool,
    models: Arc<Models>,
    tools: Tools,
    model: ModelChoice,
}

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
        let tools = tools(&args, &home)?;
        let models = Arc::new(home.models());
        let registry = models.registry();
        for problem in registry.problems() {
            remark(&format!("osier: {problem}"));
        }
        let of_session = match choice {
            Choice::There(session) => model_on_path(session).await?,
            Choice::New { .. } => None,
        };
        let wanted = Wanted { asked: args.model.as_deref(), of_session: of_session.as_deref() };
        let model = choose(wanted, &home.settings, registry, &home.surroundings());
        let model = model.map_err(|error| match &args.model {
            Some(_) => usage(error.to_string()),
            None => anyhow!(error),
        })?;
        Ok(Desk { home, args, attended, models, tools, model })
    }

    /// The same for another session. What named the first one is not said again.
    pub(super) async fn again(self, choice: &Choice) -> Result<Desk> {
        let args = Args { name: None, ..self.args };
        Desk::new(args, self.home, choice, self.attended).await
    }

    pub(super) fn has_tools(&self) -> bool {
        !self.tools.specs().is_empty()
    }

    fn has_tool(&self, name: &str) -> bool {
        self.tools.specs().iter().any(|spec| spec.name == name)
    }

    /// The model that the session used last cannot be used now.
    pub(super) fn is_doubtful(&self) -> bool {
        self.model.remark.is_some()
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
        let worker = Worker::start(session.clone(), self.parts()).await?;
        if is_new && self.home.settings.approval != Mode::default() && self.args.approval.is_none() {
            worker.send(osier_agent::Command::SetApproval(self.home.settings.approval)).await?;
        }
        if let Some(text) = self.model.remark.as_ref().filter(|_| self.attended) {
            remark(&format!("osier: {text}"));
        }
        let follow = Follow::since(&worker, &session, version).await?;
        Ok(Open { session, worker, follow })
    }

    fn parts(&self) -> Parts {
        let settings = &self.home.settings;
        // A program that reads the answer is told that the session's model is missing; a person may as well go on.
        let is_chosen = self.model.why == Why::Asked || (self.attended && self.model.remark.is_some());
        Parts {
            default_thinking: settings.thinking,
            chosen_model: is_chosen.then(|| self.model.model.clone()),
            chosen_thinking: self.args.thinking.as_deref().and_then(ThinkingLevel::parse),
            briefing: Arc::new(self.facts()),
            prompts: self.prompts(),
            // Places to return to mean nothing to a model that cannot return.
            backtracking: settings.backtracking && self.has_tool("backtrack"),
            approval: self.args.approval.as_deref().and_then(Mode::named),
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

fn tools(args: &Args, home: &Home) -> Result<Tools> {
    let all = Tools::standard();
    if args.no_tools {
        return Ok(Tools::default());
    }
    let Some(wanted) = args.tools.as_ref().or(home.settings.tools.as_ref()) else { return Ok(all) };
    let wanted: Vec<&str> = wanted.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
    let known: Vec<String> = all.specs().into_iter().map(|spec| spec.name).collect();
    all.only(&wanted).map_err(|unknown| {
        usage(format!("no tool {}; the tools are {}", plain(&unknown.join(", ")), known.join(", ")))
    })
}

/// The `provider/id` of the model that the path of a session used last.
async fn model_on_path(session: &Session) -> Result<Option<String>> {
    let tree = session.tree();
    let seq = session.main().place().and_then(|seq| tree.head(seq).model);
    let lines = reading::lines(session, seq.as_slice()).await?;
    let named = seq.and_then(|seq| lines.get(&seq)).and_then(|line| {
        let (provider, id) = model_of(&read_entry(line).ok()?)?;
        Some(format!("{}/{}", provider.text()?, id.text()?))
    });
    Ok(named)
}

impl Open {
    /// The model in force on the path.
    pub(super) async fn model(&self) -> Result<Option<String>> {
        model_on_path(&self.session).await
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
        Ok(entries.map(|entry| previews.preview(&entry)).collect())
    }
}
