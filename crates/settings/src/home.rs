//! Everything that is configured for a directory: folders, settings, trust, stores, and the engine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_engine::{
    ConfiguredStore, Engine, EngineConfig, ExploreConfig, KeepWhen, ListOptions, ModelCatalog, NewSession,
};
use osier_model::{Environment, Registry};
use osier_session::SessionEnv;
use osier_store_mysql::MySqlStore;
use osier_tools::Secrets;
use osier_tree::projection::preview::sanitize_line;
use osier_tree::time::Millis;

use crate::configured_stores;
use crate::error::SettingsError;
use crate::host_environment::HostEnvironment;
use crate::settings::{self, LoadedSettings, Project, ProjectSettings, Settings, SettingsProblem};
use crate::trust::{TrustRecords, TrustRequest};

/// See the module documentation.
#[derive(Debug, Clone)]
pub struct Home {
    pub folder: PathBuf,
    /// The working directory, as written in session headers.
    pub cwd: PathBuf,
    /// The user's home folder, shown as `~`.
    pub user: Option<String>,
    pub host: HostEnvironment,
    /// The project the working directory belongs to.
    pub project: Option<Project>,
    /// Why the project is ignored, and whether it has an `.osier` folder.
    ignore_reason: Option<(String, bool)>,
    /// The project's settings and files that need trust.
    pub trust_request: Option<TrustRequest>,
    pub settings: Settings,
    /// Everything about sessions.
    pub engine: Engine,
    /// The databases among the stores, to examine their servers.
    pub databases: Vec<MySqlStore>,
    /// The store and the agent named on the command line.
    pub overrides: CliOverrides,
}

/// Options of the command line that override the settings.
#[derive(Debug, Clone, Default)]
pub struct CliOverrides {
    pub store: Option<String>,
    pub agent: Option<String>,
}

impl Home {
    /// What is configured for a directory, with all problems of the settings, fatal ones too.
    pub fn load(cwd: &Path, host: HostEnvironment) -> (Home, LoadedSettings) {
        Home::load_with(cwd, host, Engine::default())
    }

    /// Reloads everything, after a decision about the project. Live sessions stay open.
    pub fn reload(&self) -> Result<Home, SettingsError> {
        self.reload_with_problems().0.with_overrides(&self.overrides)
    }

    pub fn reload_with_problems(&self) -> (Home, LoadedSettings) {
        Home::load_with(&self.cwd, self.host.clone(), self.engine.clone())
    }

    /// The same for another directory, with the same live sessions.
    pub fn load_directory(&self, cwd: &Path) -> (Home, LoadedSettings) {
        Home::load_with(cwd, self.host.clone(), self.engine.clone())
    }

    /// Applies the options of the command line.
    pub fn with_overrides(mut self, overrides: &CliOverrides) -> Result<Home, SettingsError> {
        if let Some(agent) = &overrides.agent {
            let mut problems = Vec::new();
            self.settings = self.settings.for_agent(agent, &mut problems);
            self.check_problems(&problems)?;
        }
        if let Some(store) = &overrides.store {
            self.engine
                .configured_store(store)
                .ok_or_else(|| configured_stores::unknown_store(store, &self.engine))?;
        }
        self.overrides = overrides.clone();
        Ok(self)
    }

    fn load_with(cwd: &Path, host: HostEnvironment, engine: Engine) -> (Home, LoadedSettings) {
        let mut home = Home {
            folder: host.folder.clone(),
            cwd: PathBuf::from(cwd.to_string_lossy().into_owned()),
            user: host.user.clone(),
            host,
            project: None,
            ignore_reason: None,
            trust_request: None,
            settings: Settings::default(),
            engine,
            databases: Vec::new(),
            overrides: CliOverrides::default(),
        };
        let loaded = home.load_settings();
        home.settings = loaded.settings.clone();
        let (stores, databases) = configured_stores::configured(&home);
        home.engine = home.engine.with_config(home.engine_config(stores));
        home.databases = databases;
        (home, loaded)
    }

    fn load_settings(&mut self) -> LoadedSettings {
        let found = Project::find(&self.cwd, &self.home_folders());
        let ignore_reason = found.as_ref().and_then(Project::unsafe_reason);
        let project = found.as_ref().filter(|_| ignore_reason.is_none());
        let mut of_project = project.map(ProjectSettings::read).unwrap_or_default();
        let asked = project.map_or(Ok(None), |project| {
            let records = || {
                let (records, problem) = TrustRecords::load_or_default(&self.folder);
                of_project.problems.extend(problem);
                records
            };
            TrustRequest::for_project(project, &of_project.needs_trust, records)
        });
        let ignore_reason = ignore_reason.or_else(|| asked.as_ref().err().cloned());
        let has_folder = found.as_ref().is_some_and(|project| project.folder().exists());
        self.ignore_reason = ignore_reason.map(|text| (text, has_folder));
        self.trust_request = asked.ok().flatten();
        self.project = found.filter(|_| self.ignore_reason.is_none());
        if self.project.is_none() {
            of_project = ProjectSettings::default();
        }
        let is_trusted = self.trust_request.as_ref().is_none_or(TrustRequest::is_trusted);
        settings::load_settings(&self.config_file(), of_project, is_trusted)
    }

    /// The user's settings.
    pub fn config_file(&self) -> PathBuf {
        self.folder.join("config.toml")
    }

    /// The API keys and store passwords that are known without running a command. Tool results and replies never show them.
    pub fn known_keys(&self, registry: &Registry) -> Secrets {
        let environment = self.environment();
        let stores = self.settings.stores.values().map(|spec| &spec.password);
        let sources = registry.providers().map(|provider| &provider.key).chain(stores);
        let said = registry.providers().flat_map(|provider| provider.credentials());
        Secrets::new(sources.flat_map(|source| source.available_keys(&environment)).chain(said))
    }

    /// The folder of command outputs that were too long for a result.
    pub fn outputs(&self) -> PathBuf {
        self.folder.join("cache").join("output")
    }

    /// The directories that a gateway serves.
    pub fn gateway_directories(&self) -> Vec<PathBuf> {
        let Some(named) = &self.settings.gateway_directories else { return vec![self.cwd.clone()] };
        let environment = self.environment();
        named.iter().map(|text| self.cwd.join(environment.expand_path(text.as_ref()))).collect()
    }

    /// `.osier` folders that do not belong to a project.
    pub fn home_folders(&self) -> Vec<PathBuf> {
        let usual = self.user.as_ref().map(|user| Path::new(user).join(".osier"));
        usual.into_iter().chain([self.folder.clone()]).collect()
    }

    /// The project's `.osier` folder, if the project is trusted.
    pub fn trusted_folder(&self) -> Option<PathBuf> {
        let is_trusted = self.trust_request.as_ref().is_some_and(TrustRequest::is_trusted);
        self.project.as_ref().filter(|_| is_trusted).map(Project::folder)
    }

    /// Why the project is ignored.
    pub fn ignore_reason(&self) -> Option<&str> {
        self.ignore_reason.as_ref().map(|(text, _)| text.as_str())
    }

    /// Why the project is ignored, if it has an `.osier` folder.
    pub fn ignored_project(&self) -> Option<&str> {
        self.ignore_reason.as_ref().filter(|(_, has_folder)| *has_folder).map(|(text, _)| text.as_str())
    }

    /// Fails if any of the problems is fatal.
    pub fn check_problems(&self, problems: &[SettingsProblem]) -> Result<(), SettingsError> {
        let fatal: Vec<String> = problems
            .iter()
            .filter(|problem| problem.is_fatal)
            .map(|problem| self.format_problem(problem))
            .collect();
        if fatal.is_empty() { Ok(()) } else { Err(SettingsError::Invalid(fatal.join("\n"))) }
    }

    pub fn format_problem(&self, problem: &SettingsProblem) -> String {
        let place = problem.line.map_or_else(String::new, |line| format!(":{line}"));
        sanitize_line(&format!("{}{place}: {}", self.display_path(&problem.file), problem.text))
    }

    /// A path for display, with `~` for the home folder.
    pub fn display_path(&self, path: &Path) -> String {
        let below = self.user.as_ref().and_then(|user| path.strip_prefix(user).ok());
        below.map_or_else(|| path.to_owned(), |below| Path::new("~").join(below)).display().to_string()
    }

    /// What model providers may use.
    pub fn environment(&self) -> Environment {
        self.host.model_environment()
    }

    /// All models, including those of the configured servers.
    pub fn registry(&self) -> Arc<Registry> {
        Arc::new(Registry::new(self.settings.providers.clone()))
    }

    pub fn model_catalog(&self) -> ModelCatalog {
        self.settings.model_catalog(self.environment())
    }

    /// The sessions of this directory, or all; in all stores, or in the store of `--store`.
    pub fn list_options(&self, all: bool) -> ListOptions {
        let store = self.named_store().map(str::to_owned);
        ListOptions { store, cwd: (!all).then(|| self.cwd.clone()), ..ListOptions::default() }
    }

    fn engine_config(&self, stores: Vec<ConfiguredStore>) -> EngineConfig {
        let host = (self.host.host_name)().as_str().into();
        EngineConfig {
            stores,
            files: self.file_store(),
            session_env: SessionEnv { durability: self.settings.durability, host, ..SessionEnv::default() },
            hooks: self.engine.config().hooks.clone(),
            foreign_marks: Some(self.folder.join("foreign")),
            tool_outputs: Some(self.outputs()),
            explore: Some(ExploreConfig {
                worktrees: self.folder.join("worktrees"),
                max_copy_bytes: self.settings.explore_copy_bytes,
            }),
        }
    }

    pub fn now(&self) -> Millis {
        self.engine.now()
    }

    /// A new session in this directory.
    pub fn new_session(&self, keep: KeepWhen) -> NewSession {
        NewSession {
            store: self.default_store().to_owned(),
            cwd: self.cwd.to_string_lossy().into_owned(),
            agent: self.settings.agent.clone(),
            keep,
        }
    }
}
