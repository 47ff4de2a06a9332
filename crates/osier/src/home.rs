//! What Osier takes from its surroundings: folders, settings, the terminal. Nothing else reads the environment.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use etcetera::BaseStrategy;
use jiff::tz::TimeZone;
use osier_model::{Models, Registry, Surroundings};
use osier_session::{Env, Session};
use osier_store::{Filter, Store};
use osier_tools::Keys;
use osier_tree::Header;
use osier_tree::time::Millis;

use crate::layout::plain;
use crate::out::remark;
use crate::settings::{self, Loaded, OfProject, Problem, Project, Settings};
use crate::stores::{self, Shelf};
use crate::trust::{Asked, Records};

/// The agent of sessions that name none.
const MAIN: &str = "main";

/// A file that is nothing but mistakes must not bury what a command says.
const MOST_WARNINGS: usize = 8;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) folder: PathBuf,
    /// The working directory as headers write it.
    pub(crate) cwd: PathBuf,
    /// The user's home folder, which people write `~`.
    pub(crate) user: Option<String>,
    /// The project the working directory belongs to.
    pub(crate) project: Option<Project>,
    /// Why a project that is there does not count, and whether it has a folder that would have counted.
    objection: Option<(String, bool)>,
    /// What that project asks for that needs trust.
    pub(crate) asked: Option<Asked>,
    pub(crate) settings: Settings,
    /// All stores there are.
    pub(crate) shelves: Vec<Shelf>,
    /// The store and the agent that somebody named on the command line.
    pub(crate) said: Said,
}

/// What was said on the command line that counts over the settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said {
    pub(crate) store: Option<String>,
    pub(crate) agent: Option<String>,
}

impl Home {
    /// The surroundings of a command that runs in the current directory. A mistake in a settings file stops it.
    pub(crate) fn find() -> Result<Home> {
        Home::at(&cwd()?)
    }

    /// The same for another directory.
    pub(crate) fn at(cwd: &Path) -> Result<Home> {
        let (home, loaded) = Home::look(cwd)?;
        home.no_mistakes(&loaded.problems)?;
        home.warn(&loaded.problems);
        Ok(home)
    }

    /// The same after a decision about the project.
    pub(crate) fn again(&self) -> Result<Home> {
        Home::look(&self.cwd)?.0.told_to(&self.said)
    }

    /// The same for the directory that a session belongs to.
    pub(crate) fn moved(&self, cwd: &Path) -> Result<Home> {
        Home::at(cwd)?.told_to(&self.said)
    }

    /// The same with what was said on the command line.
    pub(crate) fn told_to(mut self, said: &Said) -> Result<Home> {
        if let Some(agent) = &said.agent {
            let mut problems = Vec::new();
            self.settings = self.settings.of_agent(agent, &mut problems);
            self.no_mistakes(&problems)?;
        }
        if let Some(store) = &said.store {
            self.shelf(store).ok_or_else(|| stores::unknown(store, &self.shelves))?;
        }
        self.said = said.clone();
        Ok(self)
    }

    /// The surroundings as they are, mistakes and all.
    pub(crate) fn look(cwd: &Path) -> Result<(Home, Loaded)> {
        let user = etcetera::choose_base_strategy().ok().map(|user| user.home_dir().to_owned());
        let folder = match (set("OSIER_HOME"), &user) {
            (Some(folder), _) => std::path::absolute(folder)?,
            (None, user) => user.as_ref().context("no home folder; set OSIER_HOME")?.join(".osier"),
        };
        let cwd = PathBuf::from(cwd.to_string_lossy().into_owned());
        let user = user.map(|user| user.to_string_lossy().into_owned());
        let mut home = Home {
            folder,
            cwd,
            user,
            project: None,
            objection: None,
            asked: None,
            settings: Settings::default(),
            shelves: Vec::new(),
            said: Said::default(),
        };
        let loaded = home.load();
        home.settings = loaded.settings.clone();
        home.shelves = Shelf::all(&home);
        Ok((home, loaded))
    }

    fn load(&mut self) -> Loaded {
        let found = Project::find(&self.cwd, &self.homes());
        let objection = found.as_ref().and_then(Project::objection);
        let project = found.as_ref().filter(|_| objection.is_none());
        let mut of_project = project.map(OfProject::read).unwrap_or_default();
        let asked = project.map_or(Ok(None), |project| {
            let records = || {
                let (records, problem) = Records::of(&self.folder);
                of_project.problems.extend(problem);
                records
            };
            Asked::of(project, &of_project.wanted, records)
        });
        let objection = objection.or_else(|| asked.as_ref().err().cloned());
        let has_folder = found.as_ref().is_some_and(|project| project.folder().exists());
        self.objection = objection.map(|text| (text, has_folder));
        self.asked = asked.ok().flatten();
        self.project = found.filter(|_| self.objection.is_none());
        if self.project.is_none() {
            of_project = OfProject::default();
        }
        let is_trusted = self.asked.as_ref().is_none_or(Asked::is_trusted);
        settings::load(&self.config_file(), of_project, is_trusted)
    }

    /// The user's settings.
    pub(crate) fn config_file(&self) -> PathBuf {
        self.folder.join("config.toml")
    }

    /// Keys of models and passwords of stores, as far as they can be had without running anything. Neither a tool's result nor
    /// a reply shows them.
    pub(crate) fn known_keys(&self, registry: &Registry) -> Keys {
        let surroundings = self.surroundings();
        let stores = self.settings.stores.values().map(|spec| &spec.password);
        let sources = registry.providers().map(|provider| &provider.key).chain(stores);
        let said = registry.providers().flat_map(|provider| provider.credentials());
        Keys::new(sources.flat_map(|source| source.known(&surroundings)).chain(said))
    }

    /// Where outputs of commands are kept that were too long for a result.
    pub(crate) fn outputs(&self) -> PathBuf {
        self.folder.join("cache").join("output")
    }

    /// Removes the kept outputs of a session that was deleted.
    pub(crate) fn remove_outputs(&self, session: &str) {
        if let Err(error) = osier_tools::remove_outputs(&self.outputs(), session) {
            remark(&format!("osier: cannot remove the kept outputs of {session}: {error}"));
        }
    }

    /// Folders called `.osier` that are nobody's project.
    pub(crate) fn homes(&self) -> Vec<PathBuf> {
        let usual = self.user.as_ref().map(|user| Path::new(user).join(".osier"));
        usual.into_iter().chain([self.folder.clone()]).collect()
    }

    /// The project's own folder, if there is one and what lies in it counts.
    pub(crate) fn trusted_folder(&self) -> Option<PathBuf> {
        let is_trusted = self.asked.as_ref().is_some_and(Asked::is_trusted);
        self.project.as_ref().filter(|_| is_trusted).map(Project::folder)
    }

    /// Why the settings of the project that is here are not even looked at.
    pub(crate) fn objection(&self) -> Option<&str> {
        self.objection.as_ref().map(|(text, _)| text.as_str())
    }

    /// The same, if the project has a folder that would have counted.
    pub(crate) fn ignored(&self) -> Option<&str> {
        self.objection.as_ref().filter(|(_, has_folder)| *has_folder).map(|(text, _)| text.as_str())
    }

    /// Fails if a file says something that cannot be meant.
    pub(crate) fn no_mistakes(&self, problems: &[Problem]) -> Result<()> {
        let fatal: Vec<String> =
            problems.iter().filter(|problem| problem.is_fatal).map(|problem| self.told(problem)).collect();
        if fatal.is_empty() { Ok(()) } else { anyhow::bail!(fatal.join("\n")) }
    }

    pub(crate) fn told(&self, problem: &Problem) -> String {
        let place = problem.line.map_or_else(String::new, |line| format!(":{line}"));
        plain(&format!("{}{place}: {}", self.shown(&problem.file), problem.text))
    }

    /// Tells of mistakes, the first of them if there are many.
    pub(crate) fn warn(&self, problems: &[Problem]) {
        for problem in problems.iter().take(MOST_WARNINGS) {
            remark(&format!("osier: {}", self.told(problem)));
        }
        if problems.len() > MOST_WARNINGS {
            remark(&format!("osier: and {} more; `osier doctor` tells all", problems.len() - MOST_WARNINGS));
        }
    }

    /// A path as people write it, with `~` for their home folder.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let below = self.user.as_ref().and_then(|user| path.strip_prefix(user).ok());
        below.map_or_else(|| path.to_owned(), |below| Path::new("~").join(below)).display().to_string()
    }

    /// What models may see of the surroundings: variables, the clock, and where `~` is.
    pub(crate) fn surroundings(&self) -> Surroundings {
        let surroundings = Surroundings::new(|name| std::env::var(name).ok());
        match &self.user {
            Some(user) => surroundings.with_home(user),
            None => surroundings,
        }
    }

    /// The variables that commands of tools could be given.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> + use<> {
        std::env::vars_os()
    }

    /// The models there are, with the servers of the settings.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        Arc::new(Registry::new(self.settings.providers.clone()))
    }

    pub(crate) fn models(&self) -> Models {
        Models::new(self.registry(), self.surroundings()).with_retry(self.settings.retry)
    }

    /// The sessions of this directory, or all.
    pub(crate) fn filter(&self, all: bool) -> Filter {
        Filter { cwd: (!all).then(|| self.cwd.clone()), ..Filter::default() }
    }

    /// What a session of a command that ends soon needs from the world.
    pub(crate) fn env(&self) -> Env {
        let host = rustix::system::uname().nodename().to_string_lossy().as_ref().into();
        Env { durability: self.settings.durability, host, watch: false, ..Env::default() }
    }

    pub(crate) fn now(&self) -> Millis {
        self.env().clock.now()
    }

    /// The header of a new session.
    pub(crate) async fn header(&self, store: &dyn Store, cwd: &str) -> Result<Header> {
        let env = self.env();
        let mut header = Header::new(Session::fresh_id(store, &env).await?, env.clock.now(), cwd);
        header.agent_id = Some(self.settings.agent.clone()).filter(|agent| agent != MAIN);
        Ok(header)
    }
}

/// The current directory.
pub(crate) fn cwd() -> Result<PathBuf> {
    std::env::current_dir().context("the current directory is gone; change to another one")
}

/// A variable of the environment, if it says anything.
fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// What a variable says that is no secret.
pub(crate) fn variable(name: &str) -> Option<String> {
    set(name).and_then(|value| value.into_string().ok())
}

/// Whether a variable says anything. What it says may be a secret.
pub(crate) fn has_variable(name: &str) -> bool {
    set(name).is_some()
}

pub(crate) fn is_dumb() -> bool {
    set("TERM").is_some_and(|term| term == "dumb")
}

/// How many seconds the user's clock is ahead of UTC.
pub(crate) fn utc_offset() -> i64 {
    // The usual way looks at the names of all time zones first, which takes longer than to draw a screen.
    let local = || TimeZone::tzif("", &std::fs::read("/etc/localtime").ok()?).ok();
    let zone = if has_variable("TZ") { None } else { local() };
    let offset = zone.unwrap_or_else(TimeZone::system).to_offset(jiff::Timestamp::now());
    i64::from(offset.seconds())
}

/// Whether to write colours: on a terminal, unless the user said no.
pub(crate) fn wants_colour() -> bool {
    set("NO_COLOR").is_none() && !is_dumb() && std::io::stdout().is_terminal()
}

/// Whether somebody watches who would like to know that a thing takes long.
pub(crate) fn wants_progress() -> bool {
    !is_dumb() && std::io::stderr().is_terminal()
}

/// How many columns there are; without a terminal as many as one likes.
pub(crate) fn columns() -> Option<usize> {
    let told = set("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok());
    let real = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    told.or_else(real).filter(|columns| *columns > 0)
}

/// The terminal somebody sits at.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// Columns and rows, if it tells.
    pub(crate) size: Option<(usize, usize)>,
    pub(crate) term: String,
    pub(crate) colours: &'static str,
    /// The language settings say UTF-8.
    pub(crate) utf8: bool,
}

pub(crate) fn terminal() -> Option<Terminal> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let size = terminal_size::terminal_size_of(&out).map(|(width, height)| (width.0.into(), height.0.into()));
    let text = |name| set(name).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
    let term = text("TERM");
    let language = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().map(text).find(|value| !value.is_empty());
    let language = language.unwrap_or_default().to_lowercase().replace('-', "");
    let colours = match text("COLORTERM").as_str() {
        _ if !wants_colour() => "no colours",
        "truecolor" | "24bit" => "all colours",
        _ if term.contains("256color") => "256 colours",
        _ => "16 colours",
    };
    Some(Terminal { size, term, colours, utf8: language.contains("utf8") })
}

/// Where a program is that tools run.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = set("PATH")?;
    let places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places
        .into_iter()
        .find(|file| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file())
}
