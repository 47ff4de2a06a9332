//! The environment of a command: folders, settings, stores, the terminal. No other module reads environment variables.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use etcetera::BaseStrategy;
use jiff::tz::TimeZone;
use osier_engine::{ConfiguredStore, Engine, EngineConfig, KeepWhen, ListOptions, ModelCatalog, NewSession};
use osier_model::{Environment, Registry};
use osier_session::SessionEnv;
use osier_store_mysql::MySqlStore;
use osier_tools::Secrets;
use osier_tree::time::Millis;

use crate::layout::sanitize_line;
use crate::out::notice;
use crate::settings::{self, LoadedSettings, Project, ProjectSettings, Settings, SettingsProblem};
use crate::stores;
use crate::trust::{TrustRecords, TrustRequest};

/// How many warnings are printed: more would bury the output of the command.
const MAX_WARNINGS: usize = 8;

/// The environment of a command. See the module documentation.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) folder: PathBuf,
    /// The working directory, as written in session headers.
    pub(crate) cwd: PathBuf,
    /// The user's home folder, shown as `~`.
    pub(crate) user: Option<String>,
    /// The project the working directory belongs to.
    pub(crate) project: Option<Project>,
    /// Why the project is ignored, and whether it has an `.osier` folder.
    objection: Option<(String, bool)>,
    /// The project's settings and files that need trust.
    pub(crate) trust_request: Option<TrustRequest>,
    pub(crate) settings: Settings,
    /// Everything about sessions.
    pub(crate) engine: Engine,
    /// The databases among the stores, to examine their servers.
    pub(crate) databases: Vec<MySqlStore>,
    /// The store and the agent named on the command line.
    pub(crate) overrides: CliOverrides,
}

/// Options of the command line that override the settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct CliOverrides {
    pub(crate) store: Option<String>,
    pub(crate) agent: Option<String>,
}

impl Home {
    /// The environment of a command in the current directory. Fails on an invalid settings file.
    pub(crate) fn find() -> Result<Home> {
        Home::at(&cwd()?)
    }

    /// The environment of a command in another directory.
    pub(crate) fn at(cwd: &Path) -> Result<Home> {
        let (home, loaded) = Home::load_unchecked(cwd)?;
        home.check_problems(&loaded.problems)?;
        home.warn_about(&loaded.problems);
        Ok(home)
    }

    /// Reloads everything, after a decision about the project. Live sessions stay open.
    pub(crate) fn reload(&self) -> Result<Home> {
        Home::load(&self.cwd, self.engine.clone())?.0.with_overrides(&self.overrides)
    }

    /// The environment for the directory of a session, with the same overrides and live sessions.
    pub(crate) fn for_directory(&self, cwd: &Path) -> Result<Home> {
        let (home, loaded) = Home::load(cwd, self.engine.clone())?;
        home.check_problems(&loaded.problems)?;
        home.warn_about(&loaded.problems);
        home.with_overrides(&self.overrides)
    }

    /// Applies the options of the command line.
    pub(crate) fn with_overrides(mut self, overrides: &CliOverrides) -> Result<Home> {
        if let Some(agent) = &overrides.agent {
            let mut problems = Vec::new();
            self.settings = self.settings.for_agent(agent, &mut problems);
            self.check_problems(&problems)?;
        }
        if let Some(store) = &overrides.store {
            self.engine.configured_store(store).ok_or_else(|| stores::unknown_store(store, &self.engine))?;
        }
        self.overrides = overrides.clone();
        Ok(self)
    }

    /// The environment with all problems of the settings, fatal ones too.
    pub(crate) fn load_unchecked(cwd: &Path) -> Result<(Home, LoadedSettings)> {
        Home::load(cwd, Engine::default())
    }

    fn load(cwd: &Path, engine: Engine) -> Result<(Home, LoadedSettings)> {
        let user = etcetera::choose_base_strategy().ok().map(|user| user.home_dir().to_owned());
        let folder = match (non_empty_var("OSIER_HOME"), &user) {
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
            trust_request: None,
            settings: Settings::default(),
            engine,
            databases: Vec::new(),
            overrides: CliOverrides::default(),
        };
        let loaded = home.load_settings();
        home.settings = loaded.settings.clone();
        let (stores, databases) = stores::configured(&home);
        home.engine = home.engine.with_config(home.engine_config(stores));
        home.databases = databases;
        Ok((home, loaded))
    }

    fn load_settings(&mut self) -> LoadedSettings {
        let found = Project::find(&self.cwd, &self.home_folders());
        let objection = found.as_ref().and_then(Project::unsafe_reason);
        let project = found.as_ref().filter(|_| objection.is_none());
        let mut of_project = project.map(ProjectSettings::read).unwrap_or_default();
        let asked = project.map_or(Ok(None), |project| {
            let records = || {
                let (records, problem) = TrustRecords::load_or_default(&self.folder);
                of_project.problems.extend(problem);
                records
            };
            TrustRequest::for_project(project, &of_project.needs_trust, records)
        });
        let objection = objection.or_else(|| asked.as_ref().err().cloned());
        let has_folder = found.as_ref().is_some_and(|project| project.folder().exists());
        self.objection = objection.map(|text| (text, has_folder));
        self.trust_request = asked.ok().flatten();
        self.project = found.filter(|_| self.objection.is_none());
        if self.project.is_none() {
            of_project = ProjectSettings::default();
        }
        let is_trusted = self.trust_request.as_ref().is_none_or(TrustRequest::is_trusted);
        settings::load_settings(&self.config_file(), of_project, is_trusted)
    }

    /// The user's settings.
    pub(crate) fn config_file(&self) -> PathBuf {
        self.folder.join("config.toml")
    }

    /// The API keys and store passwords that are known without running a command. Tool results and replies never show them.
    pub(crate) fn known_keys(&self, registry: &Registry) -> Secrets {
        let surroundings = self.environment();
        let stores = self.settings.stores.values().map(|spec| &spec.password);
        let sources = registry.providers().map(|provider| &provider.key).chain(stores);
        let said = registry.providers().flat_map(|provider| provider.credentials());
        Secrets::new(sources.flat_map(|source| source.available_keys(&surroundings)).chain(said))
    }

    /// The folder of command outputs that were too long for a result.
    pub(crate) fn outputs(&self) -> PathBuf {
        self.folder.join("cache").join("output")
    }

    /// `.osier` folders that do not belong to a project.
    pub(crate) fn home_folders(&self) -> Vec<PathBuf> {
        let usual = self.user.as_ref().map(|user| Path::new(user).join(".osier"));
        usual.into_iter().chain([self.folder.clone()]).collect()
    }

    /// The project's `.osier` folder, if the project is trusted.
    pub(crate) fn trusted_folder(&self) -> Option<PathBuf> {
        let is_trusted = self.trust_request.as_ref().is_some_and(TrustRequest::is_trusted);
        self.project.as_ref().filter(|_| is_trusted).map(Project::folder)
    }

    /// Why the project is ignored.
    pub(crate) fn objection(&self) -> Option<&str> {
        self.objection.as_ref().map(|(text, _)| text.as_str())
    }

    /// Why the project is ignored, if it has an `.osier` folder.
    pub(crate) fn ignored_project(&self) -> Option<&str> {
        self.objection.as_ref().filter(|(_, has_folder)| *has_folder).map(|(text, _)| text.as_str())
    }

    /// Fails if any of the problems is fatal.
    pub(crate) fn check_problems(&self, problems: &[SettingsProblem]) -> Result<()> {
        let fatal: Vec<String> = problems
            .iter()
            .filter(|problem| problem.is_fatal)
            .map(|problem| self.format_problem(problem))
            .collect();
        if fatal.is_empty() { Ok(()) } else { anyhow::bail!(fatal.join("\n")) }
    }

    pub(crate) fn format_problem(&self, problem: &SettingsProblem) -> String {
        let place = problem.line.map_or_else(String::new, |line| format!(":{line}"));
        sanitize_line(&format!("{}{place}: {}", self.display_path(&problem.file), problem.text))
    }

    /// Prints the problems, only the first ones if there are many.
    pub(crate) fn warn_about(&self, problems: &[SettingsProblem]) {
        for problem in problems.iter().take(MAX_WARNINGS) {
            notice(&format!("osier: {}", self.format_problem(problem)));
        }
        if problems.len() > MAX_WARNINGS {
            notice(&format!(
                "osier: and {} more; `osier doctor` lists all of them",
                problems.len() - MAX_WARNINGS
            ));
        }
    }

    /// A path for display, with `~` for the home folder.
    pub(crate) fn display_path(&self, path: &Path) -> String {
        let below = self.user.as_ref().and_then(|user| path.strip_prefix(user).ok());
        below.map_or_else(|| path.to_owned(), |below| Path::new("~").join(below)).display().to_string()
    }

    /// What model providers may use: environment variables, the clock, and the home folder.
    pub(crate) fn environment(&self) -> Environment {
        let surroundings = Environment::new(|name| std::env::var(name).ok());
        match &self.user {
            Some(user) => surroundings.with_home(user),
            None => surroundings,
        }
    }

    /// The environment variables that tool commands may receive.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> + use<> {
        std::env::vars_os()
    }

    /// All models, including those of the configured servers.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        Arc::new(Registry::new(self.settings.providers.clone()))
    }

    pub(crate) fn model_catalog(&self) -> ModelCatalog {
        self.settings.model_catalog(self.environment())
    }

    /// The sessions of this directory, or all; in all stores, or in the store of `--store`.
    pub(crate) fn list_options(&self, all: bool) -> ListOptions {
        let store = self.named_store().map(str::to_owned);
        ListOptions { store, cwd: (!all).then(|| self.cwd.clone()), ..ListOptions::default() }
    }

    fn engine_config(&self, stores: Vec<ConfiguredStore>) -> EngineConfig {
        let host = rustix::system::uname().nodename().to_string_lossy().as_ref().into();
        EngineConfig {
            stores,
            files: self.file_store(),
            session_env: SessionEnv { durability: self.settings.durability, host, ..SessionEnv::default() },
            hooks: Arc::default(),
            foreign_marks: Some(self.folder.join("foreign")),
            tool_outputs: Some(self.outputs()),
        }
    }

    pub(crate) fn now(&self) -> Millis {
        self.engine.now()
    }

    /// A new session in this directory.
    pub(crate) fn new_session(&self, keep: KeepWhen) -> NewSession {
        NewSession {
            store: self.default_store().to_owned(),
            cwd: self.cwd.to_string_lossy().into_owned(),
            agent: self.settings.agent.clone(),
            keep,
        }
    }
}

/// The current directory.
pub(crate) fn cwd() -> Result<PathBuf> {
    std::env::current_dir().context("the current directory no longer exists; change to another one")
}

/// An environment variable, if it is not empty.
fn non_empty_var(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The value of an environment variable. Not for secrets.
pub(crate) fn env_var(name: &str) -> Option<String> {
    non_empty_var(name).and_then(|value| value.into_string().ok())
}

/// Whether an environment variable is set. Its value may be a secret.
pub(crate) fn has_env_var(name: &str) -> bool {
    non_empty_var(name).is_some()
}

pub(crate) fn is_dumb_terminal() -> bool {
    non_empty_var("TERM").is_some_and(|term| term == "dumb")
}

/// How many seconds the user's clock is ahead of UTC.
pub(crate) fn utc_offset() -> i64 {
    // `TimeZone::system` reads the names of all time zones first, which takes longer than drawing a screen.
    let local = || TimeZone::tzif("", &std::fs::read("/etc/localtime").ok()?).ok();
    let zone = if has_env_var("TZ") { None } else { local() };
    let offset = zone.unwrap_or_else(TimeZone::system).to_offset(jiff::Timestamp::now());
    i64::from(offset.seconds())
}

/// Whether to use colors: on a terminal, unless `NO_COLOR` is set.
pub(crate) fn wants_color() -> bool {
    non_empty_var("NO_COLOR").is_none() && !is_dumb_terminal() && std::io::stdout().is_terminal()
}

/// Whether to show progress: standard error is a terminal.
pub(crate) fn wants_progress() -> bool {
    !is_dumb_terminal() && std::io::stderr().is_terminal()
}

/// The number of columns; `None` without a terminal.
pub(crate) fn columns() -> Option<usize> {
    let configured = non_empty_var("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok());
    let real = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    configured.or_else(real).filter(|columns| *columns > 0)
}

/// The terminal of standard output.
#[derive(Debug)]
pub(crate) struct TerminalInfo {
    /// Columns and rows, if known.
    pub(crate) size: Option<(usize, usize)>,
    pub(crate) term: String,
    pub(crate) colors: &'static str,
    /// The locale uses UTF-8.
    pub(crate) utf8: bool,
}

pub(crate) fn terminal_info() -> Option<TerminalInfo> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let size = terminal_size::terminal_size_of(&out).map(|(width, height)| (width.0.into(), height.0.into()));
    let text =
        |name| non_empty_var(name).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
    let term = text("TERM");
    let language = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().map(text).find(|value| !value.is_empty());
    let language = language.unwrap_or_default().to_lowercase().replace('-', "");
    let colours = match text("COLORTERM").as_str() {
        _ if !wants_color() => "no colors",
        "truecolor" | "24bit" => "true color",
        _ if term.contains("256color") => "256 colors",
        _ => "16 colors",
    };
    Some(TerminalInfo { size, term, colors: colours, utf8: language.contains("utf8") })
}

/// Finds a program in `PATH`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = non_empty_var("PATH")?;
    let places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places
        .into_iter()
        .find(|file| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file())
}
